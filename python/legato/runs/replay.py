"""Making one call of a run again, with every packet written down.

A run is its scenario, seeds and commit: the call made again must come out the same, and this says
whether it did.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from legato.errors import Error, RunFolderError
from legato.plan import Plan
from legato.plan.record import read_plan
from legato.results.query import summary_rows
from legato.results.run_folder import open_run
from legato.runs import sweep


@dataclass(frozen=True)
class Replay:
    """A call that was made again: where it lies, and each figure that came out other than recorded."""

    run: sweep.Run
    recorded: dict[str, Any]
    differences: dict[str, tuple[Any, Any]]


def replay(folder: str | Path, call: int, *, out: str | Path) -> Replay:
    """Make one call of a run again into ``out``, with every packet logged, and say whether its figures are the same."""
    folder = Path(folder)
    manifest = open_run(folder).manifest
    if manifest.get("kind") == "call":
        raise RunFolderError(
            f"{folder}: holds real calls, and no call is the same twice",
            hint="legato gap compares real calls with simulated ones",
        )
    together = int(manifest.get("calls_per_session", 1))
    plan = one_session(read_plan(folder), call, together, folder)
    recorded = next((row for row in summary_rows(folder) if row["call"] == call), None)
    if recorded is None:
        raise RunFolderError(f"{folder}: call {call} is in the plan, but its part was never finished")
    run = sweep.sweep(plan, out, threads=1)
    again = run.summary()[call % together]
    return Replay(run, recorded, differences(recorded, again))


def differences(before: dict[str, Any], now: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The columns of two summary rows whose figures differ, bit for bit; the call's numbers are no figures."""
    figures = [column for column in before if column not in ("call", "session")]
    return {column: (before[column], now[column]) for column in figures if before[column] != now[column]}


def one_session(plan: Plan, call: int, together: int, folder: Path) -> Plan:
    """The plan of one call of ``plan`` and of those ``together`` with it: sessions count controller, trace, clip,
    seed, seed fastest."""
    if not 0 <= call < plan.sessions * together:
        raise Error(f"{folder}: call = {call}: this run has calls 0 to {plan.sessions * together - 1}")
    places = zip(("controllers", "traces", "clips", "seeds"), plan.places(call // together), strict=True)
    chosen = {name: getattr(plan, name)[at : at + 1] for name, at in places}
    return replace(plan, **chosen, log="packets", calls_per_part=1)
