"""Means with intervals, and paired differences, over networks.

Calls over the same network are alike, whatever their clips and seeds: thirty seeds of one trace say a lot about that
trace and nothing about the next one. The independent unit is the *network*: a trace, or, where a scenario draws its
network, a seed. An interval is therefore made from one total per network and predicts other networks like these, with
the same clips. Clips and seeds within a network make its total more exact, but are no separate sample. That is the
ultimate cluster of survey statistics: the spread of the totals holds all that varies within them.

A mean over calls is a ratio of two totals (the sum of a figure, the number of calls that have it). Every other figure
here is smooth in such totals, so each network has an *influence*: by how much the figure moves with its weight. From
these come the standard error, the degrees of freedom (of as many networks as the shares of the calls are worth,
[kish1965]) and the skewness. Two intervals are made of them, and the one given spans both:

- Student's, which is right for symmetric differences and too short on the long side of skewed ones;
- Hall's [hall1992], which removes the skewness by a cubic transformation, and is too short where tails are heavy on
  both sides, since the skewness of a few such values is mostly chance. It reaches at most twice as far as Student's.

Which one fits cannot be seen from five networks. `legato_studies.pages.intervals` tries these and seven others
on differences of known truth; docs/measured/intervals.md has its table. Below `FEWEST` networks there is no interval:
its length would rest on the assumed shape alone.

Memory does not grow with the run. Up to `EXACT_GROUPS` networks each is a separate group. Above, networks are dealt
into `BLOCKS` groups by a hash, whose totals are near normal and give the same interval (a test holds it to 10 %).
Differences are taken within a condition before they are added up, so that what makes a network, a clip or a seed hard
for both controllers cancels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FEWEST = 5
"""Independent groups below which there is no interval."""
EXACT_GROUPS = 1_024
"""Networks up to which each is a separate group."""
BLOCKS = 512
"""Groups that more networks than that are dealt into."""
CONFIDENCE = 0.95

Array = NDArray[np.float64]

_NORMAL_QUANTILE = 1.959963984540054
"""Of 0.975: `CONFIDENCE` on both sides."""
_FEWEST_EFFECTIVE = 4.0
"""Networks that the shares of the calls have to be worth; one network with nearly all calls has no spread."""
_LONGEST = 2.0
"""Half-widths of Student's interval to which Hall's may reach. Of few and skewed networks it would reach a score of -55
on a scale from 1 to 5; with this limit 0.4 points fewer intervals of exponential differences contain the truth."""
_SYMMETRIC = 1e-6
"""Skewness of a mean below which Hall's interval is Student's, and cancellation would make it noise."""
_NUDGE = 1e-4
"""By which a network's weight is changed to see how a figure moves with it."""


@dataclass(frozen=True)
class Estimate:
    """A mean and its interval; `low` and `high` are None where too few groups leave none."""

    mean: float | None
    low: float | None
    high: float | None
    count: int
    """Calls (or other values) that have the figure."""
    groups: int = 0
    """Independent groups of them: networks, where nothing else is said."""

    def excludes_zero(self) -> bool:
        """Whether there is an interval and it lies wholly on one side of zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


NO_FIGURE = Estimate(None, None, None, 0)


def mean_intervals(totals: Array, counts: Array) -> list[Estimate]:
    """The mean of every column. `totals` and `counts` are (groups, columns): sum and number of the non-null figures."""
    number = counts.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(number > 0, totals.sum(axis=0) / number, np.nan)
        # About the mean: the totals of a rate in bit/s would lose the interval to rounding otherwise.
        influence = (totals - counts * np.where(np.isnan(means), 0.0, means)) / number
        shares = counts / number
    return [_estimate(mean, influence[:, at], shares[:, at], int(number[at])) for at, mean in enumerate(means)]


def grouped_mean(values: Iterable[tuple[Hashable, float]]) -> Estimate:
    """The mean of values that each have the name of their group, with an interval over groups. NaN is left out."""
    groups: dict[Hashable, list[float]] = {}
    for name, value in values:
        groups.setdefault(name, []).extend([] if math.isnan(value) else [value])
    totals = np.array([sum(group, start=0.0) for group in groups.values()], dtype=np.float64).reshape(-1, 1)
    counts = np.array([len(group) for group in groups.values()], dtype=np.float64).reshape(-1, 1)
    return mean_intervals(totals, counts)[0]


def of_groups(of: Callable[[Array], Array], counts: Array) -> Estimate:
    """A figure that is smooth in the totals of groups, with its interval.

    Args:
        of: the figure, (rows,), of weights of the groups, (rows, groups); at weights of one it is the figure itself.
        counts: of values in each group.
    """
    groups = len(counts)
    mean = of(np.ones((1, groups)))[0] if groups else math.nan
    if not math.isfinite(mean):
        return NO_FIGURE
    nudge = _NUDGE * np.eye(groups)
    influence = (of(1.0 + nudge) - of(1.0 - nudge)) / (2 * _NUDGE)
    return _estimate(mean, influence, counts / counts.sum(), int(counts.sum()))


def of_separate_groups(values: Sequence[Sequence[float]], of: Callable[[list[Array]], Array]) -> Estimate:
    """A figure of the means of several samples, which are not paired.

    Args:
        values: those of each sample; each value is independent.
        of: the figure, of one array of means per sample; elementwise.
    """
    samples = [np.array(sample, dtype=np.float64) for sample in values]
    fewest = min(len(sample) for sample in samples)
    means = [sample.mean(keepdims=True) if sample.size else np.array([math.nan]) for sample in samples]
    mean = float(of(means)[0])
    if not math.isfinite(mean):
        return NO_FIGURE
    variances, cubes, freedom = [], [], []
    for at, sample in enumerate(samples):
        number = len(sample)
        step = _NUDGE * max(abs(float(means[at][0])), float(np.std(sample)), 1e-12)
        up, down = ([m + sign * step if n == at else m for n, m in enumerate(means)] for sign in (1.0, -1.0))
        influence = float((of(up) - of(down))[0]) / (2 * step) * (sample - means[at]) / number
        variance, cube = _moments(influence, np.full(number, 1.0 / number), number)
        variances.append(variance)
        cubes.append(cube)
        freedom.append(number - 1)
    if fewest < FEWEST:
        return Estimate(mean, None, None, fewest, fewest)
    variance = sum(variances)
    # Welch and Satterthwaite: the degrees of freedom of a sum of variances.
    parts = sum(part**2 / df for part, df in zip(variances, freedom, strict=True))
    low, high = _ends(mean, variance, sum(cubes), variance**2 / parts if parts > 0 else float(fewest - 1))
    return Estimate(mean, low, high, fewest, fewest)


def paired_differences(totals: Array, counts: Array, baseline_totals: Array, baseline_counts: Array) -> list[Estimate]:
    """Mean of (these − the baseline's) for every column, over the groups where both have the figure."""
    return mean_intervals(*differences(totals, counts, baseline_totals, baseline_counts))


def differences(totals: Array, counts: Array, baseline_totals: Array, baseline_counts: Array) -> tuple[Array, Array]:
    """Totals and counts of (these − the baseline's), where there are only those of groups.

    A group with fewer figures on one side than on the other still counts: its difference is that of the two group
    means, weighted by the smaller number.
    """
    both = np.minimum(counts, baseline_counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.where(both > 0, totals / counts - baseline_totals / baseline_counts, 0.0)
    return difference * both, both


def _estimate(mean: float, influence: Array, shares: Array, number: int) -> Estimate:
    if number == 0:
        return NO_FIGURE
    present = shares > 0
    groups = int(present.sum())
    effective = 1.0 / float((shares**2).sum())
    if groups < FEWEST or effective < _FEWEST_EFFECTIVE:
        return Estimate(float(mean), None, None, number, groups)
    variance, cube = _moments(influence[present], shares[present], effective)
    low, high = _ends(float(mean), variance, cube, effective - 1)
    return Estimate(float(mean), low, high, number, groups)


def _moments(influence: Array, shares: Array, effective: float) -> tuple[float, float]:
    """Variance and third cumulant of a figure, of the influences of its groups."""
    # A group pulls the mean towards itself, and more so the larger its share: unbiased where groups have one variance.
    spread = influence / np.sqrt(np.maximum(1 - 2 * shares + (shares**2).sum(), 1e-12))
    variance = float((spread**2).sum())
    # The skewness of few values is smaller than that of their distribution.
    unbiased = math.sqrt(effective * (effective - 1)) / (effective - 2) if effective > 2 else 0.0
    return variance, unbiased * float((spread**3).sum())


def _ends(mean: float, variance: float, cube: float, freedom: float) -> tuple[float, float]:
    """The span of Student's interval and Hall's."""
    if variance <= 0:
        return mean, mean
    error = math.sqrt(variance)
    student = _student_quantile(freedom)
    skewness = cube / variance**1.5
    longest = _LONGEST * student
    below = min(max(student, _untransformed(student, skewness)), longest)
    above = min(max(student, -_untransformed(-student, skewness)), longest)
    return mean - below * error, mean + above * error


def _untransformed(transformed: float, skewness: float) -> float:
    """The studentised mean whose transformation is `transformed`."""
    # [hall1992]: g(t) = t + s t²/3 + s² t³/27 + s/6 for a mean of skewness s, in his letters n^(-1/2) γ, which
    # (1 + s t/3)³ = 1 + s (g(t) - s/6) solves for t.
    if abs(skewness) < _SYMMETRIC:
        return transformed
    return 3 * (math.cbrt(1 + skewness * (transformed - skewness / 6)) - 1) / skewness


def _student_quantile(freedom: float) -> float:
    """The 0.975 quantile of Student's t, within 0.2 % from 3 degrees of freedom on."""
    # [abramowitz1964] 26.7.5, an expansion in one over the degrees.
    x, n = _NORMAL_QUANTILE, freedom
    return (
        x
        + (x**3 + x) / (4 * n)
        + (5 * x**5 + 16 * x**3 + 3 * x) / (96 * n**2)
        + (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / (384 * n**3)
        + (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / (92160 * n**4)
    )
