"""Which calls share a network: what an interval has to be over, for calls over one network are alike.

The summary says it of each call:

- A network that a scenario draws (`trace_family` is "generator") is drawn from the seed: each seed is another network.
- A trace is one network, whatever part of it is played at what scale: those are other conditions of one recording.
- Any other scenario has one network. Its seeds draw losses, jitter, cross traffic and the encoder's scatter, which
  repeat a call over it and say nothing of other networks.

Flows that share a session share its network.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from legato.results.run_folder import RunFolder

DRAWN = "generator"
"""The `trace_family` of networks that are drawn from the seed."""


NOT_RECORDED = "trace_family IS NULL OR trace_family IN ('constant', 'generator', 'steps')"
"""SQL: whether a call's network is not a recorded one."""


_SHIPPED = re.compile(r"[a-z0-9-]+/[0-9]+(#.*)?")


def network_of(runs: Sequence[RunFolder], columns: Iterable[str]) -> str:
    """SQL of a call's network, a hash."""
    labels: dict[str, set[str]] = {}
    for run in runs:
        for label, file in _files(run):
            labels.setdefault(file, set()).add(label)
    cases = " ".join(
        f"WHEN trace IN ({', '.join(map(quoted, sorted(of_file)))}) THEN {quoted(file)}"
        for file, of_file in labels.items()
        if len(of_file) > 1
    )
    recording = f"CASE {cases} ELSE trace END" if cases else "trace"
    if "trace_family" not in columns:
        return f"hash({recording})"
    return (
        f"CASE WHEN trace_family = {quoted(DRAWN)} THEN hash(trace_family, trace, seed) "
        f"ELSE hash(trace_family, {recording}) END"
    )


def quoted(text: str) -> str:
    """A string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _files(run: RunFolder) -> list[tuple[str, str]]:
    """The name of each trace in the summary, and its file."""
    labels, files = run.names("traces"), [_file(entry) for entry in _traces(run)]
    # Where a folder says less, or something else wrote it, traces are told apart by their names.
    if len(labels) != len(files):
        return []
    return [(label, file) for label, file in zip(labels, files, strict=True) if file is not None]


def _traces(run: RunFolder) -> list[object]:
    """The traces of the plan; the scenario's own where it lists none."""
    listed = run.plan.get("traces")
    if isinstance(listed, list) and listed:
        return listed
    try:
        forward = tomllib.loads(run.scenario_toml or "").get("forward", {})
    except tomllib.TOMLDecodeError:
        return []
    capacity = forward.get("capacity", {}) if isinstance(forward, dict) else {}
    trace = capacity.get("trace") if isinstance(capacity, dict) else None
    # A shipped trace's name (`fcc/12`) is no path, and its last part is no file's.
    return [] if isinstance(trace, str) and _SHIPPED.fullmatch(trace) else [trace]


def _file(entry: object) -> str | None:
    """The name of a trace's file, with the part of it: folders differ from machine to machine."""
    path = entry.get("path") if isinstance(entry, dict) else entry
    return Path(path).name if isinstance(path, str) else None
