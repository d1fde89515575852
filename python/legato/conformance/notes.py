"""Why a controller misses a mark by its design: the notes of notes.toml, shown where their checks fail."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from legato.conformance.case import Case
from legato.conformance.judge import Verdict


@dataclass(frozen=True)
class Note:
    """An explanation of a failure."""

    controllers: Sequence[str]
    misses: Mapping[str, Sequence[str]]
    """By how the key of a case begins: how the names of the checks begin."""
    text: str
    seen_by: str = ""
    """Where the same was observed; empty: no source known."""

    def explains(self, controller: str, case: Case, verdict: Verdict) -> bool:
        """Whether it says why a controller misses something in a case."""
        of_case = (check for key, checks in self.misses.items() if case.key.startswith(key) for check in checks)
        missed = [check.name for check in verdict.failed]
        return controller.split("(")[0] in self.controllers and any(
            name.startswith(check) for check in of_case for name in missed
        )


@functools.cache
def notes() -> tuple[Note, ...]:
    """All notes, in the order they are shown."""
    text = files("legato.conformance").joinpath("notes.toml").read_text(encoding="utf-8")
    return tuple(Note(**note) for note in tomllib.loads(text)["notes"])


def notes_on(controller: str, case: Case, verdict: Verdict) -> list[Note]:
    """The notes on what a controller misses in a case."""
    return [note for note in notes() if note.explains(controller, case, verdict)]
