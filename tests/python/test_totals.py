"""Totals over networks, by hand: means, differences, ratios, the share of a way, and where their intervals end."""

from __future__ import annotations

import math

import numpy as np
import pytest

from legato.results.stats import Estimate
from legato.results.totals import Totals, bounded, mean_above_zero, share_of_the_way


def totals(*values: float) -> Totals:
    """One call on each network."""
    return Totals.of(enumerate(values), len(values))


def test_a_mean_weighs_calls_and_its_interval_is_over_networks() -> None:
    found = Totals.of([(0, 1.0), (0, 3.0), (1, 5.0), (2, 1.0), (3, 2.0), (4, 3.0)], 5).mean()
    assert found.mean == pytest.approx(15 / 6)
    assert (found.count, found.groups) == (6, 5)
    assert Totals.of([], 5).mean().mean is None


def test_differences_are_over_networks_that_both_have() -> None:
    own, other = totals(2.0, 4.0, 6.0), Totals.of([(0, 1.0), (1, 1.0)], 3)
    assert own.less(other).mean().mean == pytest.approx((1.0 + 3.0) / 2)


def test_ratios_are_of_means() -> None:
    own, other = totals(1.0, 2.0, 3.0, 4.0, 5.0), totals(2.0, 4.0, 6.0, 8.0, 10.0)
    assert own.over(other).mean == pytest.approx(0.5)
    fewer = totals(1.0, 2.0, 2.0, 4.0, 5.0).below(other)
    assert fewer.mean == pytest.approx(1 - 14 / 30)
    assert fewer.low < fewer.mean < fewer.high
    assert own.over(totals(0.0, 0.0, 0.0, 0.0, 0.0)).mean is None


def test_the_share_of_a_way_is_cut_and_leaves_out_what_has_no_way() -> None:
    calls, top = np.ones(5), np.full(5, 2.0)
    ways = [[(np.full(5, 1.0), top), (np.full(5, -9.0), top)], [(np.full(5, 2.0), top)], [(top, np.zeros(5))]]
    assert share_of_the_way(ways, calls).mean == pytest.approx(((0.5 - 1.0) / 2 + 1.0) / 2)
    assert share_of_the_way([[(top, -top)]], calls).mean is None


def test_an_interval_ends_where_its_figure_does() -> None:
    assert bounded(Estimate(0.5, -0.2, 1.3, 9, 9), 0.0, 1.0) == Estimate(0.5, 0.0, 1.0, 9, 9)
    assert bounded(Estimate(0.5, None, None, 3, 3), 0.0, 1.0) == Estimate(0.5, None, None, 3, 3)
    rare = mean_above_zero(enumerate([0.0, 0.0, 0.0, 0.0, 9.0]))
    assert rare.low == 0.0 < rare.mean < rare.high < math.inf
