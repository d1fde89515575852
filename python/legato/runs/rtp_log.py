"""The RTP log of RFC 8868, section 3.1: one line per packet, as its evaluation tools read it.

Written after the call from the ``packets`` and ``frames`` tables of a run (``log = "packets"``)::

    sec.usec PT SSRC seq timestamp marker payload-bytes

At both ends, time is simulated time from the start of the call, without the offset and drift of the receiver's clock.
Fields that a run folder lacks are derived: packets of a stream are numbered from 0 in the order of departure
(retransmissions and padding share one stream). The timestamp of video and its retransmissions is the capture time on a
90 kHz clock, that of audio is the departure on a 48 kHz clock. The marker is set on the last packet of a frame.

The RFC asks for RTCP as well but defines no format. Here each packet of a compound has one line, for compounds that
left this end and compounds that arrived there (table ``rtcp``). Its packet type, 200 or above, takes the place of the
payload type; sequence number, timestamp and marker are 0; the size is that of the whole packet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from pathlib import Path

from legato.errors import Error, RunFolderError

SIDES = ("sender", "receiver")
"""Whose log: the sender's, by departure, or the receiver's, by arrival."""
PAYLOAD_TYPES = {"audio": 111, "fec": 98, "padding": 97, "retransmission": 97, "video": 96}
"""RTP payload types from the dynamic range; kinds that share a stream share one."""
OVERHEAD_BYTES = 66
"""IP, UDP and RTP headers with extensions, and the SRTP tag."""

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


def rtp_log(folder: str | Path, call: int, *, side: str = "sender", rtcp: bool = True) -> Iterator[str]:
    """The lines of one call's RTP log, without newlines.

    Args:
        folder: a run folder with ``log = "packets"``.
        call: number of the call in that folder.
        side: ``"sender"`` or ``"receiver"``.
        rtcp: include RTCP of both directions, as seen at this end.
    """
    import duckdb

    from legato.results.run_folder import open_run

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
    """Time and line of each packet of the compounds."""
    for at_ns, compound in compounds:
        rest = compound
        while len(rest) >= 8:
            # [rfc3550] §6.4.1: type, length in words minus one, SSRC of the sender.
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
    else:  # padding belongs to no frame
        timestamp = sent_ns * 90_000 // 1_000_000_000
    payload_bytes = 0 if kind == "padding" else max(size_bytes - OVERHEAD_BYTES, 0)
    return (
        f"{_time(at_ns)} {PAYLOAD_TYPES[kind]} {ssrc:x} {number % 65_536} {timestamp % (1 << 32)} "
        f"{int(last)} {payload_bytes}"
    )


def _time(at_ns: int) -> str:
    """``at_ns`` as seconds with six decimals."""
    seconds, micros = divmod(at_ns // 1_000, 1_000_000)
    return f"{seconds}.{micros:06}"
