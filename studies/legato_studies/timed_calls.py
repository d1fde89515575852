"""Real calls that count only where the machine was in time for them, each a separate run folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from legato.results.query import summary_rows


@dataclass(frozen=True)
class TimedCall:
    """A finished call."""

    late: bool
    lateness_p999_ms: float
    row: dict[str, Any]
    """Of the summary."""


def read(folder: Path) -> TimedCall | None:
    """The call of a run folder; ``None``: it is not finished."""
    if not (folder / "summary").exists():
        return None
    machine = json.loads((folder / "calls" / "00000.json").read_text(encoding="utf-8"))
    return TimedCall(not machine["valid"], machine["lateness_p999_ms"], summary_rows(folder)[0])


def in_time(
    folder: Path, tries: int, make: Callable[[], object], on_made: Callable[[TimedCall], None]
) -> TimedCall | None:
    """The call of a folder, made if it was not, and again while the machine is late, up to so many times; the last may
    be late. ``None``: there is none, and it was not to be made."""
    call = read(folder)
    for _ in range(tries):
        if call is not None and not call.late:
            break
        shutil.rmtree(folder, ignore_errors=True)
        make()
        call = read(folder)
        if call is not None:
            on_made(call)
    return call
