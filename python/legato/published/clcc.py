"""CLCC (docs/papers/clcc.md): its Figures 3 to 7 against GCC, on random networks and on LTE.

The random networks are Table III's, 100 a repeat, from seeds that training never draws from; the LTE traces are a
family the policy never saw, and a repeat is another stretch of each. The clip is none of those trained with. The bar is
GCC of this repository; HRCC, the paper's other rival, is not built. VMAF is not computed here: SSIM in dB stands
beside it, and decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .. import plan as plans
from .. import shipped
from ..errors import Error
from ..eval.stats import RESAMPLES, resampling_weights
from ..plan import Plan
from ..sweep import Progress, Run, summary_rows, sweep
from .clcc_scores import qoe_frame, qoe_packet

FORMAT = 1
CONTROLLERS = ("clcc", "gcc")
CLIP = "asl-again"
REPEATS = 5
NETWORKS = 100
LTE = "nyc-lte"
"""The family of traces that [clcc]'s source of LTE traces, DeepCC, has published."""
STRETCH_S, LTE_STEP_S = 45.0, 30.0
"""How long a call is, and how far apart the stretches of an LTE trace begin: the shortest has 171 s."""
LTE_SCALES = {"LTE": 1.0, "LTE at a fifth": 0.2}
"""As recorded, and as a user's share of a cell: the paper names no scale."""

Word = Literal["met", "not met", "not comparable"]


@dataclass(frozen=True)
class Figure:
    """One of the paper's figures of merit: how it changes from GCC's to CLCC's."""

    name: str
    column: str
    published: Mapping[str, float | None]
    """By table: percent of GCC's where relative, else a difference."""
    relative: bool
    less_is_better: bool
    judged: bool = True


def _printed(random: float | None, lte: float | None) -> dict[str, float | None]:
    return {"random": random, "LTE": lte}


BETTER = 0.0
"""The paper draws it above GCC's, without a number."""

# [clcc] §V: Fig. 3 and Fig. 4, then Fig. 5 and Fig. 6: changes against GCC, on random and LTE traces.
FIGURES: tuple[Figure, ...] = (
    Figure("packet delay (%)", "one_way_delay_mean_ms", _printed(-5.0, -7.0), relative=True, less_is_better=True),
    Figure("packet loss (%)", "loss_ratio", _printed(-8.0, -33.0), relative=True, less_is_better=True),
    Figure("frame PSNR (dB)", "psnr_db_mean", _printed(0.4, 0.6), relative=False, less_is_better=False),
    Figure("VMAF; ours SSIM (dB)", "ssim_db_mean", _printed(0.4, 1.8), False, less_is_better=False, judged=False),
    Figure("frame delay (%)", "frame_delay_mean_ms", _printed(-17.0, -23.0), relative=True, less_is_better=True),
    Figure("frame drops (%)", "frame_drop_ratio", _printed(-25.0, -30.0), relative=True, less_is_better=True),
    Figure("receiving rate (%)", "receiver_rate_bps", _printed(None, None), True, less_is_better=False, judged=False),
    Figure("packet QoE", "qoe_packet", _printed(BETTER, BETTER), relative=False, less_is_better=False),
    Figure("frame QoE", "qoe_frame", _printed(BETTER, BETTER), relative=False, less_is_better=False),
)


@dataclass(frozen=True)
class Row:
    """A figure as printed, ours with its interval, and what that comes to."""

    table: str
    """The networks: ``random``, ``LTE``, ``LTE at a fifth``."""
    name: str
    published: float | None
    mean: float | None
    """None: GCC's is nothing, so nothing is a share of it."""
    low: float | None
    high: float | None
    verdict: Word
    why: str
    values: Mapping[str, float]
    """Each controller's own, mean over calls."""


@dataclass(frozen=True)
class Call:
    """What is compared of one call."""

    networks: str
    network: str
    repeat: int
    controller: str
    receiver_rate_bps: float
    utilisation_ratio: float
    one_way_delay_mean_ms: float
    one_way_delay_p95_ms: float
    least_delay_ms: float
    largest_delay_ms: float | None
    """Known where packets were logged: the first repeat."""
    loss_ratio: float
    psnr_db_mean: float
    ssim_db_mean: float
    frame_delay_mean_ms: float
    frame_drop_ratio: float
    height_mean: float

    @property
    def qoe_packet(self) -> float | None:
        """[clcc] eq. (10)."""
        if self.largest_delay_ms is None:
            return None
        return qoe_packet(
            self.utilisation_ratio,
            self.least_delay_ms,
            self.one_way_delay_p95_ms,
            self.largest_delay_ms,
            self.loss_ratio,
        )

    @property
    def qoe_frame(self) -> float:
        """[clcc] eq. (14)."""
        return qoe_frame(self.psnr_db_mean, self.frame_delay_mean_ms, self.frame_drop_ratio)


@dataclass(frozen=True)
class Reproduction:
    """Every row and the calls behind them."""

    folder: Path
    rows: tuple[Row, ...]
    calls: tuple[Call, ...]
    version: str
    trained: Mapping[str, Any]
    """What the policy says of its training."""


def reproduce(
    out: str | Path,
    *,
    seeds: int = REPEATS,
    quick: bool = False,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Reproduction:
    """Make the calls and judge them; ``reproduction.json`` lies beside the run folders.

    Args:
        out: the folder; calls go to folders below ``out/run``.
        seeds: repeats, each with other random networks and other stretches of the LTE traces.
        quick: four networks and two files a repeat.
    """
    out = Path(out)
    if out.is_dir() and any(out.iterdir()) and not resume:
        raise Error(
            f"{out}: is there and not empty", hint="give --resume to go on with it, or another folder with --out"
        )
    made = _plans(seeds, quick)
    calls: list[Call] = []
    runs: list[Run] = []
    for (group, repeat), plan in made.items():
        runs.append(sweep(plan, out / "run" / f"{group} {repeat}", threads=threads, resume=resume))
        calls += read_calls(runs[-1].folder, group, repeat)
        if on_progress is not None:
            totals = [sum(getattr(run, name) for run in runs) for name in ("simulated_s", "wall_s")]
            all_calls = sum(_count(each) for each in made.values())
            on_progress(Progress(len(calls), all_calls, *totals))
    sweep(_annotated(), out / "run" / "annotated", threads=threads, resume=resume)
    manifest = json.loads((runs[0].folder / "manifest.json").read_text(encoding="utf-8"))
    version = f"{manifest['legato']} ({manifest['commit'][:12]})"
    done = Reproduction(out, tuple(judge(calls)), tuple(calls), version, _trained())
    _write_json(done)
    return done


def _plans(repeats: int, quick: bool) -> dict[tuple[str, int], Plan]:
    """What is run: by set of networks and repeat."""
    made: dict[tuple[str, int], Plan] = {}
    files = [trace.path for trace in shipped.traces() if trace.family == LTE]
    files, networks = (files[:2], 4) if quick else (files, NETWORKS)
    for repeat in range(1, repeats + 1):
        log = "packets" if repeat == 1 else "summary"
        first = 1000 * repeat + 1
        made["random", repeat] = plans.make(
            "clcc",
            controller_specs=CONTROLLERS,
            clip_specs=[CLIP],
            seed_spec=range(first, first + networks),
            log=log,
        )
        for group, scale in LTE_SCALES.items():
            traces = [f"{path}@scale={scale},start_s={LTE_STEP_S * (repeat - 1)}" for path in files]
            made[group, repeat] = replace(
                plans.make(
                    "cellular",
                    options={"duration_s": STRETCH_S},
                    controller_specs=CONTROLLERS,
                    clip_specs=[CLIP],
                    seed_spec=[repeat],
                    log=log,
                ),
                traces=plans.traces(traces),
            )
    return made


def _count(plan: Plan) -> int:
    return len(plan.controllers) * max(len(plan.traces), 1) * len(plan.seeds)


CLIFF_S, RECOVERY_S = 20.0, 30.0
_ANNOTATED = [[0.0, 3_000_000], [CLIFF_S, 600_000], [RECOVERY_S, 3_000_000]]


def _annotated() -> Plan:
    """Figure 7's run: room to climb, a cliff, room again."""
    options = {"duration_s": STRETCH_S, "forward.capacity": {"steps": _ANNOTATED}}
    return plans.make("steps", options=options, controller_specs=CONTROLLERS, clip_specs=[CLIP], log="series")


def _trained() -> dict[str, Any]:
    import tomllib

    path = shipped.policies_folder() / "clcc" / "policy.toml"
    return dict(tomllib.loads(path.read_text(encoding="utf-8")).get("trained", {}))


def read_calls(folder: Path, group: str, repeat: int) -> list[Call]:
    """The figures of every call of a run folder."""
    import duckdb

    packets = sorted(str(part) for part in (folder / "packets").glob("*.parquet"))
    largest: dict[int, float] = {}
    if packets:
        sql = f"select call, max(arrived_ns - sent_ns) / 1e6 from read_parquet({packets}) group by call"
        largest = dict(duckdb.sql(sql).fetchall())
    own = [field.name for field in fields(Call)][5:]
    found = []
    for row in summary_rows(folder):
        known = {name: row[name] for name in own if name in row}
        known = {name: np.nan if value is None else float(value) for name, value in known.items()}
        # A file's stretches are not independent: they are one network.
        network = str(row["seed"]) if group == "random" else str(row["trace"]).partition("@")[0]
        least_ms = row["one_way_delay_mean_ms"] - row["queue_delay_mean_ms"]
        found.append(
            Call(
                networks=group,
                network=network,
                repeat=repeat,
                controller=row["controller"],
                receiver_rate_bps=float(row["receiver_rate_bps"]),
                least_delay_ms=least_ms,
                largest_delay_ms=largest.get(row["call"]),
                **{name: value for name, value in known.items() if name != "receiver_rate_bps"},
            )
        )
    return found


def judge(calls: Sequence[Call]) -> list[Row]:
    """Every row: the change from GCC's mean to CLCC's, with a bootstrap interval over networks."""
    rows = []
    for group in dict.fromkeys(call.networks for call in calls):
        for figure in FIGURES:
            pairs = _pairs(calls, group, figure.column)
            if len(pairs):
                rows.append(_row(group, figure, pairs))
    return rows


def _pairs(calls: Sequence[Call], group: str, column: str) -> np.ndarray:
    """``(networks, 3)``: totals of CLCC's and GCC's figure over the calls that both have, and how many those are."""
    values: dict[tuple[str, int], dict[str, float]] = {}
    for call in calls:
        value = getattr(call, column)
        if call.networks == group and value is not None and np.isfinite(value):
            values.setdefault((call.network, call.repeat), {})[call.controller] = value
    totals: dict[str, np.ndarray] = {}
    for (network, _), both in values.items():
        if len(both) == len(CONTROLLERS):
            pair = np.array([both["clcc"], both["gcc"], 1.0])
            totals[network] = totals.get(network, np.zeros(3)) + pair
    return np.array(list(totals.values())).reshape(-1, 3)


def _row(group: str, figure: Figure, pairs: np.ndarray) -> Row:
    means = pairs.sum(0) / pairs[:, 2].sum()
    values = {name: float(mean) for name, mean in zip(CONTROLLERS, means[:2], strict=True)}
    change = _known(_change(pairs.sum(0, keepdims=True), figure.relative)[0])
    low = high = None
    if len(pairs) > 1 and change is not None:
        drawn = _change(resampling_weights(len(pairs), RESAMPLES) @ pairs, figure.relative)
        low, high = (_known(value) for value in np.quantile(drawn[np.isfinite(drawn)], [0.025, 0.975]))
    published = figure.published.get(group)
    verdict, why = _verdict(figure, published, change, low, high)
    return Row(group, figure.name, published, change, low, high, verdict, why, values)


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _change(totals: np.ndarray, relative: bool) -> np.ndarray:
    if relative:
        with np.errstate(invalid="ignore", divide="ignore"):
            return 100.0 * (totals[:, 0] / totals[:, 1] - 1.0)
    return (totals[:, 0] - totals[:, 1]) / totals[:, 2]


def _verdict(
    figure: Figure, published: float | None, mean: float | None, low: float | None, high: float | None
) -> tuple[Word, str]:
    if not figure.judged:
        return (
            "not comparable",
            "no VMAF here" if "VMAF" in figure.name else "the paper says no more than that it is low",
        )
    if published is None:
        return "not comparable", "the paper has no such networks"
    if mean is None:
        return "not comparable", "GCC has none of it"
    sign = -1.0 if figure.less_is_better else 1.0
    ends = sorted(sign * (mean if end is None else end) for end in (low, high))
    if published == BETTER:
        return ("met" if ends[0] > 0.0 else "not met"), "met where the interval is above GCC's"
    reached = ends[1] >= sign * published
    return ("met" if reached else "not met"), "met where the printed change is within our interval or surpassed by it"


def annotated_run(folder: Path) -> dict[str, dict[str, list[list[float | None]]]]:
    """Figure 7: target, capacity, resolution and delay over time, by controller."""
    import duckdb

    parts = sorted(str(part) for part in (folder / "series").glob("*.parquet"))
    made: dict[str, dict[str, list[list[float | None]]]] = {}
    for row in summary_rows(folder):
        sql = (
            "select time_ms / 1e3, target_bitrate_bps, capacity_bps, one_way_delay_ms, height, receiver_rate_bps "
            f"from read_parquet({parts}) where call = {row['call']} order by time_ms"
        )
        rows = duckdb.sql(sql).fetchall()
        names = ("target_bps", "capacity_bps", "one_way_delay_ms", "height", "receiver_rate_bps")
        made[row["controller"]] = {
            name: [[line[0], line[place]] for line in rows] for place, name in enumerate(names, start=1)
        }
    return made


def behaviour(run: Mapping[str, Mapping[str, Sequence[Sequence[Any]]]]) -> dict[str, dict[str, float | None]]:
    """The three things the paper says of Figure 7, as numbers, by controller.

    ``reaches_1mbps_s``: when the target first does; ``lowest_after_cliff_bps``: of the target, within 5 s;
    ``late_rise_ratio``: how much the target rose over the last 5 s before the cliff.
    """
    told = {}
    for controller, series in run.items():
        targets = [(time_s, bps) for time_s, bps in series["target_bps"] if bps is not None]
        reached = [time_s for time_s, bps in targets if bps >= 1e6]
        after = [bps for time_s, bps in targets if CLIFF_S <= time_s < CLIFF_S + 5.0]
        before = [bps for time_s, bps in targets if CLIFF_S - 5.0 <= time_s < CLIFF_S]
        told[controller] = {
            "reaches_1mbps_s": reached[0] if reached else None,
            "lowest_after_cliff_bps": min(after, default=None),
            "late_rise_ratio": before[-1] / before[0] - 1.0 if before else None,
        }
    return told


def _without_nan(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: None if value != value else value for name, value in figures.items()}


def _write_json(done: Reproduction) -> Path:
    """``reproduction.json``: every row, call and curve, for scripts."""
    run = annotated_run(done.folder / "run" / "annotated")
    document = {
        "format": FORMAT,
        "paper": "clcc",
        "version": done.version,
        "trained": done.trained,
        "rows": [asdict(row) for row in done.rows],
        "calls": [_without_nan(asdict(call)) for call in done.calls],
        "figure_7": {"behaviour": behaviour(run), "series": run},
    }
    path = done.folder / "reproduction.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)
    return path
