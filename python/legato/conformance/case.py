"""What a case is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from legato.conformance.flows import Session
from legato.conformance.judge import Check

MAX_BPS = 1_500_000.0
MIN_BPS = 150_000.0

Sessions = Mapping[str, Session]
"""The sessions of the cases a judge refers to, by key."""

Judge = Callable[[Session, Sessions], list[Check]]
"""Gives the figures of a session, each with its mark."""


@dataclass(frozen=True)
class Case:
    """One case of RFC 8867, in one of the ways it may be run."""

    key: str
    """``5.1a-50``: as typed, and as shown in tables."""
    title: str
    asks: str
    """What the RFC expects, in our words."""
    scenario: str
    """A file below scenarios/, without its ending."""
    judge: Judge
    steps: tuple[tuple[float, float], ...]
    """(time s, bit/s) of the capacity available to the calls, for the plot."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Values of the scenario that are changed."""
    link_is_known: bool = False
    """Each call has a link to itself, so that the link's capacity is the call's own."""
    needs: tuple[str, ...] = ()
    """Keys of other cases its judge looks at."""

    @property
    def section(self) -> str:
        """``5.1``; ``8869`` for those of RFC 8869."""
        return self.key.split("-")[0].rstrip("ab")
