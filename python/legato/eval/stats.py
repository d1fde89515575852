"""Means with intervals, and paired differences, from group totals.

A mean over calls is a ratio of two totals (the sum of a figure, the number of calls that have it). The bootstrap
resamples *groups* of calls and needs nothing but each group's totals, so its memory does not grow with the run:

- up to `EXACT_GROUPS` conditions (a condition is one trace, clip and seed), every condition is a group of its own
  and this is the ordinary non-parametric bootstrap of the mean over conditions;
- above, conditions are dealt into `BLOCKS` groups by a hash and the groups are resampled: with many conditions in
  each, the group means are near normal and the interval agrees with the ordinary one (a test holds it to 10 %).

All controllers see the same draws of the same conditions, which is what pairs them: the difference between two
controllers is taken inside every resample, so what makes a condition hard for both cancels.

Intervals are percentile intervals (Efron and Tibshirani 1993, ch. 13). They speak of conditions like those in the
run; calls that share a trace are not independent, so as a claim about *other traces* they are too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EXACT_GROUPS = 1_024
"""Conditions up to which each is resampled on its own."""
BLOCKS = 512
"""Groups that more conditions than that are dealt into."""
RESAMPLES = 2_000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean and its interval; `low` and `high` are None where one group leaves nothing to resample."""

    mean: float | None
    low: float | None
    high: float | None
    count: int

    @property
    def lower_end(self) -> float | None:
        """Of the interval; the mean where there is none."""
        return self.mean if self.low is None else self.low

    @property
    def upper_end(self) -> float | None:
        """Of the interval; the mean where there is none."""
        return self.mean if self.high is None else self.high

    @property
    def half_width(self) -> float | None:
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    def excludes_zero(self) -> bool:
        """Whether the interval lies wholly on one side of zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def resampling_weights(groups: int, resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.float64]:
    """How often each of `groups` groups is drawn in each resample: (resamples, groups), rows sum to `groups`."""
    generator = np.random.Generator(np.random.PCG64(seed))
    weights = np.empty((resamples, groups), dtype=np.float64)
    for row in weights:
        row[:] = np.bincount(generator.integers(0, groups, size=groups), minlength=groups)
    return weights


def mean_intervals(
    totals: NDArray[np.float64], counts: NDArray[np.float64], weights: NDArray[np.float64]
) -> list[Estimate]:
    """The mean of every column. `totals` and `counts` are (groups, columns): sum and number of the non-null figures."""
    number = counts.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(number > 0, totals.sum(axis=0) / number, np.nan)
        # Resampled about the mean: the totals of a rate in bit/s would lose the interval to rounding otherwise.
        centred = totals - counts * np.where(np.isnan(means), 0.0, means)
        # Figures that are never absent share one column of counts.
        distinct, column = np.unique(counts, axis=1, return_inverse=True)
        drawn = (weights @ centred) / (weights @ distinct)[:, column.reshape(-1)]
    present = (counts > 0).sum(axis=0)
    return [_estimate(mean, drawn[:, at], int(number[at]), int(present[at])) for at, mean in enumerate(means)]


def mean_of_groups(values: Sequence[Sequence[float]]) -> Estimate:
    """The mean of all values, with an interval over groups of them: values of one group are alike."""
    totals = np.array([sum(group, start=0.0) for group in values], dtype=np.float64).reshape(-1, 1)
    counts = np.array([len(group) for group in values], dtype=np.float64).reshape(-1, 1)
    return mean_intervals(totals, counts, resampling_weights(len(values)))[0]


def grouped_mean(values: Iterable[tuple[Hashable, float]]) -> Estimate:
    """The mean of values that each have the name of their group, with an interval over groups. NaN is left out."""
    groups: dict[Hashable, list[float]] = {}
    for name, value in values:
        groups.setdefault(name, []).extend([] if math.isnan(value) else [value])
    return mean_of_groups(list(groups.values()))


def of_separate_groups(
    values: Sequence[Sequence[float]], of: Callable[[list[NDArray[np.float64]]], NDArray[np.float64]]
) -> Estimate:
    """A figure of the means of several groups, which are not paired: values are resampled within each.

    Args:
        values: those of each group.
        of: the figure, of one array of means per group; elementwise.
    """
    groups = [np.array(group, dtype=np.float64) for group in values]
    count = min(len(group) for group in groups)
    mean = float(of([group.mean(keepdims=True) for group in groups])[0]) if count else math.nan
    if not math.isfinite(mean):
        return Estimate(None, None, None, 0)
    if count < 2:
        return Estimate(mean, None, None, count)
    weights = (resampling_weights(len(group), seed=seed) for seed, group in enumerate(groups))
    drawn = of([each @ group / len(group) for each, group in zip(weights, groups, strict=True)])
    low, high = np.quantile(drawn[np.isfinite(drawn)], [0.025, 0.975])
    return Estimate(mean, float(low), float(high), count)


def paired_differences(
    totals: NDArray[np.float64],
    counts: NDArray[np.float64],
    baseline_totals: NDArray[np.float64],
    baseline_counts: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> list[Estimate]:
    """Mean of (these − the baseline's) for every column, over the groups where both have the figure.

    A group with fewer figures on one side than on the other still counts once: its difference is that of the two
    group means, weighted by the smaller number.
    """
    both = np.minimum(counts, baseline_counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.where(both > 0, totals / counts - baseline_totals / baseline_counts, 0.0)
    return mean_intervals(difference * both, both, weights)


def _estimate(mean: float, drawn: NDArray[np.float64], number: int, present: int) -> Estimate:
    if number == 0:
        return Estimate(None, None, None, 0)
    # A resample that drew none of the groups that have the figure says nothing about it.
    drawn = drawn[np.isfinite(drawn)]
    if present < 2 or drawn.size == 0:
        return Estimate(float(mean), None, None, number)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Estimate(float(mean), float(mean + low), float(mean + high), number)
