"""Means and ratios of schemes over networks, as Concerto's claims need them; intervals are over recordings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from legato.results.stats import NO_FIGURE, Estimate, grouped_mean, of_groups
from legato_studies.papers.verdict import Lead


class Compared(Protocol):
    """One call of a scheme, with figures as attributes."""

    @property
    def scheme(self) -> str: ...

    @property
    def condition(self) -> Hashable:
        """What calls of all schemes have in common."""

    @property
    def recording(self) -> str:
        """What intervals are over: windows of one file are alike."""


def mean(calls: Iterable[Compared], figure: str, scheme: str) -> Estimate:
    """The mean of a figure, with an interval over recordings. NaN is left out."""
    return grouped_mean((call.recording, getattr(call, figure)) for call in calls if call.scheme == scheme)


def difference(calls: Sequence[Compared], figure: str, above: str, below: str) -> Estimate:
    """One scheme's mean minus another's, over the conditions both have."""
    first, second = (_means(calls, figure, scheme) for scheme in (above, below))
    recordings = {call.condition: call.recording for call in calls}
    return grouped_mean((recordings[key], first[key] - second[key]) for key in first if key in second)


def ratio(
    calls: Sequence[Compared],
    figure: str,
    above: str,
    below: str,
    *,
    base_qoe: float = 0.0,
    less_one: bool = False,
) -> Estimate:
    """One scheme's mean over another's, over the conditions both have; an interval over recordings.

    ``base_qoe`` is subtracted from the figure first, ``less_one`` gives the gain.
    """
    first, second = (_means(calls, figure, scheme) for scheme in (above, below))
    recordings = {call.condition: call.recording for call in calls}
    totals: dict[str, NDArray[np.float64]] = {}
    for key in (key for key in first if key in second):
        row = np.array([first[key] - base_qoe, second[key] - base_qoe, 1.0])
        totals[recordings[key]] = totals.get(recordings[key], np.zeros(3)) + row
    if not totals:
        return NO_FIGURE
    table = np.array(list(totals.values()))

    def over(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        means: NDArray[np.float64] = (weights @ table[:, 0]) / (weights @ table[:, 1])
        return means

    if (table > 0).all():
        # On a logarithmic scale: a half is as far from 1 as a double, and no ratio is below 0.
        return shifted(of_groups(lambda weights: np.log(over(weights)), table[:, 2]), np.exp, less_one)
    return shifted(of_groups(over, table[:, 2]), np.positive, less_one)


def shifted(found: Estimate, unscaled: Callable[[float], float], less_one: bool = False) -> Estimate:
    """An estimate back on its scale, or its gain over one."""
    mean, low, high = (
        None if end is None else float(unscaled(end)) - less_one for end in (found.mean, found.low, found.high)
    )
    return replace(found, mean=mean, low=low, high=high)


def scaled(found: Estimate, factor: float) -> Estimate:
    """An estimate in another unit."""
    return shifted(found, lambda value: factor * value)


def percent(found: Estimate) -> Estimate:
    """A share in per cent."""
    return scaled(found, 100.0)


def direction(claim: Lead) -> str:
    """The replacement for the printed figure where the paper says only which side is ahead."""
    return f"{'above' if claim.more_is_better else 'below'} {claim.no_effect:g}"


def turned(found: Estimate) -> Estimate:
    """One minus an estimate."""
    mean, high, low = (None if end is None else 1.0 - end for end in (found.mean, found.low, found.high))
    return replace(found, mean=mean, low=low, high=high)


def gap(calls: Sequence[Compared], figure: str, rival: str, base_qoe: float, best: str) -> Estimate:
    """The share of the best scheme's score, without its constant, that a rival lacks."""
    return turned(ratio(calls, figure, rival, best, base_qoe=base_qoe))


def _means(calls: Iterable[Compared], figure: str, scheme: str) -> dict[Hashable, float]:
    """Of a scheme, by condition; those without the figure are left out."""
    values: dict[Hashable, list[float]] = {}
    for call in calls:
        if call.scheme == scheme and (value := getattr(call, figure)) == value:
            values.setdefault(call.condition, []).append(value)
    return {condition: float(np.mean(of_condition)) for condition, of_condition in values.items()}
