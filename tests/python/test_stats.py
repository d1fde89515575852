"""Means, intervals and paired differences against hand-worked numbers, and against the truth that they should cover."""

from __future__ import annotations

import math

import numpy as np
import pytest

from legato.results import stats


def groups_of_one(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    present = np.isfinite(values)
    return np.where(present, values, 0.0)[:, None], present.astype(float)[:, None]


def half_width(found: stats.Estimate) -> float:
    return (found.high - found.low) / 2


def test_a_mean_leaves_absent_figures_out() -> None:
    (estimate,) = stats.mean_intervals(*groups_of_one(np.array([1.0, np.nan, 3.0])))
    assert (estimate.mean, estimate.count, estimate.groups) == (2.0, 2, 2)


def test_no_figure_at_all_is_absent_and_not_zero() -> None:
    (estimate,) = stats.mean_intervals(*groups_of_one(np.array([np.nan, np.nan])))
    assert estimate == stats.NO_FIGURE


@pytest.mark.parametrize("number", [1, 2, 4])
def test_below_five_groups_there_is_a_mean_and_no_interval(number: int) -> None:
    (estimate,) = stats.mean_intervals(*groups_of_one(np.arange(float(number))))
    assert estimate == stats.Estimate((number - 1) / 2, None, None, number, number)


def test_the_interval_of_symmetric_values_is_students() -> None:
    (estimate,) = stats.mean_intervals(*groups_of_one(np.array([1.0, 2.0, 3.0, 4.0, 5.0])))
    # t of 0.975 and 4 degrees of freedom is 2.7764; the standard error is sqrt(2.5 / 5).
    assert estimate.low == pytest.approx(3 - 2.7764 * math.sqrt(0.5), abs=1e-3)
    assert estimate.high == pytest.approx(3 + 2.7764 * math.sqrt(0.5), abs=1e-3)


def test_the_interval_of_skewed_values_is_halls_on_their_long_side() -> None:
    # [hall1992], by hand: of 0, 1, 2, 3, 5 the mean is 2.2, its standard error sqrt(0.74) and its skewness 0.2639.
    # Undone on the long side: 3 (cbrt(1 + 0.2639 (-2.7764 - 0.2639 / 6)) - 1) / 0.2639 = -4.153.
    (estimate,) = stats.mean_intervals(*groups_of_one(np.array([0.0, 1.0, 2.0, 3.0, 5.0])))
    assert estimate.high == pytest.approx(2.2 + 4.153 * math.sqrt(0.74), abs=2e-3)
    assert estimate.low == pytest.approx(2.2 - 2.776 * math.sqrt(0.74), abs=2e-3)
    (mirrored,) = stats.mean_intervals(*groups_of_one(np.array([0.0, -1.0, -2.0, -3.0, -5.0])))
    assert (mirrored.low, mirrored.high) == (pytest.approx(-estimate.high), pytest.approx(-estimate.low))


def test_no_end_is_more_than_twice_students_away() -> None:
    # Of 0, 0, 0, 0, 5 the mean is 1 with a standard error of 1, and Hall's end would be 6.743 away.
    (estimate,) = stats.mean_intervals(*groups_of_one(np.array([0.0, 0.0, 0.0, 0.0, 5.0])))
    assert estimate.high == pytest.approx(1 + 2 * 2.7764, abs=2e-3)
    assert estimate.low == pytest.approx(1 - 2.7764, abs=2e-3)


def test_halls_transformation_is_undone() -> None:
    # [hall1992]: g(t) = t + s t²/3 + s² t³/27 + s/6.
    for skewness in (-1.5, -0.2, 1e-5, 0.7):
        for t in (-6.0, -1.0, 0.0, 2.5):
            transformed = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
            assert stats._untransformed(transformed, skewness) == pytest.approx(t, abs=1e-6)


def test_the_quantiles_are_those_of_the_tables() -> None:
    # [abramowitz1964] table 26.10, 0.975; 26.7.5 is an expansion in 1 / degrees.
    for freedom, quantile in ((3, 3.182), (4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042), (120, 1.980)):
        assert stats._student_quantile(freedom) == pytest.approx(quantile, rel=2e-3)


def test_the_interval_of_many_is_the_normal_one() -> None:
    values = np.random.default_rng(1).normal(100.0, 20.0, 1000)
    (estimate,) = stats.mean_intervals(*groups_of_one(values))
    expected = 1.96 * values.std(ddof=1) / np.sqrt(1000)
    assert half_width(estimate) == pytest.approx(expected, rel=0.03)


def test_one_network_with_most_of_the_calls_is_not_worth_many() -> None:
    # Shares of 5/9 and four times 1/9: worth 81 / 29 = 2.8 networks.
    totals, counts = np.array([[5.0], [0.0], [2.0], [1.0], [1.0]]), np.array([[5.0], [1.0], [1.0], [1.0], [1.0]])
    (estimate,) = stats.mean_intervals(totals, counts)
    assert (estimate.mean, estimate.low, estimate.groups) == (1.0, None, 5)


def test_blocks_give_the_interval_of_single_networks() -> None:
    values = np.random.default_rng(2).gamma(2.0, 30.0, 40_000)
    block = np.random.default_rng(3).integers(0, stats.BLOCKS, values.size)
    totals = np.bincount(block, values, minlength=stats.BLOCKS)[:, None]
    counts = np.bincount(block, minlength=stats.BLOCKS).astype(float)[:, None]
    (blocked,) = stats.mean_intervals(totals, counts)
    expected = 1.96 * values.std(ddof=1) / np.sqrt(values.size)
    assert blocked.mean == pytest.approx(values.mean())
    assert half_width(blocked) == pytest.approx(expected, rel=0.1)


def test_pairing_cancels_what_makes_a_network_hard() -> None:
    hard = np.random.default_rng(4).normal(0.0, 50.0, 30)
    (difference,) = stats.paired_differences(*groups_of_one(hard + 2.0), *groups_of_one(hard))
    assert difference.mean == pytest.approx(2.0)
    assert difference.low == pytest.approx(2.0) and difference.high == pytest.approx(2.0)
    assert difference.excludes_zero()


def test_a_difference_is_over_networks_that_both_have() -> None:
    base, other = groups_of_one(np.array([1.0, 2.0, np.nan])), groups_of_one(np.array([np.nan, 5.0, 9.0]))
    (difference,) = stats.paired_differences(*other, *base)
    assert (difference.mean, difference.count, difference.groups) == (3.0, 1, 1)
    assert not difference.excludes_zero()


def test_a_large_offset_does_not_drown_the_interval() -> None:
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    (small,), (large,) = (stats.mean_intervals(*groups_of_one(off + values)) for off in (0.0, 1e12))
    assert large.low is not None and large.low - 1e12 == pytest.approx(small.low, abs=1e-3)


def test_values_of_one_group_count_together_and_nan_is_left_out() -> None:
    values = [("a", 1.0), ("a", 2.0), ("b", 3.0), ("b", float("nan")), ("c", 2.0), ("d", 4.0), ("e", 0.0)]
    alike = stats.grouped_mean(values)
    assert (alike.mean, alike.count, alike.groups) == (2.0, 6, 5)
    assert alike.low is not None and alike.low < 2.0 < alike.high
    assert stats.grouped_mean([]) == stats.NO_FIGURE


def test_a_figure_of_totals_has_the_interval_of_its_mean() -> None:
    values = np.random.default_rng(5).exponential(size=12)
    mean = stats.grouped_mean(enumerate(values))
    same = stats.of_groups(lambda weights: weights @ values / weights.sum(axis=1), np.ones(12))
    assert (same.low, same.high) == (pytest.approx(mean.low, abs=1e-6), pytest.approx(mean.high, abs=1e-6))


def test_a_ratio_of_totals_is_pulled_by_each_network_as_its_weight_says() -> None:
    above, below = np.array([2.0, 3.0, 5.0, 4.0, 6.0]), np.array([1.0, 2.0, 2.0, 2.0, 3.0])
    ratio = stats.of_groups(lambda weights: (weights @ above) / (weights @ below), np.ones(5))
    # The influence of a network on a ratio of 2: (above - 2 below) / 10, here 0, -1, 1, 0, 0 tenths.
    error = math.sqrt(5 / 4 * 0.02)
    assert (ratio.mean, ratio.high) == (2.0, pytest.approx(2 + 2.7764 * error, abs=1e-3))


def test_separate_samples_have_the_interval_of_welch() -> None:
    more = stats.of_separate_groups([[1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, 10.0]], lambda m: m[1] - m[0])
    # Variances of the means 0.5 and 2; (2.5)² / (0.25 / 4 + 4 / 4) = 5.88 degrees of freedom, whose t is 2.459.
    assert more.mean == 3.0
    assert half_width(more) == pytest.approx(2.459 * math.sqrt(2.5), rel=2e-3)
    assert stats.of_separate_groups([[1.0], [2.0, 4.0]], lambda means: means[1] / means[0]).low is None
    assert stats.of_separate_groups([[], [2.0]], lambda means: means[1] - means[0]).mean is None
