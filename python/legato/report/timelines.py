"""The time lines of single calls, packed small.

Every figure becomes an integer in a small unit (kbit/s, ms, 0.1 %, 0.01 dB) and is written as the difference to the
one before, nulls kept: about 15 kB per call of a minute. Calls are chosen condition by condition, so that the time
lines of one controller can be put above the others; across conditions, traces take turns.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from legato.results.run_folder import RunFolder
from legato.results.store import Store, parquet

SERIES_BIN_MS = 100
"""The bin of the `series` table."""
MAX_BINS = 600
"""Points a time line keeps; a longer call has bins merged (rates and quality by mean, delays and loss by maximum)."""
MAX_GAUGE_POINTS = 200
"""Points a gauge keeps."""
MAX_GAUGES = 24
"""Gauges drawn of one call, in order of name."""
MAX_GAUGE_CALLS = 12
"""Calls whose gauges are embedded."""

# name in the report, how bins are merged, column, how much of the column's unit a stored integer stands for
_SERIES = (
    ("capacity", "avg", "capacity_bps", 1e3),
    ("target", "avg", "target_bitrate_bps", 1e3),
    ("sending", "avg", "sending_rate_bps", 1e3),
    ("receiver", "avg", "receiver_rate_bps", 1e3),
    ("queue", "max", "queue_ms", 1.0),
    ("loss", "max", "loss_ratio", 1e-3),
    ("ssim", "avg", "ssim_db", 0.01),
    ("height", "max", "height", 1.0),
)


@dataclass(frozen=True)
class Call:
    """One call whose time line is shown."""

    run: int
    call: int
    variant: str
    trace: str
    family: str
    clip: str
    seed: int
    duration_s: float
    flow: str = ""
    """Its name among the flows of its session; empty where it is alone."""


_Lines = dict[tuple[int, int], dict[str, Any]]
"""Time lines by run and call."""


def choose_calls(store: Store, limit: int) -> list[Call]:
    """Calls to show, at most `limit` (but one whole condition at least), in the order of the plan."""
    if limit < 1:
        return []
    family = "trace_family" if "trace_family" in store.columns else "NULL"
    flow = "flow" if "flow" in store.columns else "NULL"
    duration = store.column("duration_s")
    conditions = max(1, limit // max(len(store.variants), 1))
    rows = store.rows(
        f"""
        WITH conditions AS (
            SELECT condition, any_value(trace) AS trace, min(run * 1e12 + call) AS first
            FROM summary GROUP BY condition
        ), turns AS (
            SELECT *, row_number() OVER (PARTITION BY trace ORDER BY hash(condition)) AS turn FROM conditions
        ), chosen AS (SELECT condition, first FROM turns ORDER BY turn, first LIMIT {conditions})
        SELECT run, call, variant, trace, {family}, clip, seed, {duration}, {flow}
        FROM summary JOIN chosen USING (condition) ORDER BY first, run, call
        """
    )
    return [
        Call(run, call, variant, trace, family or "", clip, seed, duration_s or 0.0, flow or "")
        for run, call, variant, trace, family, clip, seed, duration_s, flow in rows
    ]


def timelines(store: Store, calls: Sequence[Call]) -> list[dict[str, Any] | None]:
    """The packed time line of each call; None where its series were not logged."""
    found: dict[tuple[int, int], dict[str, Any]] = {}
    longest_ms = max((call.duration_s for call in calls), default=0.0) * 1000
    merge = max(1, -(-round(longest_ms / SERIES_BIN_MS) // MAX_BINS))
    bin_ms = SERIES_BIN_MS * merge
    for run, part, numbers in _by_part(store.runs, calls, "series"):
        names = _columns(store, part)
        figures = ", ".join(
            f"round({how}({column}) FILTER (isfinite({column}::DOUBLE)) / {unit})::BIGINT"
            if column in names
            else "NULL"
            for _, how, column, unit in _SERIES
        )
        rows = store.rows(
            f"SELECT call, time_ms // {bin_ms} AS bin, {figures} FROM {parquet([part])} "
            f"WHERE call IN ({numbers}) GROUP BY call, bin ORDER BY call, bin"
        )
        for call, columns in _split(rows):
            packed = {name: deltas(column) for (name, *_), column in zip(_SERIES, columns[1:], strict=True)}
            found[run, call] = {"bin_ms": bin_ms, "start_bin": columns[0][0], "bins": len(columns[0]), **packed}
    _add_frame_delays(store, calls, bin_ms, found)
    _add_freezes(store, calls, found)
    return [found.get((call.run, call.call)) for call in calls]


def gauges(store: Store, calls: Sequence[Call]) -> list[dict[str, Any]]:
    """Gauges of each controller's first calls: index of the call, names, and packed times and values."""
    longest_ms = max((call.duration_s for call in calls), default=0.0) * 1000
    bin_ms = max(SERIES_BIN_MS, -(-round(longest_ms) // MAX_GAUGE_POINTS))
    index = {(call.run, call.call): at for at, call in enumerate(calls)}
    variants = list(dict.fromkeys(call.variant for call in calls))
    share = max(1, MAX_GAUGE_CALLS // max(1, len(variants)))
    chosen = [call for variant in variants for call in [c for c in calls if c.variant == variant][:share]]
    found: dict[int, dict[str, Any]] = {}
    for run, part, numbers in _by_part(store.runs, chosen, "gauges"):
        rows = store.rows(
            f"SELECT call, name, time_ms // {bin_ms} AS bin, avg(value) FROM {parquet([part])} "
            f"WHERE call IN ({numbers}) AND isfinite(value) GROUP BY ALL ORDER BY call, name, bin"
        )
        for call, name, at, value in rows:
            at_call = index[run, call]
            held = found.setdefault(at_call, {})
            if name not in held and len(held) >= MAX_GAUGES:
                continue
            bins, values = held.setdefault(name, ([], []))
            bins.append(at)
            values.append(float(f"{value:.4g}"))
    return [
        {
            "call": at,
            "bin_ms": bin_ms,
            "gauges": [{"name": name, "bins": deltas(b), "values": v} for name, (b, v) in held.items()],
        }
        for at, held in sorted(found.items())
    ]


def deltas(values: Sequence[int | None]) -> list[int | None]:
    """Each value as the difference to the last known one; null stays null."""
    last, packed = 0, []
    for value in values:
        packed.append(None if value is None else int(value) - last)
        last = last if value is None else int(value)
    return packed


def compact(value: Any) -> str:
    """JSON without blanks, safe inside a <script> element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _add_frame_delays(store: Store, calls: Sequence[Call], bin_ms: int, found: _Lines) -> None:
    for run, part, numbers in _by_part(store.runs, calls, "frames"):
        if not {"call", "captured_ms", "frame_delay_ms"} <= _columns(store, part):
            continue
        rows = store.rows(
            f"SELECT call, (captured_ms // {bin_ms})::BIGINT AS bin, "
            "round(max(frame_delay_ms) FILTER (isfinite(frame_delay_ms)))::BIGINT "
            f"FROM {parquet([part])} WHERE call IN ({numbers}) GROUP BY call, bin ORDER BY call, bin"
        )
        for call, (bins, delays) in _split(rows):
            if (line := found.get((run, call))) is not None:
                by_bin = dict(zip(bins, delays, strict=True))
                start = line["start_bin"]
                line["frame_delay"] = deltas([by_bin.get(at) for at in range(start, start + line["bins"])])


def _add_freezes(store: Store, calls: Sequence[Call], found: _Lines) -> None:
    for run, part, numbers in _by_part(store.runs, calls, "freezes"):
        rows = store.rows(
            f"SELECT call, round(start_ms)::BIGINT, round(duration_ms)::BIGINT FROM {parquet([part])} "
            f"WHERE call IN ({numbers}) AND isfinite(start_ms) AND isfinite(duration_ms) ORDER BY call, start_ms"
        )
        for call, columns in _split(rows):
            if (line := found.get((run, call))) is not None:
                line["freezes"] = [list(pair) for pair in zip(*columns, strict=True)]


def _by_part(runs: Sequence[RunFolder], calls: Sequence[Call], table: str) -> list[tuple[int, Path, str]]:
    """The files of `table` that hold these calls: run, file, and the calls' numbers for an SQL list."""
    wanted: dict[tuple[int, Path], list[int]] = {}
    for call in calls:
        if (part := runs[call.run].part(table, call.call)) is not None:
            wanted.setdefault((call.run, part), []).append(call.call)
    return [(run, part, ", ".join(map(str, numbers))) for (run, part), numbers in wanted.items()]


def _columns(store: Store, part: Path) -> set[str]:
    return {row[0] for row in store.rows(f"DESCRIBE SELECT * FROM {parquet([part])}")}


def _split(rows: Sequence[tuple[Any, ...]]) -> list[tuple[int, list[list[Any]]]]:
    """Rows sorted by call to one list of columns (without the call) per call."""
    found: dict[int, list[tuple[Any, ...]]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row[1:])
    return [(call, [list(column) for column in zip(*kept, strict=True)]) for call, kept in found.items()]
