"""Which calls share a network: what an interval has to be over, for calls over one network are alike.

The summary says it of each call:

- A network that a scenario draws (`trace_family` is "generator") is drawn from the seed: each seed is another network.
- A trace is one network, whatever part of it is played at what scale: those are other conditions of one recording. So
  are copies of one file, and links to it: of the user's files a plan keeps the hash.
- Any other scenario has one network. Its seeds draw losses, jitter, cross traffic and the encoder's scatter, which
  repeat a call over it and say nothing of other networks.

Flows that share a session share its network.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from legato.results.run_folder import RunFolder

DRAWN = "generator"
"""The `trace_family` of networks that are drawn from the seed."""


NOT_RECORDED = "trace_family IS NULL OR trace_family IN ('constant', 'generator', 'steps')"
"""SQL: whether a call's network is not a recorded one."""


_SHIPPED = re.compile(r"[a-z0-9-]+/[0-9]+(#.*)?")


def network_of(runs: Sequence[RunFolder], columns: Iterable[str]) -> str:
    """SQL of a call's network, a hash."""
    labels: dict[_Recording, set[str]] = {}
    for run in runs:
        for label, recording in _recordings(run):
            labels.setdefault(recording, set()).add(label)
    several = {one: ", ".join(map(quoted, sorted(of))) for one, of in labels.items() if len(of) > 1}
    files = " ".join(f"WHEN trace IN ({of}) THEN {quoted(one.key)}" for one, of in several.items())
    recorded = f"CASE {files} ELSE trace END" if files else "trace"
    if "trace_family" not in columns:
        return f"hash({recorded})"
    # Copies may lie in folders of two families, and are one recording nevertheless.
    copies = " ".join(f"WHEN trace IN ({of}) THEN hash({quoted(one.key)})" for one, of in several.items() if one.hashed)
    return (
        f"CASE WHEN trace_family = {quoted(DRAWN)} THEN hash(trace_family, trace, seed) {copies} "
        f"ELSE hash(trace_family, {recorded}) END"
    )


def quoted(text: str) -> str:
    """A string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


class _Recording(NamedTuple):
    """A file of a trace, with the part of it."""

    key: str
    """The hash of its content; its name where the plan keeps none."""
    hashed: bool


def _recordings(run: RunFolder) -> list[tuple[str, _Recording]]:
    """The name of each trace in the summary, and its recording."""
    hashes = {file.get("name"): file.get("sha256") for file in run.plan.get("files") or [] if isinstance(file, dict)}
    labels, found = run.names("traces"), [_recording(entry, hashes) for entry in _traces(run)]
    # Where a folder says less, or something else wrote it, traces are told apart by their names.
    if len(labels) != len(found):
        return []
    return [(label, recording) for label, recording in zip(labels, found, strict=True) if recording is not None]


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


def _recording(entry: object, hashes: Mapping[object, object]) -> _Recording | None:
    path = entry.get("path") if isinstance(entry, dict) else entry
    if not isinstance(path, str):
        return None
    file, mark, part = path.rpartition("#")
    for name, of_it in ((path, ""), (file, mark + part)):
        if isinstance(sha256 := hashes.get(name), str):
            return _Recording(f"{sha256}{of_it}", hashed=True)
    # By its name alone: folders differ from machine to machine.
    return _Recording(Path(path).name, hashed=False)
