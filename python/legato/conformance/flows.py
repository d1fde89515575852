"""The flows of one session as arrays on one time axis, read from a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legato.errors import RunFolderError
from legato.sweep import parts

Array = NDArray[np.float64]
BIN_S = 0.1
"""The bins of the time series."""


@dataclass(frozen=True)
class Flow:
    """One flow; arrays have a value for every 100 ms of the session, NaN outside the flow's life."""

    name: str
    kind: str
    """``call``, ``tcp-reno``, ``udp``, …"""
    start_s: float
    stop_s: float
    receiver_bps: Array
    sending_bps: Array
    capacity_bps: Array
    queue_ms: Array
    loss_ratio: Array
    target_bps: Array
    figures: dict[str, Any] = field(default_factory=dict)
    """Its row of the summary or traffic table."""
    rtt_ms: Array = field(default_factory=lambda: np.empty(0))
    """Empty where it is not measured."""

    def mean_bps(self, from_s: float, to_s: float) -> float:
        """Mean rate at the receiver over part of the session."""
        return mean(self.receiver_bps, from_s, to_s)

    def smoothed(self, window_s: float) -> Array:
        """Rate at the receiver as means over the ``window_s`` before each bin's end."""
        return rolling(self.receiver_bps, window_s)


@dataclass(frozen=True)
class Session:
    """All flows of one session."""

    controller: str
    seed: int
    duration_s: float
    calls: tuple[Flow, ...]
    traffic: tuple[Flow, ...]

    @property
    def time_s(self) -> Array:
        """The beginning of each bin."""
        return np.arange(bins(self.duration_s)) * BIN_S


def bins(duration_s: float) -> int:
    """How many bins a session has."""
    return int(np.ceil(duration_s / BIN_S - 1e-9))


def window(array: Array, from_s: float, to_s: float) -> Array:
    """The bins from one time to another."""
    return array[round(from_s / BIN_S) : round(to_s / BIN_S)]


def mean(array: Array, from_s: float, to_s: float) -> float:
    """Mean of what is known in a part of the session; NaN where nothing is."""
    part = window(array, from_s, to_s)
    return float(np.nanmean(part)) if part.size and not np.isnan(part).all() else float("nan")


def rolling(array: Array, window_s: float) -> Array:
    """Means over the window that ends with each bin; NaN until the first whole one."""
    width = round(window_s / BIN_S)
    result = np.full_like(array, np.nan)
    if array.size >= width:
        sums = np.convolve(array, np.ones(width), mode="valid")
        result[width - 1 :] = sums / width
    return result


def jain(values: Sequence[float]) -> float:
    """Jain's index: 1 where all have the same, 1/n where one has all."""
    shares = np.asarray(values, dtype=np.float64)
    squares = float((shares**2).sum())
    return float(shares.sum() ** 2 / (shares.size * squares)) if squares > 0 else 0.0


def read(folder: Path) -> list[Session]:
    """Every session of a run folder, in the order of its plan."""
    import duckdb

    def rows(table: str) -> duckdb.DuckDBPyRelation | None:
        found = parts(folder, table)
        return duckdb.read_parquet(found) if found else None

    summary = rows("summary")
    series = rows("series")
    if summary is None or series is None:
        raise RunFolderError(f"{folder}: holds no finished time series")
    table = summary.order("call")
    calls = [dict(zip(table.columns, row, strict=True)) for row in table.fetchall()]
    columns = series.order("call, time_ms").fetchnumpy()
    traffic_rows, traffic_columns = rows("traffic"), rows("traffic_series")
    traffic = []
    if traffic_rows is not None and traffic_columns is not None:
        names = traffic_rows.columns
        traffic = [dict(zip(names, row, strict=True)) for row in traffic_rows.fetchall()]
        bytes_over_time = traffic_columns.order("session, flow, time_ms").fetchnumpy()
    by_session: dict[int, list[dict]] = {}
    for call in calls:
        by_session.setdefault(call["session"], []).append(call)
    found = []
    for number, members in by_session.items():
        end = max(call["start_s"] + call["duration_s"] for call in members)
        own = [flow for flow in traffic if flow["session"] == number]
        end = max([end, *(flow["stop_s"] for flow in own)])
        found.append(
            Session(
                controller=members[0]["controller"],
                seed=members[0]["seed"],
                duration_s=end,
                calls=tuple(_call(call, columns, end) for call in members),
                traffic=tuple(_traffic(flow, bytes_over_time, end) for flow in own),
            )
        )
    return found


def _call(call: dict, columns: dict, end_s: float) -> Flow:
    mine = np.asarray(columns["call"]) == call["call"]

    def column(name: str) -> Array:
        values = np.ma.filled(np.ma.asarray(columns[name][mine], dtype=np.float64), np.nan)
        return _placed(values, call["start_s"], end_s)

    return Flow(
        name=call["flow"] or "call",
        kind="call",
        start_s=call["start_s"],
        stop_s=call["start_s"] + call["duration_s"],
        receiver_bps=column("receiver_rate_bps"),
        sending_bps=column("sending_rate_bps"),
        capacity_bps=column("capacity_bps"),
        queue_ms=column("queue_ms"),
        loss_ratio=column("loss_ratio"),
        target_bps=column("target_bitrate_bps"),
        figures=call,
        rtt_ms=column("rtt_ms"),
    )


def _traffic(flow: dict, columns: dict, end_s: float) -> Flow:
    mine = (np.asarray(columns["session"]) == flow["session"]) & (np.asarray(columns["flow"]) == flow["flow"])

    def column(name: str) -> Array:
        return _placed(np.asarray(columns[name][mine], dtype=np.float64), flow["start_s"], end_s)

    nothing = np.full(bins(end_s), np.nan)
    return Flow(
        name=flow["flow"],
        kind=flow["kind"],
        start_s=flow["start_s"],
        stop_s=flow["stop_s"],
        receiver_bps=column("receiver_rate_bps"),
        sending_bps=column("sending_rate_bps"),
        capacity_bps=nothing,
        queue_ms=nothing,
        loss_ratio=nothing,
        target_bps=nothing,
        figures=flow,
    )


def _placed(values: Array, start_s: float, end_s: float) -> Array:
    placed = np.full(bins(end_s), np.nan)
    first = round(start_s / BIN_S)
    placed[first : first + values.size] = values[: placed.size - first]
    return placed
