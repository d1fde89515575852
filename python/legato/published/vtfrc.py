"""Video TFRC (docs/papers/vtfrc.md): its Tables II and III with our clips, five seeds and intervals.

Each claim is judged in two set-ups, as printed and stricter; what the paper leaves open of the first is run in every
combination (:mod:`legato.published.vtfrc_cells`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from legato import chart
from legato import plan as plans
from legato.errors import Error
from legato.eval.stats import Estimate, grouped_mean
from legato.pages import Section, counted
from legato.published import vtfrc_cells
from legato.published.reproduction import (
    AS_PRINTED,
    STRICTER,
    Paper,
    Reproduction,
    Row,
    means,
    minus,
    pairs,
    play,
)
from legato.published.verdict import Lead, Value
from legato.published.vtfrc_cells import Cell
from legato.sweep import Progress, check_empty, query, summary_rows, version

CONTROLLERS = ("vtfrc", "jm-tfrc")
CLIPS = ("qcif-foreman", "qcif-grid-bbaf2n", "qcif-grid-lrwp9a", "qcif-asl-again", "qcif-asl-night", "qcif-asl-sister")
SEEDS = 5
TCP_START_S = 5.0
"""When the TCP flows begin; rates are compared from then on."""
F_WITHIN = 0.1
"""How far F may be from the printed one."""
GAIN_WITHIN_DB = 0.5
"""How far a gain may be, where cells are compared."""
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
    shown_psnr_db: float
    """Of the frames that arrived, however late: the paper compares decoded files, without a deadline."""

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
    select call, count(*)::double as packets from packets where sent_ns >= {TCP_START_S * 1e9} group by call
), rates as (
    select call, avg(sending_rate_bps) as bps from series where time_ms >= {TCP_START_S * 1e3} group by call
)
select controller, clip, seed, video.packets / (duration_s - {TCP_START_S}) as packets_per_s,
    tcp.packets_per_s as tcp_packets_per_s, rates.bps as sending_bps, tcp.bps as tcp_sending_bps,
    coded_psnr_db_mean as coded_psnr_db, viewed_psnr_db_mean as viewed_psnr_db, coalesce(loss_ratio, 0) as loss_ratio,
    psnr_db_mean as shown_psnr_db
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
        out: the folder; calls go to ``out/run``, those of the set-ups that the paper leaves open to ``out/cells``.
        clips: profiles or shipped names; none: the six with small pictures that come with Legato. With these, or a
            duration, the stricter set-up is run alone.
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
        log="packets",
    )
    every = [] if clips or duration_s is not None else vtfrc_cells.cells()
    of_cell = {cell: {f"cells/{name}": made for name, made in cell.plans(seeds).items()} for cell in every}
    todo = {"run": plan} | {name: made for of_one in of_cell.values() for name, made in of_one.items()}
    runs = play(todo, out, threads=threads, on_progress=on_progress)
    run, calls = runs["run"], read_calls(runs["run"])
    tried = {cell: [call for name in of_one for call in read_calls(runs[name])] for cell, of_one in of_cell.items()}
    rows = judge(calls, STRICTER if tried else None)
    if tried:
        rows += judge(tried[vtfrc_cells.AS_PRINTED], AS_PRINTED)
    done = Reproduction(PAPER, out, version(run), tuple(rows), tuple(calls))
    found = [Found.of(cell, of_one) for cell, of_one in tried.items()]
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
    sections = [*([_cells(found)] if found else []), _behind(calls), _over_time(figures)]
    return done.write(
        [introduction],
        sections,
        behind_rows={"cells": [each.document() for each in found], "figures": figures},
    )


@dataclass(frozen=True)
class Found:
    """The figures of a cell that are held against the printed ones: means over its sequences."""

    cell: Cell
    f_ratio: float
    f_rival_ratio: float
    sender_db: float
    receiver_db: float

    @classmethod
    def of(cls, cell: Cell, calls: Sequence[Call]) -> Found:
        """Of its calls."""
        by_name = {row.name: row.mean for row in judge(calls, None if cell.capped else AS_PRINTED)}
        figures = (f"F of {CONTROLLERS[0]}, mean", f"F of {CONTROLLERS[1]}, mean")
        gains = ("sender-end gain, mean (dB)", "receiver-end gain, mean (dB)")
        return cls(cell, *(by_name[name] or math.nan for name in (*figures, *gains)))

    @property
    def off(self) -> float:
        """How far the farthest of both F and the sender-end gain is from its printed one; 1 is as far as it may be."""
        return max(
            abs(self.f_ratio - _printed_mean(CONTROLLERS[0])) / F_WITHIN,
            abs(self.f_rival_ratio - _printed_mean(CONTROLLERS[1])) / F_WITHIN,
            abs(self.sender_db - _printed_mean("sender")) / GAIN_WITHIN_DB,
        )

    def document(self) -> dict[str, Any]:
        """As ``reproduction.json`` has it."""
        return asdict(self.cell) | {name: getattr(self, name) for name in _FOUND} | {"off": self.off}


_FOUND = {
    "f_ratio": "F of vtfrc",
    "f_rival_ratio": "F of jm-tfrc",
    "sender_db": "sender gain dB",
    "receiver_db": "receiver gain dB",
}


def _cells(found: Sequence[Found]) -> Section:
    """The set-ups that the paper leaves open, the closest to its figures first."""
    closest = sorted(found, key=lambda each: each.off)
    rows = []
    for each in closest:
        cell = each.cell
        what = [cell.tcp, cell.length, "at most 1" if cell.bounded else "–", "≤ (9)" if cell.capped else "as printed"]
        figures = [minus(f"{getattr(each, name):.2f}") for name in _FOUND]
        named = {vtfrc_cells.AS_PRINTED: "as printed", vtfrc_cells.STRICTER: "stricter, but for its encoder"}
        note = named.get(cell, "")
        rows.append([" ".join([what[0], what[1]]), *what[2:], *figures, f"{each.off:.1f}", note])
    printed = [_printed_mean(name) for name in (*CONTROLLERS, "sender", "receiver")]
    rows.insert(0, ["the paper", "", "", *(f"{value:.2f}" for value in printed), "", ""])
    note = (
        "The paper names neither the TCP nor how it reads its equations at their edges. Off: how far the farthest of "
        f"both F and the sender's gain is from the printed one, in units of what is near ({F_WITHIN:g}, "
        f"{GAIN_WITHIN_DB:g} dB); below 1 all three come out."
    )
    head = ["TCP, length", "C(k)", "eq. (8)", *_FOUND.values(), "off", ""]
    return Section(f"The {len(found)} set-ups", note, columns=head, rows=rows)


def clips_of(calls: Sequence[Call]) -> tuple[str, ...]:
    """The clips of calls, each once."""
    return tuple(dict.fromkeys(call.clip for call in calls))


def read_calls(folder: Path) -> list[Call]:
    """The figures of every call of a run folder."""
    return [Call(**row) for row in query(folder, _CALLS)]


def judge(calls: Sequence[Call], setup: str | None = None) -> list[Row]:
    """Every row of both tables, of calls in one of the set-ups."""
    return [replace(row, setup=setup) for row in _rows(calls, "shown" if setup == AS_PRINTED else "viewed")]


def _rows(calls: Sequence[Call], received: str) -> list[Row]:
    clips = clips_of(calls)
    rows = []
    for controller in CONTROLLERS:
        own = [(call.clip, call.friendliness) for call in calls if call.controller == controller]
        rows += [_friendliness_row(controller, clip, _mean([f for f in own if f[0] == clip])) for clip in clips]
        name, printed = f"F of {controller}, mean", _printed_mean(controller)
        rows.append(Row.judged("II", name, printed, _mean(own), Value(printed, F_WITHIN)))
    both = pairs(calls, *CONTROLLERS, lambda call: (call.clip, call.seed))
    rows.append(_closer_to_one(both))
    for end, column in (("sender", "coded_psnr_db"), ("receiver", f"{received}_psnr_db")):
        gains = [(video.clip, getattr(video, column) - getattr(plain, column)) for video, plain in both]
        rows += [_gain_row(end, clip, _mean([gain for gain in gains if gain[0] == clip])) for clip in clips]
        printed = _printed_mean(end)
        rows.append(Row.judged("III", f"{end}-end gain, mean (dB)", printed, _mean(gains), Lead(printed)))
    return rows


def _printed_mean(column: str) -> float:
    return float(np.mean([sequence[column] for sequence in PUBLISHED.values()]))


def _friendliness_row(controller: str, clip: str, ours: Estimate) -> Row:
    name = f"F of {controller}, {clip}"
    printed = PUBLISHED[COUNTERPART[clip]][controller] if clip in COUNTERPART else None
    if printed is None:
        return Row.of("II", name, printed, ours, "not comparable", "the paper did not use this clip")
    return Row.judged("II", name, printed, ours, Value(printed, F_WITHIN))


def _closer_to_one(both: Sequence[tuple[Call, Call]]) -> Row:
    """How much closer to 1 Video TFRC's F is, on average over the clips."""
    closer = _mean([(v.clip, abs(p.friendliness - 1.0) - abs(v.friendliness - 1.0)) for v, p in both])
    printed = float(np.mean([abs(s["jm-tfrc"] - 1) - abs(s["vtfrc"] - 1) for s in PUBLISHED.values()]))
    return Row.judged("II", "F closer to 1 than jm-tfrc's by", printed, closer, Lead(printed))


def _gain_row(end: str, clip: str, ours: Estimate) -> Row:
    name = f"{end}-end gain, {clip} (dB)"
    if clip not in COUNTERPART:
        return Row.of("III", name, None, ours, "not comparable", "the paper did not use this clip")
    printed = PUBLISHED[COUNTERPART[clip]][end]
    return Row.judged("III", name, printed, ours, Lead(printed))


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
