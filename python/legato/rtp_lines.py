"""The RTP log of RFC 8868, section 3.1: a line a packet, as its evaluation tools read it.

Made from the ``packets`` and ``frames`` tables of a run (``log = "packets"``) after the call::

    sec.usec PT SSRC seq timestamp marker payload-bytes

Time is the simulation's, from the call's start, at either end: the receiver's clock, which is off in every
scenario, is not in it. What a run folder does not hold follows from what it does: packets of a stream are
numbered in the order they left, from 0 (retransmissions and padding share one stream); the timestamp of
pictures and their repair is the capture time on a 90 kHz clock, that of audio the departure on a 48 kHz one;
the marker is on the last packet of a frame. RTCP, which the RFC wants kept too, is not in the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from legato.errors import Error, RunFolderError

SIDES = ("sender", "receiver")
"""Whose log it is: each packet when it left, or each one that came when it came."""
PAYLOAD_TYPES = {"audio": 111, "fec": 98, "padding": 97, "retransmission": 97, "video": 96}
"""RTP payload types, from the dynamic range; those that share a stream share one."""
OVERHEAD_BYTES = 66
"""IP, UDP, RTP header with extensions, SRTP tag: what a packet weighs beside its payload."""

_QUERY = """
WITH sent AS (
    SELECT *,
        row_number() OVER (PARTITION BY ssrc ORDER BY transport_seq) - 1 AS number,
        kind = 'video' AND transport_seq = max(transport_seq) FILTER (kind = 'video') OVER (PARTITION BY sequence)
            AS last_of_frame
    FROM read_parquet(?) WHERE call = ?
), pictures AS (
    SELECT sequence, captured_ms FROM read_parquet(?) WHERE call = ? AND encoded
)
SELECT {time} AS at_ns, kind, ssrc, number, sent_ns, captured_ms, coalesce(last_of_frame, false), size_bytes
FROM sent LEFT JOIN pictures USING (sequence)
WHERE at_ns IS NOT NULL
ORDER BY at_ns, transport_seq
"""


def rtp_lines(folder: str | Path, call: int, side: str = "sender") -> Iterator[str]:
    """The lines of one call's log, without line ends.

    Args:
        folder: a run folder with ``log = "packets"``.
        call: the call's number in it.
        side: ``"sender"`` or ``"receiver"``.
    """
    import duckdb

    from legato.report.run_folder import open_run

    if side not in SIDES:
        raise Error(f"side = {side!r} is not one of {', '.join(SIDES)}")
    run = open_run(folder)
    if not 0 <= call < run.calls:
        raise RunFolderError(f"{folder}: has no call {call}, its calls are 0 to {run.calls - 1}")
    packets, frames = run.part("packets", call), run.part("frames", call)
    if packets is None or frames is None:
        raise RunFolderError(
            f"{folder}: no packets of call {call} were logged", hint=f"legato replay {folder} {call} logs them"
        )
    query = _QUERY.format(time="sent_ns" if side == "sender" else "arrived_ns")
    with duckdb.connect() as database:
        rows = database.execute(query, [str(packets), call, str(frames), call]).fetchall()
    return (_line(*row) for row in rows)


def _line(
    at_ns: int, kind: str, ssrc: int, number: int, sent_ns: int, captured_ms: float | None, last: bool, size_bytes: int
) -> str:
    if kind == "audio":
        timestamp = sent_ns * 48_000 // 1_000_000_000
    elif captured_ms is not None:
        timestamp = round(captured_ms * 90)
    else:  # padding is of no picture
        timestamp = sent_ns * 90_000 // 1_000_000_000
    payload_bytes = 0 if kind == "padding" else max(size_bytes - OVERHEAD_BYTES, 0)
    seconds, micros = divmod(at_ns // 1_000, 1_000_000)
    return (
        f"{seconds}.{micros:06} {PAYLOAD_TYPES[kind]} {ssrc:x} {number % 65_536} {timestamp % (1 << 32)} "
        f"{int(last)} {payload_bytes}"
    )
