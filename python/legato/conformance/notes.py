"""Why a controller misses a mark where that is its nature, and who else has seen it.

A note explains; it excuses nothing: the verdict stays what it is. It is shown where the check it is about fails.
"""

from __future__ import annotations

from dataclasses import dataclass

from .case import Case
from .judge import Verdict


@dataclass(frozen=True)
class Note:
    """An explanation of one controller's failure."""

    controller: str
    sections: tuple[str, ...]
    """Of the RFC; a key stands for one way of running a case."""
    check: str
    """How the name of the check begins."""
    text: str
    seen_by: str
    """Who has observed the like; empty: nobody we know of."""


NOTES: tuple[Note, ...] = ()


def notes_on(controller: str, case: Case, verdict: Verdict) -> list[Note]:
    """The notes on what a controller misses in a case, each once."""
    base = controller.split("(")[0]
    return [
        note
        for note in NOTES
        if note.controller == base
        and (case.section in note.sections or case.key in note.sections)
        and any(check.name.startswith(note.check) for check in verdict.failed)
    ]
