"""The RTP log of RFC 8868, section 3.1: a line a packet, as its evaluation tools read it.

Made from the ``packets`` and ``frames`` tables of a run (``log = "packets"``) after the call::

    sec.usec PT SSRC seq timestamp marker payload-bytes

Time is the simulation's, from the call's start, at either end: the receiver's clock, which is off in every
scenario, is not in it. What a run folder does not hold follows from what it does: packets of a stream are
numbered in the order they left, from 0 (retransmissions and padding share one stream); the timestamp of
pictures and their repair is the capture time on a 90 kHz clock, that of audio the departure on a 48 kHz one;
the marker is on the last packet of a frame.

RTCP, which the RFC wants kept too without a format for it, has a line for each packet of a compound, both those that
left this end and those that came to it (table ``rtcp``). Its packet type, 200 or above, stands where the payload type
does, numbers, timestamp and marker are 0, and the bytes are all of the packet: RTCP has no payload of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
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


_RTCP_QUERY = """
SELECT CASE WHEN "by" = ? THEN sent_ns ELSE arrived_ns END AS at_ns, bytes
FROM read_parquet(?) WHERE call = ? AND at_ns IS NOT NULL
ORDER BY at_ns, sent_ns
"""


def rtp_lines(folder: str | Path, call: int, side: str = "sender", rtcp: bool = True) -> Iterator[str]:
    """The lines of one call's log, without line ends.

    Args:
        folder: a run folder with ``log = "packets"``.
        call: the call's number in it.
        side: ``"sender"`` or ``"receiver"``.
        rtcp: with RTCP of both directions, as this end saw it.
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
        control = run.part("rtcp", call) if rtcp else None
        compounds = database.execute(_RTCP_QUERY, [side, str(control), call]).fetchall() if control is not None else []
    media = ((row[0], _line(*row)) for row in rows)
    return (line for _, line in merge(media, _rtcp_lines(compounds), key=lambda timed: timed[0]))


def _rtcp_lines(compounds: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, str]]:
    """Times and lines of the packets of compounds."""
    for at_ns, compound in compounds:
        rest = compound
        while len(rest) >= 8:
            # [rfc3550] §6.4.1: type, length in words less one, SSRC of who sends it.
            length = 4 * (int.from_bytes(rest[2:4], "big") + 1)
            ssrc = int.from_bytes(rest[4:8], "big")
            yield at_ns, f"{_time(at_ns)} {rest[1]} {ssrc:x} 0 0 0 {length}"
            rest = rest[length:]


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
    return (
        f"{_time(at_ns)} {PAYLOAD_TYPES[kind]} {ssrc:x} {number % 65_536} {timestamp % (1 << 32)} "
        f"{int(last)} {payload_bytes}"
    )


def _time(at_ns: int) -> str:
    """Seconds and microseconds."""
    seconds, micros = divmod(at_ns // 1_000, 1_000_000)
    return f"{seconds}.{micros:06}"
