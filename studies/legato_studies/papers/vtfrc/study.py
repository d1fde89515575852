"""Video TFRC (docs/papers/vtfrc.md): its Tables II and III with our clips, five seeds and intervals.

Each claim is judged in two set-ups, as printed and stricter; what the paper leaves open of the first is run in every
combination (:mod:`legato_studies.papers.vtfrc.cells`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from legato.errors import Error
from legato.plan import Choice
from legato.report import chart
from legato.report.pages import Section, counted
from legato.results.query import query, summary_rows, version
from legato.runs.sweep import Progress, check_empty
from legato_studies.papers.reproduction import AS_PRINTED, STRICTER, Paper, Reproduction, means, minus, play
from legato_studies.papers.vtfrc import cells as vtfrc_cells
from legato_studies.papers.vtfrc.calls import CONTROLLERS, TCP_START_S, Call, clips_of, read_calls
from legato_studies.papers.vtfrc.cells import Cell
from legato_studies.papers.vtfrc.rows import COUNTERPART, F_WITHIN, judge, printed_mean

CLIPS = ("qcif-foreman", "qcif-grid-bbaf2n", "qcif-grid-lrwp9a", "qcif-asl-again", "qcif-asl-night", "qcif-asl-sister")
SEEDS = 5
GAIN_WITHIN_DB = 0.5
"""How far a gain may be, where cells are compared."""
BIN_S = 0.5
"""Of the sending rates over time."""

PAPER = Paper(
    "vtfrc",
    "Video TFRC",
    {
        "II": "Table II: TCP-friendliness F, in packets per second",
        "II words": "Section III-B: more aggressive than jm-tfrc, within a factor of two of TCP",
        "III": "Table III: gain in luma PSNR over jm-tfrc",
        "congestion": "Table III, last part, and the abstract: not much more congestion than with jm-tfrc",
        "delivered": "What equation (8) as printed leaves at the sender",
    },
    digits=".2f",
    over="seeds or clips",
)


def reproduce(
    out: str | Path,
    *,
    clips: Sequence[str] = (),
    seeds: int = SEEDS,
    duration_s: float | None = None,
    quick: bool = False,
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
        quick: one clip and one seed.
    """
    if quick:
        clips, seeds = clips or CLIPS[:1], 1
    out = Path(out)
    check_empty(out, resume=resume)
    if duration_s is not None and duration_s <= TCP_START_S + 1.0:
        raise Error(f"duration_s = {duration_s}: the TCP flows begin at {TCP_START_S:g} s, give at least a second more")
    plan = Choice(
        "vtfrc",
        options={} if duration_s is None else {"duration_s": duration_s},
        controllers=CONTROLLERS,
        clips=list(clips) or CLIPS,
        seeds=seeds,
        log="packets",
    ).plan()
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
    cells = [each.document() for each in found]
    sections = [*kept_sections({"cells": cells}), _behind(calls), _over_time(figures)]
    return done.write(
        [introduction],
        sections,
        behind_rows={"cells": cells, "figures": figures},
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
            abs(self.f_ratio - printed_mean(CONTROLLERS[0])) / F_WITHIN,
            abs(self.f_rival_ratio - printed_mean(CONTROLLERS[1])) / F_WITHIN,
            abs(self.sender_db - printed_mean("sender")) / GAIN_WITHIN_DB,
        )

    def document(self) -> dict[str, Any]:
        """As ``reproduction.json`` has it."""
        return asdict(self.cell) | {name: getattr(self, name) for name in _FOUND} | {"off": self.off}


_FOUND = {
    "f_ratio": "F of vtfrc",
    "f_rival_ratio": "F of jm-tfrc",
    "sender_db": "sender gain, dB",
    "receiver_db": "receiver gain, dB",
}


def kept_sections(found: Mapping[str, Any]) -> list[Section]:
    """The parts of ``reproduction.json`` in docs/papers/vtfrc.md other than its rows."""
    return [_cells(found["cells"])] if found.get("cells") else []


def _cells(found: Sequence[Mapping[str, Any]]) -> Section:
    """The set-ups that the paper leaves open, as the file has them; the closest to its figures first."""
    named = {vtfrc_cells.AS_PRINTED: "as printed", vtfrc_cells.STRICTER: "stricter, but for its encoder"}
    rows = []
    for each in sorted(found, key=lambda each: float(each["off"])):
        cell = Cell(**{name: each[name] for name in ("tcp", "length", "bounded", "capped")})
        what = [f"{cell.tcp.upper() if cell.tcp != 'reno' else 'Reno'}, {cell.length}"]
        what += ["at most 1" if cell.bounded else "unbounded", "at most (9)" if cell.capped else "as printed"]
        figures = [minus(f"{each[name]:.2f}") for name in _FOUND]
        rows.append([*what, *figures, f"{each['off']:.1f}", named.get(cell, "")])
    printed = [printed_mean(name) for name in (*CONTROLLERS, "sender", "receiver")]
    rows.insert(0, ["the paper", "", "", *(f"{value:.2f}" for value in printed), "", ""])
    note = (
        "The paper names neither the TCP nor how it reads its equations at their edges. Farthest miss: the distance "
        f"of each figure from the printed one, divided by the allowed distance ({F_WITHIN:g} of F, {GAIN_WITHIN_DB:g} "
        "dB of gain). It is the largest of the three, for both F and the sender's gain. At 1.0 or less all three would "
        "be reproduced."
    )
    head = ["TCP, length", "C(k)", "eq. (8)", *_FOUND.values(), "farthest miss", ""]
    return Section(f"The {len(found)} set-ups, the closest to the printed figures first", note, columns=head, rows=rows)


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
    """The figures behind F: rates, packets and loss, by clip and controller."""
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
