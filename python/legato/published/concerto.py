"""Concerto (docs/papers/concerto.md): its Fig. 19 to 21 and Tables 3 and 4 on recorded 3G, 4G and Wi-Fi links.

Nothing of the test is seen in training: files of traces and clips are others (:mod:`legato.access_networks`), and the
shipped policies were chosen by windows of training files. Five seeds a call: they move where in the clip it begins.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .. import access_networks
from .. import plan as plans
from ..errors import Error
from ..eval.stats import Estimate, mean_intervals, resampling_weights
from ..sweep import Progress, summary_rows, sweep
from .trainings import OnTraining

FORMAT = 1
SEEDS = 5
SMOOTH_ENCODER_MS = 1000
"""The VBV of WebRTC's encoder: it follows its target in about a second, as the paper measures."""
PROMPT_ENCODER_MS = 66
"""That of the paper's Salsify, whose codec obeys each new estimate: two frames."""

WEBRTC, SALSIFY, BEST_OF_TWO, RL_V, CONCERTO, ORACLE = (
    "webrtc", "salsify as described", "salsify", "rl-v", "concerto", "oracle"
)  # fmt: skip
RIVALS = (WEBRTC, SALSIFY, RL_V)
"""Whom the paper compares with; its Salsify is WebRTC's estimate with a codec that obeys at once."""
SCHEMES = (*RIVALS, BEST_OF_TWO, CONCERTO, ORACLE)

PUBLISHED_GAP = {"3G": 0.238, "4G": 0.249, "Wi-Fi": 0.343}
"""[concerto] section 5.2: how far the closest rival stays behind, of both scores."""
PUBLISHED_THROUGHPUT = {WEBRTC: 0.549, SALSIFY: 0.539, RL_V: 0.373}
PUBLISHED_SMOOTHNESS = {"with": 0.116, "without": 0.136}
# [concerto] Table 3, QoE_p over that of the whole.
PUBLISHED_TABLE_3 = {"2-state": 0.82, "loss 1": 0.87, "loss 2": 0.85, "loss 3": 0.82}
# [concerto] Table 4. Its text has the columns as what was trained on.
PUBLISHED_TABLE_4 = {
    ("4G", "3G"): 0.84, ("Wi-Fi", "3G"): 0.91, ("3G", "4G"): 0.94, ("Wi-Fi", "4G"): 0.99, ("3G", "Wi-Fi"): 0.82,
    ("4G", "Wi-Fi"): 0.81,
}  # fmt: skip

# [concerto] Table 2: the constants of eq. (8), which no controller can change.
CONSTANT = {"qoe_p": 3.30, "qoe_d": 2.67}

Word = Literal["met", "not met", "not comparable"]


@dataclass(frozen=True)
class Row:
    """A figure as printed, ours with its interval, and what that comes to."""

    table: str
    name: str
    published: float | None
    mean: float | None
    low: float | None
    high: float | None
    verdict: Word
    why: str


@dataclass(frozen=True)
class Call:
    """What is compared of one call."""

    scheme: str
    access: str
    network: str
    """Of the trace, with the window's beginning."""
    clip: str
    seed: int
    qoe_p: float
    qoe_d: float
    ssim_db: float
    frame_delay_ms: float
    throughput_bps: float
    smoothness_mbps: float
    """Mean step of the target from one second to the next, eta of [concerto] section 5.3."""
    stall_ratio: float

    @property
    def condition(self) -> tuple[str, str]:
        """Calls of one network and clip are not independent: intervals resample these."""
        return (self.network, self.clip)


@dataclass(frozen=True)
class Reproduction:
    """Rows of every figure and the calls behind them."""

    folder: Path
    rows: tuple[Row, ...]
    calls: tuple[Call, ...]
    version: str
    seeds: int
    trainings_s: float | None
    """What the trainings of Tables 3 and 4 took; ``None``: there were none."""


def reproduce(
    out: str | Path,
    *,
    seeds: int = SEEDS,
    quick: bool = False,
    trainings: bool = True,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_training: OnTraining | None = None,
) -> Reproduction:
    """Make the calls of Fig. 19 to 21, train and test the variants of Tables 3 and 4, judge.

    Args:
        out: the folder; calls go to ``out/runs``, trainings to ``out/trainings``.
        seeds: of the calls of Fig. 19 to 21; variants get one.
        quick: three windows of each kind of access, one clip and one seed, and no trainings.
        trainings: train and test the variants of Tables 3 and 4; ``quick`` does not.
        resume: go on with what is there.
        on_training: called before each training.
    """
    out = Path(out)
    if out.is_dir() and any(out.iterdir()) and not resume:
        raise Error(
            f"{out}: is there and not empty", hint="give --resume to go on with it, or another folder with --out"
        )
    play = _Player(out / "runs", threads, quick, on_progress)
    seeds = 1 if quick else seeds
    calls = []
    for access in access_networks.ACCESSES:
        calls += play.calls(f"{access}-encoder-1s", access, _SLOW_ENCODER, seeds)
        calls += play.calls(f"{access}-encoder-prompt", access, _PROMPT_ENCODER, seeds, PROMPT_ENCODER_MS)
    rows = judge(calls)
    trainings_s = None
    if trainings and not quick:
        from . import concerto_variants

        made = concerto_variants.train_all(out / "trainings", on_training)
        trainings_s = made.wall_s
        variants = [
            call
            for access in access_networks.ACCESSES
            for call in play.calls(f"{access}-variants", access, made.specs, 1)
        ]
        rows += judge_variants(variants)
    done = Reproduction(out, tuple(rows), tuple(calls), play.version(), seeds, trainings_s)
    write_json(done)
    return done


_SLOW_ENCODER = (
    f"gcc@label={WEBRTC}",
    f"salsify@label={BEST_OF_TWO}",
    RL_V,
    CONCERTO,
    "oracle@horizon_ms=1000,label=oracle",
)
_PROMPT_ENCODER = (f"gcc@label={SALSIFY}",)


class _Player:
    """Makes the calls of one kind of access with several schemes."""

    def __init__(self, folder: Path, threads: int, quick: bool, on_progress: Callable[[Progress], None] | None) -> None:
        self.folder, self.threads, self.quick, self.on_progress = folder, threads, quick, on_progress

    def calls(
        self, name: str, access: str, schemes: Sequence[str], seeds: int, vbv_ms: int = SMOOTH_ENCODER_MS
    ) -> list[Call]:
        windows = access_networks.windows(access, "test")
        clips = access_networks.TEST_CLIPS
        if self.quick:
            windows, clips = access_networks.of_all([access], "test", 3), clips[:1]
        made = plans.make(
            "mobile",
            options={"video.vbv_ms": vbv_ms},
            controller_specs=schemes,
            trace_specs=windows,
            clip_specs=clips,
            seed_spec=seeds,
            log="summary",
        )
        run = sweep(
            made,
            self.folder / name,
            threads=self.threads,
            resume=(self.folder / name).exists(),
            on_progress=self.on_progress,
        )
        return read_calls(run.folder, access, windows)

    def version(self) -> str:
        manifest = json.loads(next(self.folder.glob("*/manifest.json")).read_text(encoding="utf-8"))
        return f"{manifest['legato']} ({manifest['commit'][:12]})"


def read_calls(folder: Path, access: str, windows: Sequence[str]) -> list[Call]:
    """The figures of every call of a run folder. One in which no picture was shown has no score and is left out."""
    rows = summary_rows(folder)
    schemes = {row["controller"] for row in rows}
    a_scheme, a_window = len(rows) // len(schemes), len(rows) // len(schemes) // len(windows)
    calls = []
    for row in rows:
        if row["qoe_p"] is None:
            continue
        window = windows[row["call"] % a_scheme // a_window]
        target_mbps = row["target_bitrate_mean_bps"] / 1e6
        calls.append(
            Call(
                scheme=row["controller"],
                access=access,
                network=Path(window).name,
                clip=row["clip"],
                seed=row["seed"],
                qoe_p=row["qoe_p"],
                qoe_d=row["qoe_d"],
                ssim_db=row["ssim_db_mean"],
                frame_delay_ms=row["frame_delay_mean_ms"],
                throughput_bps=row["goodput_bps"],
                smoothness_mbps=(row["target_bitrate_change_ratio"] or 0.0) * target_mbps,
                stall_ratio=row["stall_ratio"] or 0.0,
            )
        )
    return calls


# --- verdicts -----------------------------------------------------------------------------------------------------


def judge(calls: Sequence[Call]) -> list[Row]:
    """Fig. 19 to 21."""
    rows = []
    for access in access_networks.ACCESSES:
        here = [call for call in calls if call.access == access]
        for figure in ("qoe_p", "qoe_d"):
            rows += _scores(here, access, figure)
    for rival, printed in PUBLISHED_THROUGHPUT.items():
        gain = ratio(calls, "throughput_bps", CONCERTO, rival, less_one=True)
        rows.append(_at_least("Fig. 20", f"throughput over {rival}", printed, gain))
    for rival in RIVALS:
        more = ratio(calls, "frame_delay_ms", CONCERTO, rival, less_one=True)
        word: Word = "met" if more.low is not None and more.low <= 0.10 else "not met"
        rows.append(_row("Fig. 21", f"frame delay over {rival}", 0.0, more, word, "'negligible increase': 10 %"))
    printed = PUBLISHED_SMOOTHNESS["with"]
    step = mean(calls, "smoothness_mbps", CONCERTO)
    why = "other networks: what is comparable is with against without (Table 3 and smoothness)"
    rows.append(_row("5.3", "mean step of the target (Mbit/s)", printed, step, "not comparable", why))
    return rows


def _scores(calls: Sequence[Call], access: str, figure: str) -> list[Row]:
    """The closest of the paper's rivals, how far behind it is in each reading of "normalized", and who is ahead."""
    by_scheme = {scheme: mean(calls, figure, scheme) for scheme in SCHEMES}
    ranked = sorted(RIVALS, key=lambda scheme: -(by_scheme[scheme].mean or 0.0))
    closest, name = ranked[0], f"{figure}, {access}"
    rows = [
        _row("Fig. 19", f"{name}: {scheme}", None, by_scheme[scheme], "not comparable", "the score itself, eq. (8)")
        for scheme in SCHEMES
    ]
    ahead = ratio(calls, figure, CONCERTO, closest, less_one=True)
    in_front: Word = "met" if ahead.low is not None and ahead.low > 0.0 else "not met"
    rows.append(_row("Fig. 19", f"{name}: ahead of {closest}, raw", None, ahead, in_front, "the order: met above 0"))
    printed = PUBLISHED_GAP[access]
    moved = gap(calls, figure, closest, CONSTANT[figure])
    rows.append(_at_least("Fig. 19", f"{name}: gap of {closest}, without the constant", printed, moved))
    over_best = ratio(calls, figure, CONCERTO, BEST_OF_TWO, less_one=True)
    word: Word = "met" if over_best.low is not None and over_best.low > 0.0 else "not met"
    why = "Salsify as its authors built it; the paper's took WebRTC's estimate"
    rows.append(_row("Fig. 19", f"{name}: ahead of {BEST_OF_TWO}, raw", None, over_best, word, why))
    # What is left to gain: an oracle is a rival that no one can be this far ahead of.
    ceiling = gap(calls, figure, closest, CONSTANT[figure], best=ORACLE)
    why = f"what an oracle leaves {closest}: the most that any controller could show here"
    rows.append(_row("Fig. 19", f"{name}: gap of {closest} to the oracle", None, ceiling, "not comparable", why))
    return rows


def judge_variants(calls: Sequence[Call]) -> list[Row]:
    """Table 3, smoothness and Table 4, of variants that were all trained alike."""
    rows = []
    for name, printed in PUBLISHED_TABLE_3.items():
        ours = ratio(calls, "qoe_p", name, "whole", base_qoe=CONSTANT["qoe_p"])
        word: Word = "met" if ours.high is not None and ours.high < 1.0 else "not met"
        rows.append(_row("Table 3", f"{name} over 4-state, loss 4", printed, ours, word, "the order: met below 1"))
    with_it, without = (mean(calls, "smoothness_mbps", scheme) for scheme in ("whole", "not smooth"))
    word = "met" if (with_it.mean or 0.0) < (without.mean or 0.0) else "not met"
    less = ratio(calls, "smoothness_mbps", "whole", "not smooth")
    rows.append(_row("5.3", "mean step with the regulariser (Mbit/s)", 0.116, with_it, "not comparable", "networks"))
    rows.append(_row("5.3", "mean step without it (Mbit/s)", 0.136, without, "not comparable", "networks"))
    word = "met" if less.high is not None and less.high < 1.0 else "not met"
    rows.append(_row("5.3", "with over without", 0.116 / 0.136, less, word, "the order: met below 1"))
    for (trained, tested), printed in PUBLISHED_TABLE_4.items():
        here = [call for call in calls if call.access == tested]
        ours = ratio(here, "qoe_p", f"only {trained}", f"only {tested}", base_qoe=CONSTANT["qoe_p"])
        word = "met" if ours.high is not None and ours.high < 1.0 else "not met"
        name = f"trained on {trained}, tested on {tested}"
        rows.append(_row("Table 4", name, printed, ours, word, "over trained on the same; the order: met below 1"))
    return rows


def mean(calls: Iterable[Call], figure: str, scheme: str) -> Estimate:
    """The mean of a figure, with an interval over conditions."""
    values = _by_condition(calls, figure, scheme)
    return _ratio([(sum(v), float(len(v))) for v in values.values()])


def ratio(
    calls: Sequence[Call],
    figure: str,
    above: str,
    below: str,
    *,
    base_qoe: float = 0.0,
    less_one: bool = False,
) -> Estimate:
    """One scheme's mean over another's, over the conditions both have; an interval over conditions.

    ``base_qoe`` is taken off the figure first, ``less_one`` gives the gain.
    """
    first, second = (_by_condition(calls, figure, scheme) for scheme in (above, below))
    pairs = [
        (float(np.mean(first[key])) - base_qoe, float(np.mean(second[key])) - base_qoe)
        for key in first
        if key in second
    ]
    return _scaled(_ratio(pairs), 1.0, -1.0) if less_one else _ratio(pairs)


def gap(calls: Sequence[Call], figure: str, rival: str, base_qoe: float, best: str = CONCERTO) -> Estimate:
    """How much of the best one's score, without its constant, a rival lacks."""
    return _scaled(ratio(calls, figure, rival, best, base_qoe=base_qoe), -1.0, 1.0)


def _scaled(estimate: Estimate, factor: float, offset: float) -> Estimate:
    """``factor * x + offset``."""
    if estimate.mean is None:
        return estimate
    ends = [None if end is None else factor * end + offset for end in (estimate.low, estimate.high)]
    low, high = ends if factor > 0 else ends[::-1]
    return Estimate(factor * estimate.mean + offset, low, high, estimate.count)


def _by_condition(calls: Iterable[Call], figure: str, scheme: str) -> dict[tuple[str, str], list[float]]:
    values: dict[tuple[str, str], list[float]] = {}
    for call in calls:
        if call.scheme == scheme:
            values.setdefault((f"{call.access} {call.network}", call.clip), []).append(getattr(call, figure))
    return values


def _ratio(pairs: Sequence[tuple[float, float]]) -> Estimate:
    if not pairs:
        return Estimate(None, None, None, 0)
    table = np.array(pairs)
    return mean_intervals(table[:, :1], table[:, 1:], resampling_weights(len(pairs)))[0]


def _at_least(table: str, name: str, printed: float, ours: Estimate) -> Row:
    high = ours.high if ours.high is not None else ours.mean
    word: Word = "met" if high is not None and high >= printed else "not met"
    return _row(table, name, printed, ours, word, "met where the printed figure is within our interval or below it")


def _row(table: str, name: str, printed: float | None, ours: Estimate, verdict: Word, why: str) -> Row:
    return Row(table, name, printed, ours.mean, ours.low, ours.high, verdict, why)


def write_json(done: Reproduction) -> Path:
    """``reproduction.json``: every row and call, for scripts."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "paper": "concerto",
        "version": done.version,
        "seeds": done.seeds,
        "trainings_s": done.trainings_s,
        "rows": [asdict(row) for row in done.rows],
        "calls": [asdict(call) for call in done.calls],
    }
    path = done.folder / "reproduction.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)
    return path
