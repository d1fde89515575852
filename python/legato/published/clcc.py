"""CLCC (docs/papers/clcc.md): its Figures 3 to 7 against GCC and HRCC, on random networks and on LTE.

The random networks are Table III's, 100 a repeat, from seeds that training never draws from; the LTE traces are a
family the policy never saw, and a repeat is another stretch of each. The clip is none of those trained with. The bar is
GCC of this repository, and for the paper's other rival `hrcc`, of this repository too (docs/papers/hrcc.md) and trained
on the networks that `clcc` was. VMAF is not computed here: SSIM in dB stands beside it, and decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import plan as plans
from .. import shipped
from ..errors import Error
from ..plan import Plan
from ..sweep import Progress, Run, summary_rows, sweep
from .clcc_figures import CONTROLLERS, Call, Row, judge

FORMAT = 1
CLIP = "asl-again"
REPEATS = 5
NETWORKS = 100
LTE = "nyc-lte"
"""The family of traces that [clcc]'s source of LTE traces, DeepCC, has published."""
STRETCH_S, LTE_STEP_S = 45.0, 30.0
"""How long a call is, and how far apart the stretches of an LTE trace begin: the shortest has 171 s."""
LTE_SCALES = {"LTE": 1.0, "LTE at a fifth": 0.2}
"""As recorded, and as a user's share of a cell: the paper names no scale."""


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
        # A file's stretches are not independent: they are one network. A trace's name goes on with " @ start".
        network = str(row["seed"]) if group == "random" else str(row["trace"]).partition("@")[0].strip()
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
