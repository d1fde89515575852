"""The compared figures of the calls of [vtfrc]'s testbed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from legato.results.query import query
from legato.results.stats import Estimate, grouped_mean

CONTROLLERS = ("vtfrc", "jm-tfrc")
TCP_START_S = 5.0
"""When the TCP flows begin; rates are compared from then on."""


@dataclass(frozen=True)
class Call:
    """The compared figures of one call of one controller."""

    controller: str
    clip: str
    seed: int
    packets_per_s: float
    """Sent, from the TCP flows' start on."""
    tcp_packets_per_s: float
    """Mean of the TCP flows."""
    sending_bps: float
    tcp_sending_bps: float
    coded_psnr_db: float
    viewed_psnr_db: float
    loss_ratio: float
    shown_psnr_db: float
    """Of the frames that arrived, however late: the paper compares decoded files, without a deadline."""
    tcp_loss_ratio: float
    """Of all packets of the TCP flows."""
    queue_ms: float
    """Mean queue length of the bottleneck, from the TCP flows' start on."""
    arrived_ratio: float
    """The captured frames that were decodable before the call ended."""
    shared_psnr_db: float
    """Of the frames that arrived with every controller; NaN where no frame did."""

    @property
    def friendliness(self) -> float:
        """F, in packets: eq. (11)."""
        return self.packets_per_s / self.tcp_packets_per_s

    @property
    def friendliness_bytes(self) -> float:
        """F in bits: shows the effect of packet sizes."""
        return self.sending_bps / self.tcp_sending_bps


# Of the call's own flow and of the mean TCP flow, from when TCP is there.
_CALLS = f"""
with tcp as (
    select session, avg(packets_sent / (stop_s - start_s)) as packets_per_s, avg(sending_rate_bps) as bps,
        sum(packets_lost) / sum(packets_sent) as loss_ratio
    from traffic where kind like 'tcp-%' group by session
), video as (
    select call, count(*)::double as packets from packets where sent_ns >= {TCP_START_S * 1e9} group by call
), rates as (
    select call, avg(sending_rate_bps) as bps, avg(queue_ms) as queue_ms
    from series where time_ms >= {TCP_START_S * 1e3} group by call
), every_frame as (
    select call, decodable_ms, psnr_db,
        count(psnr_db) over same = count(*) over same as shared
    from frames join summary using (call) window same as (partition by clip, seed, frame)
), arrived as (
    select call, count(decodable_ms) / count(*) as ratio, avg(psnr_db) filter (shared) as shared_db
    from every_frame group by call
)
select controller, clip, seed, video.packets / (duration_s - {TCP_START_S}) as packets_per_s,
    tcp.packets_per_s as tcp_packets_per_s, rates.bps as sending_bps, tcp.bps as tcp_sending_bps,
    coded_psnr_db_mean as coded_psnr_db, viewed_psnr_db_mean as viewed_psnr_db,
    coalesce(summary.loss_ratio, 0) as loss_ratio, psnr_db_mean as shown_psnr_db, tcp.loss_ratio as tcp_loss_ratio,
    rates.queue_ms, arrived.ratio as arrived_ratio, coalesce(arrived.shared_db, 'nan') as shared_psnr_db
from summary join tcp using (session) join video using (call) join rates using (call) join arrived using (call)
order by call
"""


def read_calls(folder: Path) -> list[Call]:
    """The figures of every call of a run folder."""
    return [Call(**row) for row in query(folder, _CALLS)]


def clips_of(calls: Sequence[Call]) -> tuple[str, ...]:
    """The clips of calls, each once."""
    return tuple(dict.fromkeys(call.clip for call in calls))


def mean(values: Sequence[tuple[str, float]]) -> Estimate:
    """Mean with an interval: over clips where there are several, else over the seeds of the one.

    The paper's testbed is one network, and so is ours: nothing here speaks of another one.
    """
    several = len({clip for clip, _ in values}) > 1
    return grouped_mean((clip if several else seed, value) for seed, (clip, value) in enumerate(values))
