"""Video TFRC (docs/papers/vtfrc.md): its Tables II and III with our clips, five seeds and intervals."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .. import plan as plans
from ..errors import Error, RunFolderError
from ..eval.stats import Estimate, mean_intervals, resampling_weights
from ..sweep import Progress, summary_rows, sweep

FORMAT = 1
CONTROLLERS = ("vtfrc", "jm-tfrc")
CLIPS = ("qcif-foreman", "qcif-grid-bbaf2n", "qcif-grid-lrwp9a", "qcif-asl-again", "qcif-asl-night", "qcif-asl-sister")
SEEDS = 5
TCP_START_S = 5.0
"""The TCP flows begin then, and from then on rates are compared."""
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

Word = Literal["met", "not met", "not comparable"]


@dataclass(frozen=True)
class Row:
    """A figure as printed, ours with its interval, and what that comes to."""

    table: str
    name: str
    published: float | None
    mean: float
    low: float | None
    high: float | None
    verdict: Word
    why: str


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
        """The same in bits: what packet sizes do to F."""
        return self.sending_bps / self.tcp_sending_bps


@dataclass(frozen=True)
class Reproduction:
    """Rows of both tables, the calls behind them, and where they lie."""

    folder: Path
    rows: tuple[Row, ...]
    calls: tuple[Call, ...]
    version: str

    @property
    def clips(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(call.clip for call in self.calls))

    @property
    def seeds(self) -> int:
        return len({call.seed for call in self.calls})


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
    """Run the paper's testbed with both controllers, and write ``reproduction.json`` beside the run folder.

    Args:
        out: the folder; calls go to ``out/run``.
        clips: profiles or shipped names; none: the six of small pictures that come with Legato.
        seeds: how many.
        duration_s: length of a call, instead of the scenario's.
    """
    out = Path(out)
    if out.is_dir() and any(out.iterdir()) and not resume:
        raise Error(
            f"{out}: is there and not empty", hint="give --resume to go on with it, or another folder with --out"
        )
    if duration_s is not None and duration_s <= TCP_START_S + 1.0:
        raise Error(f"duration_s = {duration_s}: the TCP flows begin at {TCP_START_S:g} s, give at least a second more")
    made = plans.make(
        "vtfrc",
        options={} if duration_s is None else {"duration_s": duration_s},
        controller_specs=CONTROLLERS,
        clip_specs=list(clips) or CLIPS,
        seed_spec=seeds,
        log="series",
    )
    run = sweep(made, out / "run", threads=threads, resume=resume, on_progress=on_progress)
    calls = read_calls(run.folder)
    manifest = json.loads((run.folder / "manifest.json").read_text(encoding="utf-8"))
    version = f"{manifest['legato']} ({manifest['commit'][:12]})"
    done = Reproduction(out, tuple(judge(calls)), tuple(calls), version)
    write_json(done)
    return done


def read_calls(folder: Path) -> list[Call]:
    """The figures of every call of a run folder."""
    import duckdb

    traffic = sorted(str(part) for part in (folder / "traffic").glob("*.parquet"))
    frames = sorted(str(part) for part in (folder / "frames").glob("*.parquet"))
    series = sorted(str(part) for part in (folder / "series").glob("*.parquet"))
    if not (traffic and frames and series):
        raise RunFolderError(f"{folder}: holds no TCP flows, frames or time series of a finished part")
    start_ms = TCP_START_S * 1e3
    tcp = {
        session: (packets, bps)
        for session, packets, bps in duckdb.sql(
            "select session, avg(packets_sent / (stop_s - start_s)), avg(sending_rate_bps) "
            f"from read_parquet({traffic}) where kind like 'tcp-%' group by session"
        ).fetchall()
    }
    packets = dict(
        duckdb.sql(
            f"select call, sum(packets) from read_parquet({frames}) where captured_ms >= {start_ms} group by call"
        ).fetchall()
    )
    rates = dict(
        duckdb.sql(
            f"select call, avg(sending_rate_bps) from read_parquet({series}) where time_ms >= {start_ms} group by call"
        ).fetchall()
    )
    found = []
    for row in summary_rows(folder):
        tcp_packets, tcp_bps = tcp[row["session"]]
        found.append(
            Call(
                controller=row["controller"],
                clip=row["clip"],
                seed=row["seed"],
                packets_per_s=float(packets[row["call"]]) / (row["duration_s"] - TCP_START_S),
                tcp_packets_per_s=float(tcp_packets),
                sending_bps=float(rates[row["call"]]),
                tcp_sending_bps=float(tcp_bps),
                coded_psnr_db=row["coded_psnr_db_mean"],
                viewed_psnr_db=row["viewed_psnr_db_mean"],
                loss_ratio=row["loss_ratio"] or 0.0,
            )
        )
    return found


def judge(calls: Sequence[Call]) -> list[Row]:
    """Every row of both tables."""
    clips = list(dict.fromkeys(call.clip for call in calls))
    rows = []
    for controller in CONTROLLERS:
        own = [call for call in calls if call.controller == controller]
        for clip in clips:
            ours = _mean([[call.friendliness for call in own if call.clip == clip]])
            rows.append(_friendliness_row(controller, clip, ours))
        over_clips = _mean([[call.friendliness for call in own if call.clip == clip] for clip in clips])
        printed = float(np.mean([sequence[controller] for sequence in PUBLISHED.values()]))
        why = "the mean of other clips: what is comparable is the band and the order below"
        rows.append(_row("II", f"F of {controller}, mean", printed, over_clips, "not comparable", why))
    rows.append(_closer_to_one(calls, clips))
    for end, column in (("sender", "coded_psnr_db"), ("receiver", "viewed_psnr_db")):
        gains = [_gains(calls, clip, column) for clip in clips]
        rows += [_gain_row(end, clip, _mean([gain])) for clip, gain in zip(clips, gains, strict=True)]
        printed = float(np.mean([sequence[end] for sequence in PUBLISHED.values()]))
        ours = _mean(gains)
        rows.append(_row("III", f"{end}-end gain, mean (dB)", printed, ours, *_reaches(printed, ours)))
    return rows


def _friendliness_row(controller: str, clip: str, ours: Estimate) -> Row:
    name = f"F of {controller}, {clip}"
    printed = PUBLISHED[COUNTERPART[clip]][controller] if clip in COUNTERPART else None
    if controller == "jm-tfrc":
        return _row("II", name, printed, ours, "not comparable", "the paper claims nothing of it but the order")
    fair = ours.mean is not None and 0.5 <= ours.mean <= 2.0
    why = "RFC 3448's band of a factor of two, which the paper claims"
    return _row("II", name, printed, ours, "met" if fair else "not met", why)


def _closer_to_one(calls: Sequence[Call], clips: Sequence[str]) -> Row:
    """How much closer to 1 Video TFRC's F is, on average over the clips."""

    def distances(controller: str) -> dict[tuple[str, int], float]:
        return {(c.clip, c.seed): abs(c.friendliness - 1.0) for c in calls if c.controller == controller}

    video, plain = (distances(controller) for controller in CONTROLLERS)
    closer = _mean([[plain[key] - video[key] for key in video if key[0] == clip] for clip in clips])
    printed = float(np.mean([abs(s["jm-tfrc"] - 1) - abs(s["vtfrc"] - 1) for s in PUBLISHED.values()]))
    word: Word = "met" if (closer.low if closer.low is not None else closer.mean or 0.0) > 0.0 else "not met"
    return _row("II", "F closer to 1 than jm-tfrc's by", printed, closer, word, "met where the interval is above 0")


def _gain_row(end: str, clip: str, ours: Estimate) -> Row:
    name = f"{end}-end gain, {clip} (dB)"
    if clip not in COUNTERPART:
        return _row("III", name, None, ours, "not comparable", "the paper did not use this clip")
    printed = PUBLISHED[COUNTERPART[clip]][end]
    return _row("III", name, printed, ours, *_reaches(printed, ours))


def _reaches(printed: float, ours: Estimate) -> tuple[Word, str]:
    high = ours.high if ours.high is not None else ours.mean
    reached = high is not None and high >= printed
    return ("met" if reached else "not met"), "met where the printed gain is within our interval or below it"


def _gains(calls: Sequence[Call], clip: str, column: str) -> list[float]:
    def of(controller: str) -> dict[int, float]:
        return {c.seed: getattr(c, column) for c in calls if c.controller == controller and c.clip == clip}

    video, plain = (of(controller) for controller in CONTROLLERS)
    return [video[seed] - plain[seed] for seed in video]


def _mean(groups: Sequence[Sequence[float]]) -> Estimate:
    """Mean with a bootstrap interval: over clips where there are several, else over the seeds of the one."""
    values = [list(group) for group in groups] if len(groups) > 1 else [[value] for value in groups[0]]
    totals = np.array([[sum(group)] for group in values])
    counts = np.array([[float(len(group))] for group in values])
    return mean_intervals(totals, counts, resampling_weights(len(values)))[0]


def _row(table: str, name: str, printed: float | None, ours: Estimate, verdict: Word, why: str) -> Row:
    mean = float("nan") if ours.mean is None else ours.mean
    return Row(table, name, printed, mean, ours.low, ours.high, verdict, why)


def sending_over_time(folder: Path, clip: str) -> dict[str, Any]:
    """Figures 5 and 6: sending rates of the first seed, video and mean of the TCP flows, by controller."""
    import duckdb

    parts = {name: sorted(str(p) for p in (folder / name).glob("*.parquet")) for name in ("series", "traffic_series")}
    made: dict[str, Any] = {}
    for row in _first_seed(folder, clip):
        binned = f"floor(time_ms / {BIN_S * 1e3})"
        video = duckdb.sql(
            f"select {binned} b, avg(sending_rate_bps) from read_parquet({parts['series']}) "
            f"where call = {row['call']} group by b order by b"
        ).fetchall()
        shifted = f"floor((time_ms + {TCP_START_S * 1e3}) / {BIN_S * 1e3})"
        tcp = duckdb.sql(
            f"select {shifted} b, avg(sending_rate_bps) from read_parquet({parts['traffic_series']}) "
            f"where session = {row['session']} group by b order by b"
        ).fetchall()
        made[row["controller"]] = {
            "video_bps": [[b * BIN_S, round(bps)] for b, bps in video],
            "tcp_mean_bps": [[b * BIN_S, round(bps)] for b, bps in tcp],
        }
    return made


def psnr_over_frames(folder: Path, clip: str) -> dict[str, list[float | None]]:
    """Figures 7 and 8: luma PSNR of each frame at the sender, of the first seed, by controller."""
    import duckdb

    frames = sorted(str(part) for part in (folder / "frames").glob("*.parquet"))
    return {
        row["controller"]: [
            None if value is None else round(value, 2)
            for (value,) in duckdb.sql(
                f"select coded_psnr_db from read_parquet({frames}) where call = {row['call']} order by frame"
            ).fetchall()
        ]
        for row in _first_seed(folder, clip)
    }


def _first_seed(folder: Path, clip: str) -> list[dict[str, Any]]:
    rows = [row for row in summary_rows(folder) if row["clip"] == clip]
    least = min(row["seed"] for row in rows)
    return [row for row in rows if row["seed"] == least]


def figure_clips(clips: Sequence[str]) -> list[str]:
    """A talking head for the paper's Container, and Foreman where it is there."""
    heads = [clip for clip in clips if clip not in COUNTERPART]
    return heads[:1] + [clip for clip in clips if clip in COUNTERPART][:1]


def write_json(done: Reproduction) -> Path:
    """``reproduction.json``: every row, call and curve, for scripts."""
    document = {
        "format": FORMAT,
        "paper": "vtfrc",
        "version": done.version,
        "rows": [asdict(row) for row in done.rows],
        "calls": [asdict(call) for call in done.calls],
        "figures": {
            clip: {
                "sending": sending_over_time(done.folder / "run", clip),
                "coded_psnr_db": psnr_over_frames(done.folder / "run", clip),
            }
            for clip in figure_clips(done.clips)
        },
    }
    path = done.folder / "reproduction.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)
    return path
