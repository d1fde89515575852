"""Video TFRC (docs/papers/vtfrc.md): its Tables II and III with our clips, five seeds and intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from legato import chart
from legato import plan as plans
from legato.errors import Error
from legato.eval.stats import Estimate, grouped_mean
from legato.pages import Section, counted
from legato.published.reproduction import Paper, Reproduction, Row, by_interval, means, pairs, play, reaches, verdict
from legato.sweep import Progress, check_empty, query, summary_rows, version

CONTROLLERS = ("vtfrc", "jm-tfrc")
CLIPS = ("qcif-foreman", "qcif-grid-bbaf2n", "qcif-grid-lrwp9a", "qcif-asl-again", "qcif-asl-night", "qcif-asl-sister")
SEEDS = 5
TCP_START_S = 5.0
"""When the TCP flows begin; rates are compared from then on."""
BIN_S = 0.5
"""Of the sending rates over time."""

# Table II and III of [vtfrc], by sequence: F, sender-end gain and receiver-end gain (dB).
PUBLISHED: dict[str, dict[str, float]] = {
    "Container": {"vtfrc": 0.92, "jm-tfrc": 0.80, "sender": 0.52, "receiver": 1.12},
    "Foreman": {"vtfrc": 1.07, "jm-tfrc": 0.97, "sender": 0.58, "receiver": 1.35},
    "Grandma": {"vtfrc": 0.78, "jm-tfrc": 0.57, "sender": 0.98, "receiver": 0.35},
    "Mother-Daughter": {"vtfrc": 1.02, "jm-tfrc": 0.80, "sender": 1.15, "receiver": 1.20},
    "Salesman": {"vtfrc": 1.02, "jm-tfrc": 0.93, "sender": 0.72, "receiver": 2.34},
}
COUNTERPART = {"qcif-foreman": "Foreman"}
"""Clips of ours that the paper used too."""

PAPER = Paper(
    "vtfrc",
    "Video TFRC",
    {
        "II": "Table II: TCP-friendliness F, in packets per second",
        "III": "Table III: gain in luma PSNR over jm-tfrc",
    },
    digits=".2f",
    over="seeds or clips",
)


@dataclass(frozen=True)
class Call:
    """What is compared of one call of one controller."""

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
    select session, avg(packets_sent / (stop_s - start_s)) as packets_per_s, avg(sending_rate_bps) as bps
    from traffic where kind like 'tcp-%' group by session
), video as (
    select call, sum(packets)::double as packets from frames where captured_ms >= {TCP_START_S * 1e3} group by call
), rates as (
    select call, avg(sending_rate_bps) as bps from series where time_ms >= {TCP_START_S * 1e3} group by call
)
select controller, clip, seed, video.packets / (duration_s - {TCP_START_S}) as packets_per_s,
    tcp.packets_per_s as tcp_packets_per_s, rates.bps as sending_bps, tcp.bps as tcp_sending_bps,
    coded_psnr_db_mean as coded_psnr_db, viewed_psnr_db_mean as viewed_psnr_db, coalesce(loss_ratio, 0) as loss_ratio
from summary join tcp using (session) join video using (call) join rates using (call) order by call
"""


def reproduce(
    out: str | Path,
    *,
    clips: Sequence[str] = (),
    seeds: int = SEEDS,
    duration_s: float | None = None,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Reproduction:
    """Run the paper's testbed with both controllers.

    Args:
        out: the folder; calls go to ``out/run``.
        clips: profiles or shipped names; none: the six with small pictures that come with Legato.
        seeds: how many.
        duration_s: length of a call, instead of the scenario's.
    """
    out = Path(out)
    check_empty(out, resume=resume)
    if duration_s is not None and duration_s <= TCP_START_S + 1.0:
        raise Error(f"duration_s = {duration_s}: the TCP flows begin at {TCP_START_S:g} s, give at least a second more")
    plan = plans.make(
        "vtfrc",
        options={} if duration_s is None else {"duration_s": duration_s},
        controller_specs=CONTROLLERS,
        clip_specs=list(clips) or CLIPS,
        seed_spec=seeds,
        log="series",
    )
    run = play({"run": plan}, out, threads=threads, on_progress=on_progress)["run"]
    calls = read_calls(run)
    done = Reproduction(PAPER, out, version(run), tuple(judge(calls)), tuple(calls))
    names = clips_of(calls)
    figures = {
        clip: {"sending": sending_over_time(run, clip), "coded_psnr_db": psnr_over_frames(run, clip)}
        for clip in figure_clips(names)
    }
    introduction = Markup(
        "Tan, Chen, Ardon, Lochin, ICC 2008: 1.5 Mbit/s, 160 ms, 100 packets of queue, three TCP Reno flows from "
        "{:g} s on, small pictures at 20 per second. {}, {}, Legato {}. Means with 95 % "
        "intervals on this one network: over seeds for a clip, over clips for a mean. Differences from the paper: "
        "<code>docs/papers/vtfrc.md</code>."
    ).format(TCP_START_S, counted(len(names), "clip"), counted(done.seeds, "seed"), done.version)
    return done.write([introduction], [_behind(calls), _over_time(figures)], behind_rows={"figures": figures})


def clips_of(calls: Sequence[Call]) -> tuple[str, ...]:
    """The clips of calls, each once."""
    return tuple(dict.fromkeys(call.clip for call in calls))


def read_calls(folder: Path) -> list[Call]:
    """The figures of every call of a run folder."""
    return [Call(**row) for row in query(folder, _CALLS)]


def judge(calls: Sequence[Call]) -> list[Row]:
    """Every row of both tables."""
    clips = clips_of(calls)
    rows = []
    for controller in CONTROLLERS:
        own = [(call.clip, call.friendliness) for call in calls if call.controller == controller]
        rows += [_friendliness_row(controller, clip, _mean([f for f in own if f[0] == clip])) for clip in clips]
        why = "the mean of other clips: what is comparable is the band and the order below"
        name, printed = f"F of {controller}, mean", _printed_mean(controller)
        rows.append(Row.of("II", name, printed, _mean(own), "not comparable", why))
    both = pairs(calls, *CONTROLLERS, lambda call: (call.clip, call.seed))
    rows.append(_closer_to_one(both))
    for end, column in (("sender", "coded_psnr_db"), ("receiver", "viewed_psnr_db")):
        gains = [(video.clip, getattr(video, column) - getattr(plain, column)) for video, plain in both]
        rows += [_gain_row(end, clip, _mean([gain for gain in gains if gain[0] == clip])) for clip in clips]
        rows.append(_row_of_a_gain(f"{end}-end gain, mean (dB)", _printed_mean(end), _mean(gains)))
    return rows


def _printed_mean(column: str) -> float:
    return float(np.mean([sequence[column] for sequence in PUBLISHED.values()]))


def _friendliness_row(controller: str, clip: str, ours: Estimate) -> Row:
    name = f"F of {controller}, {clip}"
    printed = PUBLISHED[COUNTERPART[clip]][controller] if clip in COUNTERPART else None
    if controller == "jm-tfrc":
        return Row.of("II", name, printed, ours, "not comparable", "the paper claims nothing of it but the order")
    fair = ours.mean is not None and 0.5 <= ours.mean <= 2.0
    return Row.of(
        "II", name, printed, ours, verdict(fair), "RFC 3448's band of a factor of two, which the paper claims"
    )


def _closer_to_one(both: Sequence[tuple[Call, Call]]) -> Row:
    """How much closer to 1 Video TFRC's F is, on average over the clips."""
    closer = _mean([(v.clip, abs(p.friendliness - 1.0) - abs(v.friendliness - 1.0)) for v, p in both])
    printed = float(np.mean([abs(s["jm-tfrc"] - 1) - abs(s["vtfrc"] - 1) for s in PUBLISHED.values()]))
    is_closer = by_interval(closer, (closer.low or 0.0) > 0.0)
    name = "F closer to 1 than jm-tfrc's by"
    return Row.of("II", name, printed, closer, is_closer, "met where the interval is above 0")


def _gain_row(end: str, clip: str, ours: Estimate) -> Row:
    name = f"{end}-end gain, {clip} (dB)"
    if clip not in COUNTERPART:
        return Row.of("III", name, None, ours, "not comparable", "the paper did not use this clip")
    return _row_of_a_gain(name, PUBLISHED[COUNTERPART[clip]][end], ours)


def _row_of_a_gain(name: str, printed: float, ours: Estimate) -> Row:
    why = "met where the printed gain is within our interval or below it, undecided where 0 is too"
    return Row.of("III", name, printed, ours, reaches(printed, ours), why)


def _mean(values: Sequence[tuple[str, float]]) -> Estimate:
    """Mean with an interval: over clips where there are several, else over the seeds of the one.

    The paper's testbed is one network, and so is ours: nothing here speaks of another one.
    """
    several = len({clip for clip, _ in values}) > 1
    return grouped_mean((clip if several else seed, value) for seed, (clip, value) in enumerate(values))


def sending_over_time(folder: Path, clip: str) -> dict[str, Any]:
    """Figures 5 and 6: sending rates of the first seed, video and mean of the TCP flows, by controller."""

    def rates(table: str, of: str, start_s: float = 0.0) -> list[list[float]]:
        sql = (
            f"select floor((time_ms + {start_s * 1e3}) / {BIN_S * 1e3}) as bin, avg(sending_rate_bps) as bps "
            f"from {table} where {of} group by bin order by bin"
        )
        return [[row["bin"] * BIN_S, round(row["bps"])] for row in query(folder, sql)]

    return {
        row["controller"]: {
            "video_bps": rates("series", f"call = {row['call']}"),
            "tcp_mean_bps": rates("traffic_series", f"session = {row['session']}", TCP_START_S),
        }
        for row in _first_seed(folder, clip)
    }


def psnr_over_frames(folder: Path, clip: str) -> dict[str, list[float | None]]:
    """Figures 7 and 8: luma PSNR of each frame at the sender, of the first seed, by controller."""
    sql = "select round(coded_psnr_db::double, 2) as psnr_db from frames where call = {} order by frame"
    return {
        row["controller"]: [frame["psnr_db"] for frame in query(folder, sql.format(row["call"]))]
        for row in _first_seed(folder, clip)
    }


def _first_seed(folder: Path, clip: str) -> list[dict[str, Any]]:
    rows = [row for row in summary_rows(folder) if row["clip"] == clip]
    first = min(row["seed"] for row in rows)
    return [row for row in rows if row["seed"] == first]


def figure_clips(clips: Sequence[str]) -> list[str]:
    """A talking head for the paper's Container, and Foreman if it was run."""
    heads = [clip for clip in clips if clip not in COUNTERPART]
    return heads[:1] + [clip for clip in clips if clip in COUNTERPART][:1]


_LOADS = {
    "sending_bps": ("video kbit/s", 1e-3, 0),
    "tcp_sending_bps": ("one TCP flow, kbit/s", 1e-3, 0),
    "packets_per_s": ("video packets/s", 1.0, 1),
    "tcp_packets_per_s": ("one TCP flow, packets/s", 1.0, 1),
    "friendliness_bytes": ("F in bits", 1.0, 2),
    "loss_ratio": ("video loss %", 100.0, 2),
    "coded_psnr_db": ("PSNR coded dB", 1.0, 2),
    "viewed_psnr_db": ("PSNR viewed dB", 1.0, 2),
}


def _behind(calls: Sequence[Call]) -> Section:
    """What stands behind F: rates, packets and loss, by clip and controller."""
    rows = []
    for clip in clips_of(calls):
        for controller in CONTROLLERS:
            own = [call for call in calls if (call.clip, call.controller) == (clip, controller)]
            rows.append((f"{clip}, {controller}", [float(np.mean([getattr(c, name) for c in own])) for name in _LOADS]))
    note = "F in bits shows the effect of packet sizes: video packets are smaller than TCP's."
    return means("Behind the figures", list(_LOADS.values()), rows, note)


def _over_time(figures: dict[str, Any]) -> Section:
    shown = [(f"c{n}", name, "video_bps") for n, name in enumerate(CONTROLLERS)]
    shown += [(kind, name, "tcp_mean_bps") for kind, name in zip(("other", "other dashed"), CONTROLLERS, strict=True)]
    charts = []
    for clip, of_clip in figures.items():
        rates = [
            chart.Line(kind, [(x, y / 1e3) for x, y in of_clip["sending"][name][column]])
            for kind, name, column in shown
        ]
        title = f"Sending rate, kbit/s, {clip} (as Figures 5 and 6; means of {BIN_S:g} s)"
        charts.append((title, chart.draw([chart.Axes(rates)], title, unit=" s")))
        quality = [
            chart.Line(
                f"c{n}", [(at, math.nan if y is None else y) for at, y in enumerate(of_clip["coded_psnr_db"][name])]
            )
            for n, name in enumerate(CONTROLLERS)
        ]
        lowest = min((y for line in quality for _, y in line.points if y == y), default=0.0)
        title = f"Luma PSNR of each frame at the sender, dB, {clip} (as Figures 7 and 8)"
        charts.append((title, chart.draw([chart.Axes(quality, low=10 * (lowest // 10))], title)))
    legend = [(kind, name if column == "video_bps" else f"TCP beside {name}, mean") for kind, name, column in shown]
    return Section("Over time", "The first seed of each.", legend=legend, charts=charts)
