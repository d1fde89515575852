"""The flows of one session as arrays on one time axis, read from a run folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legato.errors import RunFolderError
from legato.results.query import parts, query, summary_rows

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
    figures: dict[str, Any] = field(default_factory=dict)
    """Its row of the summary or traffic table."""
    rtt_ms: Array = field(default_factory=lambda: np.empty(0))
    """NaN where it is not measured."""
    delay_ms: Array = field(default_factory=lambda: np.empty(0))
    """One way, the mean of the packets of each bin; NaN where none arrived."""

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
        return np.arange(bins(self.duration_s), dtype=np.float64) * BIN_S


def bins(duration_s: float) -> int:
    """How many bins a session has."""
    return int(np.ceil(duration_s / BIN_S - 1e-9))


def window(array: Array, from_s: float, to_s: float) -> Array:
    """The bins from one time to another."""
    return array[round(from_s / BIN_S) : round(to_s / BIN_S)]


def mean(array: Array, from_s: float, to_s: float) -> float:
    """Mean of the recorded values in a part of the session; NaN without any."""
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
    if not (parts(folder, "summary") and parts(folder, "series")):
        raise RunFolderError(f"{folder}: holds no finished time series")
    series = _columns(folder, "series", "call, time_ms")
    traffic, over_time = [], {}
    if parts(folder, "traffic") and parts(folder, "traffic_series"):
        traffic, over_time = query(folder, "from traffic"), _columns(folder, "traffic_series", "session, flow, time_ms")
    by_session: dict[int, list[dict[str, Any]]] = {}
    for call in summary_rows(folder):
        by_session.setdefault(call["session"], []).append(call)
    found = []
    for number, members in by_session.items():
        own = [flow for flow in traffic if flow["session"] == number]
        stops_s = [call["start_s"] + call["duration_s"] for call in members]
        end_s = max([*stops_s, *(flow["stop_s"] for flow in own)])
        calls = [
            _flow(call, call["flow"] or "call", "call", stop_s, end_s, series, series["call"] == call["call"])
            for call, stop_s in zip(members, stops_s, strict=True)
        ]
        beside = [
            _flow(
                flow, flow["flow"], flow["kind"], flow["stop_s"], end_s, over_time,
                (over_time["session"] == number) & (over_time["flow"] == flow["flow"]),
            )
            for flow in own
        ]  # fmt: skip
        found.append(Session(members[0]["controller"], members[0]["seed"], end_s, tuple(calls), tuple(beside)))
    return found


def _columns(folder: Path, table: str, order: str) -> dict[str, np.ndarray]:
    import duckdb

    with duckdb.connect() as database:
        # The verbs show progress themselves.
        database.execute("SET enable_progress_bar = false")
        return database.read_parquet(parts(folder, table)).order(order).fetchnumpy()


def _flow(
    row: dict[str, Any], name: str, kind: str, stop_s: float, end_s: float, columns: dict[str, Any], mine: Array
) -> Flow:
    def column(of: str) -> Array:
        placed = np.full(bins(end_s), np.nan)
        if of in columns:
            values = np.ma.filled(np.ma.asarray(columns[of][mine], dtype=np.float64), np.nan)
            first = round(row["start_s"] / BIN_S)
            placed[first : first + values.size] = values[: placed.size - first]
        return placed

    rates = (column("receiver_rate_bps"), column("sending_rate_bps"), column("capacity_bps"))
    path = (column("queue_ms"), column("loss_ratio"))
    return Flow(name, kind, row["start_s"], stop_s, *rates, *path, row, column("rtt_ms"), column("one_way_delay_ms"))
