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
from legato.eval.stats import Estimate, grouped_mean
from legato.pages import Section, counted
from legato.published.reproduction import Paper, Reproduction, Row, pairs, play
from legato.published.verdict import Lead, Verdict
from legato.sweep import Progress, check_empty, query, summary_rows, version

OURS = "r3net"
RIVALS = ("ukf", "gcc")
SEEDS = 5
PATHS, WINDOWS = 23, 50
"""1,150 networks: the number of paths, and of windows over each."""
QUICK_PATHS, QUICK_WINDOWS = 2, 4
DRAW_SEED = 1150
"""Of the networks; the seeds of the calls over them are 1 to N."""

FIGURES: dict[str, tuple[str, int]] = {
    "utilisation_percent": ("bandwidth utilisation (%)", +1),
    "rtt_mean_ms": ("RTT, mean (ms)", -1),
    "rtt_p50_ms": ("RTT, p50 (ms)", -1),
    "rtt_p95_ms": ("RTT, p95 (ms)", -1),
    "loss_percent": ("packet loss (%)", -1),
    "reward": ("reward, mean", +1),
}
"""What is compared: its title, and whether more of it is better."""
# Table 1 of [r3net], in the order of the figures; ratios as printed in percent.
PUBLISHED: dict[str, dict[str, float]] = {
    "ukf": dict(zip(FIGURES, (73.5, 128, 102, 288, 3.8, 0.56), strict=True)),
    "r3net": dict(zip(FIGURES, (77.8, 122, 102, 268, 1.9, 0.60), strict=True)),
}
CLAIMED = ("utilisation_percent", "rtt_p95_ms", "loss_percent", "reward")
"""The figures in which R3Net claims to lead at the same time."""

PAPER = Paper(
    "r3net",
    "R3Net",
    {"1": "Table 1: in simulation"} | {f"against {rival}": f"{OURS} minus {rival}" for rival in RIVALS},
    digits=".3g",
    over="recordings",
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


# [r3net] §2.2: a call's reward is 0.6 ln(4 R + 1) - D - 10 L. The paper has steps of 50 ms; the series has bins of
# 100 ms, and every controller is scored by the same. NaN: no round trip was measured.
_CALLS = """
with rewards as (
    select call, avg(0.6 * ln(4e-6 * receiver_rate_bps + 1) - coalesce(rtt_ms, 0) / 1e3 - 10 * coalesce(loss_ratio, 0))
        as reward
    from series group by call
)
select session, controller, split_part(trace, ' ', 1) as recording, seed,
    100 * utilisation_ratio as utilisation_percent,
    coalesce(rtt_mean_ms, 'nan') as rtt_mean_ms, coalesce(rtt_p50_ms, 'nan') as rtt_p50_ms,
    coalesce(rtt_p95_ms, 'nan') as rtt_p95_ms, 100 * coalesce(loss_ratio, 0) as loss_percent, reward
from summary join rewards using (call) order by call
"""


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
        "with rules. {} networks of 30 s, {}, Legato {}. Means over calls with 95 % intervals over recordings"
        ". The paper's traces are private: ours are windows of recorded broadband and LTE capacity, a fifth "
        "of the files, none of which was used in training or to choose settings. <code>ukf</code> is ours too. "
        "Differences from the paper: <code>docs/papers/r3net.md</code>."
    ).format(len({call.network for call in calls}), counted(done.seeds, "seed"), done.version)
    return done.write([introduction], [_figure(curves)], behind_rows={"figures": {"one_run": curves}})


def read_calls(folder: Path, plan: plans.Plan, first_network: int) -> list[Call]:
    """The figures of every call of a run folder; its networks are counted from ``first_network``."""
    return [Call(network=first_network + plan.places(row.pop("session"))[1], **row) for row in query(folder, _CALLS)]


def judge(calls: Sequence[Call]) -> list[Row]:
    """Every row: Table 1, then R3Net minus each rival."""
    calls = sorted(calls, key=lambda call: call.recording)
    rows = []
    for controller in (*RIVALS, OURS):
        own = [call for call in calls if call.controller == controller]
        for figure, (title, _) in FIGURES.items():
            printed = PUBLISHED.get(controller, {}).get(figure)
            ours = grouped_mean((call.recording, getattr(call, figure)) for call in own)
            why = "other networks, and a rival of ours by the same name: what is judged are the differences below"
            rows.append(Row.of("1", f"{controller}: {title}", printed, ours, "not comparable", why))
    for rival in RIVALS:
        leads = [_difference(calls, rival, figure) for figure in FIGURES]
        rows += leads
        rows.append(
            _together(rival, [lead.verdict for lead, key in zip(leads, FIGURES, strict=True) if key in CLAIMED])
        )
    return rows


def _together(rival: str, verdicts: Sequence[Verdict]) -> Row:
    """The lead in all figures at the same time, which is the paper's claim."""
    count = verdicts.count("met")
    in_reach = count + verdicts.count("in reach") == len(CLAIMED)
    found: Verdict = "met" if count == len(CLAIMED) else "in reach" if in_reach else "not met"
    why = "utilisation, p95 RTT, loss and reward: each with the verdict of its own row"
    name, ours = f"of {len(CLAIMED)} claims together", Estimate(float(count), None, None, 1)
    return Row.of(f"against {rival}", name, float(len(CLAIMED)), ours, found, why)


def _difference(calls: Sequence[Call], rival: str, figure: str) -> Row:
    """R3Net's figure minus a rival's on the same networks; windows of one recording are alike."""
    both = pairs(calls, OURS, rival, lambda call: (call.network, call.seed))
    ours = grouped_mean((own.recording, getattr(own, figure) - getattr(other, figure)) for own, other in both)
    title, sign = FIGURES[figure]
    table, name = f"against {rival}", f"{title}, less {rival}'s"
    printed = PUBLISHED[OURS][figure] - PUBLISHED[rival][figure] if rival in PUBLISHED else None
    if printed == 0:
        return Row.of(table, name, printed, ours, "not comparable", "the paper has no difference here")
    return Row.judged(table, name, printed, ours, Lead(printed, more_is_better=sign > 0))


def one_run(folder: Path) -> dict[str, Any]:
    """Figure 2: capacity and what arrived, in kbit/s by seconds, of the first network of a path."""
    rows = summary_rows(folder)
    first = rows[0]
    curves: dict[str, Any] = {"recording": first["trace"]}
    for row in rows:
        if (row["trace"], row["seed"]) != (first["trace"], first["seed"]):
            continue
        means = query(
            folder,
            "select floor(time_ms / 500) / 2 as s, avg(capacity_bps) as capacity, avg(receiver_rate_bps) as rate "
            f"from series where call = {row['call']} group by s order by s",
        )
        curves.setdefault("capacity", [[mean["s"], round((mean["capacity"] or 0.0) / 1e3)] for mean in means])
        curves.setdefault(row["controller"], [[mean["s"], round((mean["rate"] or 0.0) / 1e3)] for mean in means])
    return curves


def _figure(curves: dict[str, Any]) -> Section:
    """Figure 2: what arrived of one call, under what the link could carry."""
    shown = [(kind, name) for kind, name in (("available", "capacity"), ("c1", "ukf"), ("c0", OURS)) if name in curves]
    lines = [chart.Line(kind, curves[name]) for kind, name in shown]
    title = f"Receiver rate over time, kbit/s, {curves['recording']} (as Figure 2; means of 0.5 s)"
    return Section(
        "One run", legend=shown, charts=[(title, chart.draw([chart.Axes(lines)], title, width=720, unit=" s"))]
    )
