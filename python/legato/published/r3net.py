"""R3Net (docs/papers/r3net.md): its Table 1 and Figure 2 on networks absent from training, beside `ukf` and `gcc`.

The paper's 1,150 test traces are private; ours are windows of recordings that no training saw (legato.envs.replayed).
Figures of a controller are means over calls, as the paper's seem to be; what is judged are differences, call by call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from legato import chart
from legato import plan as plans
from legato.errors import RunFolderError
from legato.eval.stats import Estimate, mean_of_groups
from legato.pages import Section
from legato.published.reproduction import Paper, Reproduction, Row, play, verdict
from legato.sweep import Progress, check_empty, parts, summary_rows, version

OURS = "r3net"
RIVALS = ("ukf", "gcc")
SEEDS = 5
PATHS, WINDOWS = 23, 50
"""1,150 networks: the number of paths, and of windows over each."""
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
"""The figures in which R3Net claims to lead at the same time."""

PAPER = Paper(
    "r3net",
    "R3Net",
    {"1": "Table 1: in simulation"} | {f"against {rival}": f"{OURS} minus {rival}" for rival in RIVALS},
    digits=".3g",
)


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
    """Play every test network with each controller.

    Args:
        out: the folder; the calls over path N go to ``out/path-N``.
        quick: a few networks instead of 1,150.
        seeds: how often each network is played, with other video and losses.
        policy: a policy folder instead of the shipped one.
    """
    from legato.envs import replayed

    out = Path(out)
    check_empty(out, resume=resume)
    paths, windows = (QUICK_PATHS, QUICK_WINDOWS) if quick else (PATHS, WINDOWS)
    ours = f"{OURS}@label={OURS}" + (f",policy={policy}" if policy else "")
    made = {
        f"path-{number:02}": plans.make(
            "r3net",
            options={**network.options, "duration_s": duration_s},
            controller_specs=(*RIVALS, ours),
            trace_specs=network.traces,
            seed_spec=seeds,
            log="series",
            calls_per_part=WINDOWS,
        )
        for number, network in enumerate(replayed.draw("test", DRAW_SEED, paths, windows, duration_s=duration_s))
    }
    runs = play(made, out, threads=threads, on_progress=on_progress)
    calls: list[Call] = []
    for number, (name, folder) in enumerate(runs.items()):
        calls += read_calls(folder, made[name], number * windows)
    done = Reproduction(PAPER, out, version(folder), tuple(judge(calls)), tuple(calls))
    curves = one_run(folder)
    introduction = Markup(
        "Fang et al. 2019: a recurrent network at the receiver decides every 50 ms, against an unscented Kalman filter "
        "with rules. {} networks of 30 s, {} seeds, Legato {}. Means over calls with 95 % bootstrap intervals over "
        "recordings. The paper's traces are private: ours are windows of recorded broadband and LTE capacity, a fifth "
        "of the files, none of which was used in training or to choose settings. <code>ukf</code> is ours too. "
        "Differences from the paper: <code>docs/papers/r3net.md</code>."
    ).format(len({call.network for call in calls}), done.seeds, done.version)
    return done.write([introduction], [_figure(curves)], behind_rows={"figures": {"one_run": curves}})


def read_calls(folder: Path, plan: plans.Plan, first_network: int) -> list[Call]:
    """The figures of every call of a run folder; its networks are counted from ``first_network``."""
    rewards = _rewards(folder)
    found = []
    for row in summary_rows(folder):
        _, network, _, _ = plan.places(row["session"])
        found.append(
            Call(
                controller=row["controller"],
                network=first_network + network,
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

    found = parts(folder, "series")
    if not found:
        raise RunFolderError(f"{folder}: holds no time series of a finished part")
    return dict(
        duckdb.sql(
            "select call, avg(0.6 * ln(4e-6 * receiver_rate_bps + 1) - coalesce(rtt_ms, 0) / 1e3 "
            f"- 10 * coalesce(loss_ratio, 0)) from read_parquet({found}) group by call"
        ).fetchall()
    )


def judge(calls: Sequence[Call]) -> list[Row]:
    """Every row: Table 1, then R3Net minus each rival."""
    rows = []
    for controller in (*RIVALS, OURS):
        own = [call for call in calls if call.controller == controller]
        for figure, (title, _) in FIGURES.items():
            printed = PUBLISHED.get(controller, {}).get(figure)
            ours = mean([(call.recording, getattr(call, figure)) for call in own])
            why = "other networks, and a rival of ours by the same name: what is judged are the differences below"
            rows.append(Row.of("1", f"{controller}: {title}", printed, ours, "not comparable", why))
    for rival in RIVALS:
        leads = [difference_row(calls, rival, figure) for figure in FIGURES]
        rows += leads
        met = sum(lead.verdict == "met" for lead, figure in zip(leads, FIGURES, strict=True) if figure in CLAIMED)
        name, claims = f"of {len(CLAIMED)} claims together", float(len(CLAIMED))
        why = "utilisation, p95 RTT, loss and reward, each with an interval that excludes zero"
        ours = Estimate(float(met), None, None, 1)
        rows.append(Row.of(f"against {rival}", name, claims, ours, verdict(met == len(CLAIMED)), why))
    return rows


def difference_row(calls: Sequence[Call], rival: str, figure: str) -> Row:
    """R3Net's figure minus a rival's on the same networks."""

    def of(controller: str) -> dict[tuple[int, int], Call]:
        return {(call.network, call.seed): call for call in calls if call.controller == controller}

    own, others = of(OURS), of(rival)
    ours = mean([(c.recording, getattr(c, figure) - getattr(others[key], figure)) for key, c in own.items()])
    title, sign = FIGURES[figure]
    table, name = f"against {rival}", f"{title}, less {rival}'s"
    printed = PUBLISHED[OURS][figure] - PUBLISHED[rival][figure] if rival in PUBLISHED else None
    if printed == 0:
        return Row.of(table, name, printed, ours, "not comparable", "the paper has no difference here")
    worst = ours.low if sign > 0 else ours.high
    worst = ours.mean if worst is None else worst
    ahead = worst is not None and sign * worst > 0
    return Row.of(table, name, printed, ours, verdict(ahead), "met where R3Net is ahead and the interval excludes zero")


def mean(values: Sequence[tuple[str, float]]) -> Estimate:
    """Mean over calls with a bootstrap interval over recordings: windows of one are alike. NaN is left out."""
    groups: dict[str, list[float]] = {name: [] for name in sorted({name for name, _ in values})}
    for name, value in values:
        if value == value:
            groups[name].append(value)
    return mean_of_groups(list(groups.values()))


def one_run(folder: Path) -> dict[str, Any]:
    """Figure 2: capacity and what arrived, in kbit/s by seconds, of the first network of a path."""
    import duckdb

    rows = summary_rows(folder)
    first = rows[0]
    curves: dict[str, Any] = {"recording": first["trace"]}
    for row in rows:
        if (row["trace"], row["seed"]) != (first["trace"], first["seed"]):
            continue
        series = duckdb.sql(
            "select floor(time_ms / 500) / 2 b, avg(capacity_bps), avg(receiver_rate_bps) "
            f"from read_parquet({parts(folder, 'series')}) where call = {row['call']} group by b order by b"
        ).fetchall()
        curves.setdefault("capacity", [[at, round((capacity or 0.0) / 1e3)] for at, capacity, _ in series])
        curves.setdefault(row["controller"], [[at, round((rate or 0.0) / 1e3)] for at, _, rate in series])
    return curves


def _figure(curves: dict[str, Any]) -> Section:
    """Figure 2: what arrived of one call, under what the link could carry."""
    shown = [(kind, name) for kind, name in (("available", "capacity"), ("c1", "ukf"), ("c0", OURS)) if name in curves]
    lines = [chart.Line(kind, curves[name]) for kind, name in shown]
    title = f"Receiver rate over time, kbit/s, {curves['recording']} (as Figure 2; means of 0.5 s)"
    return Section(
        "One run", legend=shown, charts=[(title, chart.draw([chart.Axes(lines)], title, width=720, unit=" s"))]
    )
