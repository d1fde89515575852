"""Real calls that do not count: the emulated link was late, so the figures are the machine's as well as the network's.

Each real call has a file in ``calls/`` that says whether it counts (docs/reference/run-folder.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT_MS = 2.0
"""Beyond this lateness at the 99.9th percentile a call does not count: `Lateness::valid` of the crate endpoint."""


@dataclass(frozen=True)
class LateCall:
    """A call that does not count."""

    call: int
    what: str
    """Its controller, trace and seed."""
    why: str


def late_calls(folder: Path) -> list[LateCall]:
    """Those of a run folder; none of a simulation."""
    found = []
    for file in sorted((folder / "calls").glob("[0-9]*.json")):
        try:
            record = json.loads(file.read_text(encoding="utf-8"))
            counts, call = record["valid"], int(record["call"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # absent or damaged: nothing says that it was late
        if not counts:
            what = ", ".join(str(record[key]) for key in ("controller", "trace") if record.get(key))
            found.append(LateCall(call, f"{what}, seed {record.get('seed', '?')}", _why(record)))
    return found


def without(calls: Iterable[int]) -> str:
    """A condition of SQL over `call`: none of these."""
    numbers = ", ".join(str(call) for call in calls)
    return f"call NOT IN ({numbers})" if numbers else "true"


def _why(record: dict[str, Any]) -> str:
    if record.get("misnumbered"):
        return f"{record['misnumbered']} packets had other numbers than they were sent with"
    late_ms = record.get("lateness_p999_ms")
    late = "late" if late_ms is None else f"{late_ms:.1f} ms late at the 99.9th percentile"
    return f"the emulated link was {late}; {LIMIT_MS:g} ms is the limit"
