"""Totals of a figure over networks: what every mean, difference, ratio and share of a table is made from.

A total is of one controller's calls over one network: the sum of a figure, and the number of calls that have it. Calls
over the same network are alike, so that networks are what intervals are over (:mod:`legato.results.stats`).
Differences are taken call by call where calls are known, and by the means of networks where only totals are.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from legato.results import stats
from legato.results.stats import Array, Estimate


@dataclass(frozen=True)
class Totals:
    """Of one figure, over the networks that all controllers share: two arrays of that length."""

    sums: Array
    counts: Array

    @classmethod
    def of(cls, values: Iterable[tuple[int, float]], networks: int) -> Totals:
        """Of calls: the number of the network, and the figure."""
        sums, counts = np.zeros(networks), np.zeros(networks)
        for network, value in values:
            sums[network] += value
            counts[network] += 1
        return cls(sums, counts)

    def mean(self) -> Estimate:
        """The mean over calls."""
        return stats.mean_intervals(self.sums[:, None], self.counts[:, None])[0]

    def less(self, other: Totals) -> Totals:
        """Differences to another controller's, where no more is known than both totals."""
        return Totals(*stats.differences(self.sums, self.counts, other.sums, other.counts))

    def over(self, other: Totals) -> Estimate:
        """The mean over that of another controller."""
        present = self.counts > 0
        if not present.any() or other.sums.sum() <= 0:
            return stats.NO_FIGURE

        def ratio(weights: Array) -> Array:
            with np.errstate(invalid="ignore", divide="ignore"):
                own, others = ((weights @ one.sums[present]) / (weights @ one.counts[present]) for one in (self, other))
                return own / others

        return stats.of_groups(ratio, self.counts[present])

    def below(self, other: Totals) -> Estimate:
        """The share by which the mean is below another's: 0.2 is a fifth lower."""
        found = self.over(other)
        mean, low, high = (None if end is None else 1.0 - end for end in (found.mean, found.high, found.low))
        return Estimate(mean, low, high, found.count, found.groups)


def share_of_the_way(groups: Sequence[Sequence[tuple[Array, Array]]], calls: Array) -> Estimate:
    """How much of the way from a base to a ceiling a controller goes: a mean over groups of figures that count alike.

    Each share is cut to -1 to 1, since a delay may be any number of times worse. A figure by which the base is no worse
    than the ceiling is left out; without any there is no share.

    Args:
        groups: of each figure by how much the controller, and the ceiling, are better than the base, as sums over
            networks.
        calls: of the controller on each network.
    """
    known = [part for part in ([way for way in group if way[1].sum() > 0] for group in groups) if part]
    if not known:
        return stats.NO_FIGURE

    def share(weights: Array) -> Array:
        parts = (
            np.mean([np.clip((weights @ own) / (weights @ top), -1.0, 1.0) for own, top in part], axis=0)
            for part in known
        )
        shares: Array = np.mean(list(parts), axis=0)
        return shares

    return bounded(stats.of_groups(share, calls), -1.0, 1.0)


def mean_above_zero(values: Iterable[tuple[Hashable, float]]) -> Estimate:
    """The mean of a measure that cannot be negative, by groups; not of a difference, which only happens to be above."""
    return bounded(stats.grouped_mean(values), 0.0, math.inf)


def bounded(found: Estimate, least: float, most: float) -> Estimate:
    """An interval cut where the range of the figure ends."""
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, least), high=min(found.high, most))
