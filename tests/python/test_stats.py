"""Means, intervals and paired differences against hand-worked numbers and against the plain bootstrap."""

from __future__ import annotations

import numpy as np
import pytest

from legato.eval import stats


def groups_of_one(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    present = np.isfinite(values)
    return np.where(present, values, 0.0)[:, None], present.astype(float)[:, None]


def test_each_resample_draws_as_many_groups_as_there_are() -> None:
    weights = stats.resampling_weights(7, resamples=50)
    assert weights.shape == (50, 7)
    assert (weights.sum(axis=1) == 7).all()


def test_the_draws_do_not_change_from_run_to_run() -> None:
    assert (stats.resampling_weights(9, 20) == stats.resampling_weights(9, 20)).all()


def test_a_mean_leaves_absent_figures_out() -> None:
    totals, counts = groups_of_one(np.array([1.0, np.nan, 3.0]))
    (estimate,) = stats.mean_intervals(totals, counts, stats.resampling_weights(3))
    assert (estimate.mean, estimate.count) == (2.0, 2)


def test_no_figure_at_all_is_absent_and_not_zero() -> None:
    totals, counts = groups_of_one(np.array([np.nan, np.nan]))
    (estimate,) = stats.mean_intervals(totals, counts, stats.resampling_weights(2))
    assert estimate == stats.Estimate(None, None, None, 0)


def test_one_condition_has_a_mean_and_no_interval() -> None:
    totals, counts = groups_of_one(np.array([5.0]))
    (estimate,) = stats.mean_intervals(totals, counts, stats.resampling_weights(1))
    assert estimate == stats.Estimate(5.0, None, None, 1)


def test_the_interval_of_two_conditions_is_their_range() -> None:
    # Of four equally likely resamples of {0, 1}, one has mean 0 and one mean 1: beyond 2.5 % on either side.
    totals, counts = groups_of_one(np.array([0.0, 1.0]))
    (estimate,) = stats.mean_intervals(totals, counts, stats.resampling_weights(2))
    assert (estimate.low, estimate.mean, estimate.high) == (0.0, 0.5, 1.0)


def test_the_interval_of_many_is_the_normal_one() -> None:
    values = np.random.default_rng(1).normal(100.0, 20.0, 1000)
    totals, counts = groups_of_one(values)
    (estimate,) = stats.mean_intervals(totals, counts, stats.resampling_weights(1000))
    expected = 1.96 * values.std(ddof=1) / np.sqrt(1000)
    assert estimate.half_width == pytest.approx(expected, rel=0.07)


def test_blocks_give_the_interval_of_single_conditions() -> None:
    values = np.random.default_rng(2).gamma(2.0, 30.0, 40_000)
    block = np.random.default_rng(3).integers(0, stats.BLOCKS, values.size)
    totals = np.bincount(block, values, minlength=stats.BLOCKS)[:, None]
    counts = np.bincount(block, minlength=stats.BLOCKS).astype(float)[:, None]
    (blocked,) = stats.mean_intervals(totals, counts, stats.resampling_weights(stats.BLOCKS))
    expected = 1.96 * values.std(ddof=1) / np.sqrt(values.size)
    assert blocked.mean == pytest.approx(values.mean())
    assert blocked.half_width == pytest.approx(expected, rel=0.1)


def test_pairing_cancels_what_makes_a_condition_hard() -> None:
    hard = np.random.default_rng(4).normal(0.0, 50.0, 30)
    base, other = groups_of_one(hard), groups_of_one(hard + 2.0)
    (difference,) = stats.paired_differences(*other, *base, stats.resampling_weights(30))
    assert difference.mean == pytest.approx(2.0)
    assert difference.low == pytest.approx(2.0) and difference.high == pytest.approx(2.0)
    assert difference.excludes_zero()


def test_a_difference_is_over_conditions_that_both_have() -> None:
    base, other = groups_of_one(np.array([1.0, 2.0, np.nan])), groups_of_one(np.array([np.nan, 5.0, 9.0]))
    (difference,) = stats.paired_differences(*other, *base, stats.resampling_weights(3))
    assert (difference.mean, difference.count) == (3.0, 1)
    assert not difference.excludes_zero()


def test_a_large_offset_does_not_drown_the_interval() -> None:
    values = 1e12 + np.array([0.0, 1.0, 2.0, 3.0])
    (estimate,) = stats.mean_intervals(*groups_of_one(values), stats.resampling_weights(4))
    assert estimate.low is not None and 1e12 < estimate.low < estimate.mean < estimate.high < 1e12 + 3


def test_values_of_one_group_are_resampled_together_and_nan_is_left_out() -> None:
    alike = stats.grouped_mean([("a", 1.0), ("b", 3.0), ("a", 2.0), ("b", float("nan"))])
    # Group means 1.5 and 3, of two values and one.
    assert alike.mean == pytest.approx(2.0) and alike.count == 3
    assert (alike.low, alike.high) == (pytest.approx(1.5), pytest.approx(3.0))
    assert stats.grouped_mean([]) == stats.Estimate(None, None, None, 0)


def test_separate_groups_are_resampled_each_by_itself() -> None:
    more = stats.of_separate_groups([[1.0, 1.0, 1.0], [2.0, 4.0]], lambda means: means[1] - means[0])
    assert (more.mean, more.low, more.high) == (2.0, 1.0, 3.0)
    assert stats.of_separate_groups([[1.0], [2.0, 4.0]], lambda means: means[1] / means[0]).low is None
    assert stats.of_separate_groups([[], [2.0]], lambda means: means[1] - means[0]).mean is None
