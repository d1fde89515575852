"""R3Net (docs/papers/r3net.md): its Table 1 and Figure 2 on networks nobody trained on, beside `ukf` and `gcc`.

The paper's 1,150 test traces are private; ours are windows of recordings that no training saw (legato.envs.replayed).
Figures of a controller are means over calls, as the paper's seem to be; what is judged are differences, call by call.
"""

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
OURS = "r3net"
RIVALS = ("ukf", "gcc")
SEEDS = 5
PATHS, WINDOWS = 23, 50
"""1,150 networks: so many windows over each of so many paths."""
QUICK_PATHS, QUICK_WINDOWS = 2, 4
DRAW_SEED = 1150
"""Of the networks; the seeds of the calls over them are 1 to N."""

# Table 1 of [r3net]; ratios as printed in percent.
PUBLISHED: dict[str, dict[str, float]] = {
    "ukf": {
        "utilisation_percent": 73.5,
        "rtt_mean_ms": 128,
        "rtt_p50_ms": 102,
        "rtt_p95_ms": 288,
        "loss_percent": 3.8,
        "reward": 0.56,
    },
    "r3net": {
        "utilisation_percent": 77.8,
        "rtt_mean_ms": 122,
        "rtt_p50_ms": 102,
        "rtt_p95_ms": 268,
        "loss_percent": 1.9,
        "reward": 0.60,
    },
}
FIGURES: dict[str, tuple[str, int]] = {
    "utilisation_percent": ("bandwidth utilisation (%)", +1),
    "rtt_mean_ms": ("RTT, mean (ms)", -1),
    "rtt_p50_ms": ("RTT, p50 (ms)", -1),
    "rtt_p95_ms": ("RTT, p95 (ms)", -1),
    "loss_percent": ("packet loss (%)", -1),
    "reward": ("reward, mean", +1),
}
"""What is compared: its title, and whether more of it is better."""
CLAIMED = ("utilisation_percent", "rtt_p95_ms", "loss_percent", "reward")
"""In which R3Net is to lead together."""

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
    """What is compared of one call."""

    controller: str
    network: int
    recording: str
    seed: int
    utilisation_percent: float
    rtt_mean_ms: float
    rtt_p50_ms: float
    rtt_p95_ms: float
    loss_percent: float
    reward: float


@dataclass(frozen=True)
class Reproduction:
    """Rows of the tables, the calls behind them, and where they lie."""

    folder: Path
    rows: tuple[Row, ...]
    calls: tuple[Call, ...]
    curves: dict[str, Any]
    version: str

    @property
    def networks(self) -> int:
        return len({call.network for call in self.calls})

    @property
    def seeds(self) -> int:
        return len({call.seed for call in self.calls})


def reproduce(
    out: str | Path,
    *,
    quick: bool = False,
    seeds: int = SEEDS,
    policy: str = "",
    duration_s: float = 30.0,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Reproduction:
    """Play every test network with each controller, and write ``reproduction.json`` beside the run folders.

    Args:
        out: the folder; the calls over path N go to ``out/path-N``.
        quick: a few networks instead of 1,150.
        seeds: how often each network is played, with other video and losses.
        policy: a policy folder instead of the shipped one.
    """
    from ..envs import replayed

    out = Path(out)
    if out.is_dir() and any(out.iterdir()) and not resume:
        raise Error(
            f"{out}: is there and not empty", hint="give --resume to go on with it, or another folder with --out"
        )
    paths, windows = (QUICK_PATHS, QUICK_WINDOWS) if quick else (PATHS, WINDOWS)
    networks = replayed.draw("test", DRAW_SEED, paths, windows, duration_s=duration_s)
    ours = f"{OURS}@label={OURS}" + (f",policy={policy}" if policy else "")
    in_all = paths * windows * seeds * (1 + len(RIVALS))
    calls: list[Call] = []
    version = ""
    for number, network in enumerate(networks):

        def watched(step: Progress, done: int = len(calls)) -> None:
            if on_progress is not None:
                on_progress(Progress(done + step.calls_done, in_all, step.simulated_s, step.wall_s))

        made = plans.make(
            "r3net",
            options={**network.options, "duration_s": duration_s},
            controller_specs=(*RIVALS, ours),
            trace_specs=network.traces,
            seed_spec=seeds,
            log="series",
            calls_per_part=WINDOWS,
        )
        run = sweep(made, out / f"path-{number:02}", threads=threads, resume=resume, on_progress=watched)
        calls += read_calls(run.folder, number * windows, windows, seeds)
        manifest = json.loads((run.folder / "manifest.json").read_text(encoding="utf-8"))
        version = f"{manifest['legato']} ({manifest['commit'][:12]})"
    done = Reproduction(out, tuple(judge(calls)), tuple(calls), one_run(out / f"path-{paths - 1:02}"), version)
    write_json(done)
    return done


def read_calls(folder: Path, first_network: int, windows: int, seeds: int) -> list[Call]:
    """The figures of every call of a run folder: controllers, then windows, then seeds, which count fastest."""
    rewards = _rewards(folder)
    found = []
    for row in summary_rows(folder):
        found.append(
            Call(
                controller=row["controller"],
                network=first_network + row["call"] % (windows * seeds) // seeds,
                recording=row["trace"].partition(" ")[0],
                seed=row["seed"],
                utilisation_percent=100.0 * row["utilisation_ratio"],
                rtt_mean_ms=_number(row["rtt_mean_ms"]),
                rtt_p50_ms=_number(row["rtt_p50_ms"]),
                rtt_p95_ms=_number(row["rtt_p95_ms"]),
                loss_percent=100.0 * (row["loss_ratio"] or 0.0),
                reward=rewards[row["call"]],
            )
        )
    return found


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _rewards(folder: Path) -> dict[int, float]:
    """[r3net] §2.2's reward of each call: 0.6 ln(4 R + 1) - D - 10 L, over the 100 ms bins of its series.

    The paper has steps of 50 ms; the series has bins of 100 ms, and every controller is scored by the same.
    """
    import duckdb

    parts = sorted(str(part) for part in (folder / "series").glob("*.parquet"))
    if not parts:
        raise RunFolderError(f"{folder}: holds no time series of a finished part")
    return dict(
        duckdb.sql(
            "select call, avg(0.6 * ln(4e-6 * receiver_rate_bps + 1) - coalesce(rtt_ms, 0) / 1e3 "
            f"- 10 * coalesce(loss_ratio, 0)) from read_parquet({parts}) group by call"
        ).fetchall()
    )


def judge(calls: Sequence[Call]) -> list[Row]:
    """Every row: Table 1, then R3Net less each rival."""
    rows = []
    for controller in (*RIVALS, OURS):
        own = [call for call in calls if call.controller == controller]
        for figure, (title, _) in FIGURES.items():
            printed = PUBLISHED.get(controller, {}).get(figure)
            ours = mean([(call.recording, getattr(call, figure)) for call in own])
            why = "other networks, and a rival of ours by the same name: what is judged are the differences below"
            rows.append(row_of("1", f"{controller}: {title}", printed, ours, "not comparable", why))
    for rival in RIVALS:
        leads = [difference_row(calls, rival, figure) for figure in FIGURES]
        rows += leads
        together = [lead for lead, figure in zip(leads, FIGURES, strict=True) if figure in CLAIMED]
        met = sum(lead.verdict == "met" for lead in together)
        ours = Estimate(float(met), None, None, 1)
        word: Word = "met" if met == len(CLAIMED) else "not met"
        why = "utilisation, p95 RTT, loss and reward, each with an interval that excludes zero"
        rows.append(
            row_of(f"against {rival}", f"of {len(CLAIMED)} claims together", float(len(CLAIMED)), ours, word, why)
        )
    return rows


def difference_row(calls: Sequence[Call], rival: str, figure: str) -> Row:
    """R3Net's figure less a rival's on the same networks."""

    def of(controller: str) -> dict[tuple[int, int], Call]:
        return {(call.network, call.seed): call for call in calls if call.controller == controller}

    own, others = of(OURS), of(rival)
    pairs = [(c.recording, getattr(c, figure) - getattr(others[key], figure)) for key, c in own.items()]
    ours = mean(pairs)
    title, sign = FIGURES[figure]
    printed = PUBLISHED[OURS][figure] - PUBLISHED[rival][figure] if rival in PUBLISHED else None
    if printed == 0:
        why = "the paper has no difference here"
        return row_of(f"against {rival}", f"{title}, less {rival}'s", printed, ours, "not comparable", why)
    worst = ours.low if sign > 0 else ours.high
    worst = ours.mean if worst is None else worst
    ahead = worst is not None and sign * worst > 0
    return row_of(
        f"against {rival}",
        f"{title}, less {rival}'s",
        printed,
        ours,
        "met" if ahead else "not met",
        "met where R3Net is ahead and the interval excludes zero",
    )


def mean(values: Sequence[tuple[str, float]]) -> Estimate:
    """Mean over calls with a bootstrap interval over recordings: windows of one are alike. NaN is left out."""
    names = sorted({name for name, _ in values})
    place = {name: index for index, name in enumerate(names)}
    totals, counts = np.zeros((len(names), 1)), np.zeros((len(names), 1))
    for name, value in values:
        if value == value:
            totals[place[name]] += value
            counts[place[name]] += 1
    return mean_intervals(totals, counts, resampling_weights(len(names)))[0]


def row_of(table: str, name: str, published: float | None, ours: Estimate, verdict: Word, why: str) -> Row:
    """A line of a table."""
    value = float("nan") if ours.mean is None else ours.mean
    return Row(table, name, published, value, ours.low, ours.high, verdict, why)


def one_run(folder: Path) -> dict[str, Any]:
    """Figure 2: capacity and what arrived, in kbit/s by seconds, of the first network of a path."""
    import duckdb

    rows = summary_rows(folder)
    first = rows[0]
    parts = sorted(str(part) for part in (folder / "series").glob("*.parquet"))
    curves: dict[str, Any] = {"recording": first["trace"]}
    for row in rows:
        if (row["trace"], row["seed"]) != (first["trace"], first["seed"]):
            continue
        series = duckdb.sql(
            "select floor(time_ms / 500) / 2 b, avg(capacity_bps), avg(receiver_rate_bps) "
            f"from read_parquet({parts}) where call = {row['call']} group by b order by b"
        ).fetchall()
        curves.setdefault("capacity", [[at, round((capacity or 0.0) / 1e3)] for at, capacity, _ in series])
        curves.setdefault(row["controller"], [[at, round((rate or 0.0) / 1e3)] for at, _, rate in series])
    return curves


def write_json(done: Reproduction) -> Path:
    """``reproduction.json``: every row, call and curve, for scripts."""
    document = {
        "format": FORMAT,
        "paper": "r3net",
        "version": done.version,
        "rows": [asdict(row) for row in done.rows],
        "calls": [asdict(call) for call in done.calls],
        "figures": {"one_run": done.curves},
    }
    path = done.folder / "reproduction.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)
    return path
