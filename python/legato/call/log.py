"""The other end's reports on a call, kept and written next to the run folder's other tables.

``RUN/receiver``: one row per second, out of getStats; ``RUN/outbound``: the same of one that sends.
``RUN/shown``: one row per frame on the screen, out of requestVideoFrameCallback, or what our own receiving end saw.
``RUN/calls``: one JSON file per call, what the machine did. docs/reference/run-folder.md lists the columns. Times are
the call's: ms since its media began.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from legato import atomic

STATISTICS = (
    ("bytes_received", "bytesReceived", int),
    ("header_bytes_received", "headerBytesReceived", int),
    ("packets_received", "packetsReceived", int),
    ("packets_lost", "packetsLost", int),
    ("retransmitted_packets_received", "retransmittedPacketsReceived", int),
    ("frames_received", "framesReceived", int),
    ("frames_decoded", "framesDecoded", int),
    ("frames_dropped", "framesDropped", int),
    ("keyframes_decoded", "keyFramesDecoded", int),
    ("freezes", "freezeCount", int),
    ("freeze_time_s", "totalFreezesDuration", float),
    ("nacks", "nackCount", int),
    ("plis", "pliCount", int),
    ("decode_time_s", "totalDecodeTime", float),
    ("jitter_buffer_delay_s", "jitterBufferDelay", float),
    ("jitter_buffer_frames", "jitterBufferEmittedCount", int),
    ("jitter_s", "jitter", float),
    ("height", "frameHeight", int),
)
"""Column of ``receiver``, member of RTCInboundRtpStreamStats, type. Counts run from the call's begin."""

OUTBOUND = (
    ("target_bitrate_bps", "targetBitrate", float),
    ("bytes_sent", "bytesSent", int),
    ("header_bytes_sent", "headerBytesSent", int),
    ("retransmitted_bytes_sent", "retransmittedBytesSent", int),
    ("packets_sent", "packetsSent", int),
    ("frames_encoded", "framesEncoded", int),
    ("keyframes_encoded", "keyFramesEncoded", int),
    ("qp_sum", "qpSum", int),
    ("encode_time_s", "totalEncodeTime", float),
    ("height", "frameHeight", int),
)
"""Column of ``outbound``, member of RTCOutboundRtpStreamStats, type."""

SHOWN = (
    "call", "rtp_timestamp", "received_ms", "shown_ms", "expected_display_ms", "decode_ms", "width", "height",
    "presented_frames", "picture",
)  # fmt: skip
"""Columns of ``shown``. A page reports all but the first and the last of a frame, in this order and by the page's
clock. Legato's receiving end reports all but the first and the number of frames presented, by the call's clock.
"""


@dataclass
class BrowserLog:
    """Collects one call's polls. The page's clock is set by the quickest exchange."""

    seconds: list[dict[str, Any]] = field(default_factory=list)
    outbound: list[dict[str, Any]] = field(default_factory=list)
    frames: list[list[float | None]] = field(default_factory=list)
    seen: list[tuple[Any, ...]] = field(default_factory=list)
    """Pictures of Legato's receiving end, as the native module gives them: by the call's time."""
    offset_ms: float = 0.0
    uncertainty_ms: float = float("inf")

    def clocks(self, before_ms: float, page_ms: float, after_ms: float) -> None:
        """The page's clock showed ``page_ms`` somewhere between two times of the call's."""
        half_ms = (after_ms - before_ms) / 2
        if half_ms < self.uncertainty_ms:
            self.uncertainty_ms = half_ms
            self.offset_ms = before_ms + half_ms - page_ms

    def poll(self, polled: dict[str, Any]) -> None:
        """Keep what :meth:`legato.call.browser.Peer.poll` returned."""
        self.frames.extend(polled["frames"])
        inbound = polled["inbound"]
        if inbound is not None:
            self.seconds.append({"page_ms": polled["now"], **_members(inbound, STATISTICS)})

    def sent(self, polled: dict[str, Any], time_ms: float) -> None:
        """Keep what a sending browser reported at a time of the call's."""
        if polled["outbound"] is not None and polled["pair"] is not None:
            estimate = {"available_bitrate_bps": float(polled["pair"].get("availableOutgoingBitrate", 0.0))}
            row = {"time_ms": time_ms, **estimate, **_members(polled["outbound"], OUTBOUND)}
            row["limited_by"] = polled["outbound"].get("qualityLimitationReason")
            self.outbound.append(row)

    def shown(self) -> list[tuple[int, float | None, float]]:
        """RTP time, arrival of the last packet and time on the screen of each frame, as the native module takes it."""
        return [
            (int(rtp), self._call_ms(received), shown + self.offset_ms)
            for rtp, received, shown, *_ in self.frames
            if rtp is not None and shown is not None
        ]

    def write(self, folder: Path, call: int, report: dict[str, Any]) -> None:
        """Write the call's part of the three tables."""
        name = f"{call:05}"
        seconds = [{"call": call, "time_ms": row.pop("page_ms") + self.offset_ms, **row} for row in self.seconds]
        shown = [
            (call, rtp, *map(self._call_ms, times), None if decode is None else decode * 1e3, *rest, None)
            for rtp, times, decode, rest in ((row[0], row[1:4], row[4], row[5:]) for row in self.frames)
        ]
        seen = sorted((row for row in self.seen if row[2] is not None), key=lambda row: row[2])
        shown += [(call, *row, number, picture) for number, (*row, picture) in enumerate(seen, start=1)]
        outbound = [{"call": call, **row} for row in self.outbound]
        frames = [dict(zip(SHOWN, row, strict=True)) for row in shown]
        for table, rows in (("receiver", seconds), ("outbound", outbound), ("shown", frames)):
            if rows:
                write_rows(folder / table, name, rows)
        (folder / "calls").mkdir(parents=True, exist_ok=True)
        known = self.uncertainty_ms < float("inf")
        clock = {"page_clock_uncertainty_ms": self.uncertainty_ms if known else None}
        text = json.dumps({**report, **clock}, indent=2) + "\n"
        (folder / "calls" / f"{name}.json").write_text(text, encoding="utf-8")

    def _call_ms(self, page_ms: float | None) -> float | None:
        return None if page_ms is None else page_ms + self.offset_ms


def _members(report: dict[str, Any], columns: tuple[tuple[str, str, type], ...]) -> dict[str, Any]:
    return {name: kind(report[member]) if member in report else None for name, member, kind in columns}


def write_rows(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    """Rows of equal keys as ``FOLDER/NAME.parquet``, under its name only when it is whole."""
    import duckdb
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    columns = {}
    for key in rows[0]:
        values = [row[key] for row in rows]
        if any(isinstance(value, str) for value in values):
            columns[key] = np.array([value or "" for value in values], dtype=object)
            continue
        absent = np.array([value is None for value in values])
        whole = all(isinstance(value, int) for value in values if value is not None)
        kind = np.int64 if whole else np.float64
        filled = np.array([0 if value is None else value for value in values], dtype=kind)
        columns[key] = np.ma.masked_array(filled, absent)
    with atomic.replacing(folder / f"{name}.parquet") as partial, duckdb.connect() as connection:
        connection.register("rows", columns)
        target = str(partial).replace("'", "''")
        connection.execute(f"COPY (SELECT * FROM rows) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")
