"""The one rule by which every claim of every paper is judged.

A claim is a figure that a paper prints, or a side that it is said to be on, whose printed figure is then no effect at
all. Our figures without a claim of the paper get no verdict.

- *met*: our mean reaches the printed figure, and our interval excludes no effect;
- *in reach*: not met, but our interval contains the printed figure;
- *not met*: neither;
- *undecidable*: there is no interval, because there are fewer than five independent groups or the events are too rare
to compare;
- *not comparable*: the paper measured something else under the same name, or nothing was measured here;
- *no claim*: the paper says nothing of it; tables show a dash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from legato.results.stats import Estimate

Verdict = Literal["met", "in reach", "not met", "undecidable", "not comparable", "no claim"]
VERDICTS: tuple[Verdict, ...] = ("met", "in reach", "not met", "undecidable", "not comparable", "no claim")

UNDECIDABLE = "there is no interval"


class Claim(Protocol):
    """What a paper says of a figure."""

    @property
    def words(self) -> str:
        """The claim where no figure is printed."""

    @property
    def rule(self) -> str:
        """When it is met, in words."""

    def is_met(self, mean: float, low: float, high: float) -> bool:
        """Whether a mean with this interval reaches it."""

    def is_in_reach(self, low: float, high: float) -> bool:
        """Whether the interval contains the printed figure."""


@dataclass(frozen=True)
class Lead:
    """A difference or ratio on one side of no effect, of at least the printed size."""

    printed: float | None = None
    """None: the paper prints no figure, only on which side."""
    no_effect: float = 0.0
    more_is_better: bool = True

    @property
    def words(self) -> str:
        return f"{'above' if self.more_is_better else 'below'} {self.no_effect:g}"

    @property
    def rule(self) -> str:
        if self.printed is None:
            return f"met where our interval is {self.words}, in reach where it contains that"
        return (
            f"met where our mean reaches the printed figure and our interval is {self.words}, "
            "in reach where our interval contains the printed figure"
        )

    @property
    def _goal(self) -> float:
        return self.no_effect if self.printed is None else self.printed

    def is_met(self, mean: float, low: float, high: float) -> bool:
        if self.more_is_better:
            return mean >= self._goal and low > self.no_effect
        return mean <= self._goal and high < self.no_effect

    def is_in_reach(self, low: float, high: float) -> bool:
        return low <= self._goal <= high


@dataclass(frozen=True)
class Value:
    """A figure that is to come out again as printed."""

    printed: float
    within: float
    """How far our mean may be from it, in the figure's own unit."""

    @property
    def words(self) -> str:
        return f"{self.printed:g}"

    @property
    def rule(self) -> str:
        return f"met where our mean is within {self.within:.3g} of the printed figure, in reach where our interval is"

    def is_met(self, mean: float, low: float, high: float) -> bool:
        return abs(mean - self.printed) <= self.within

    def is_in_reach(self, low: float, high: float) -> bool:
        return low <= self.printed + self.within and high >= self.printed - self.within


@dataclass(frozen=True)
class Unchanged(Value):
    """A figure that something is said to leave as it is: a wide interval cannot show that."""

    @property
    def words(self) -> str:
        return f"{self.printed:g} ± {self.within:g}"

    @property
    def rule(self) -> str:
        return f"met where our whole interval is {self.words}, in reach where it contains any of that"

    def is_met(self, mean: float, low: float, high: float) -> bool:
        return low >= self.printed - self.within and high <= self.printed + self.within


@dataclass(frozen=True)
class AtMost:
    """A cost that is called negligible: no more than a mark."""

    mark: float

    @property
    def words(self) -> str:
        return f"≤ {self.mark:g}"

    @property
    def rule(self) -> str:
        return f"met where our whole interval is at most {self.mark:g}, in reach where it contains that"

    def is_met(self, mean: float, low: float, high: float) -> bool:
        return high <= self.mark

    def is_in_reach(self, low: float, high: float) -> bool:
        return low <= self.mark <= high


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """Of claims that are made at the same time: met where each is, in reach where none is worse than that."""
    if all(each == "met" for each in verdicts):
        return "met"
    return "in reach" if set(verdicts) <= {"met", "in reach"} else "not met"


def judged(claim: Claim, ours: Estimate) -> tuple[Verdict, str]:
    """The verdict on a claim, and the rule it was found by."""
    if ours.mean is None:
        return "not comparable", "nothing of it was measured"
    if ours.low is None or ours.high is None:
        return "undecidable", UNDECIDABLE
    if claim.is_met(ours.mean, ours.low, ours.high):
        return "met", claim.rule
    return ("in reach" if claim.is_in_reach(ours.low, ours.high) else "not met"), claim.rule
