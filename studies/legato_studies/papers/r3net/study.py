"""R3Net (docs/papers/r3net.md): its Table 1 and Figure 2 on networks absent from training, against `ukf` and `gcc`.

The paper's 1,150 test traces are private; ours are windows of recordings that no training saw (legato.links.replayed).
Each claim is judged in two set-ups (:mod:`legato_studies.papers.r3net.setups`): as printed and stricter. Figures of a
controller are means over calls, as the paper's seem to be; verdicts are on differences, call by call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from legato.plan import Plan
from legato.report import chart
from legato.report.pages import Section, counted
from legato.results.query import query, summary_rows, version
from legato.results.stats import Estimate, grouped_mean
from legato.results.totals import mean_above_zero
from legato.runs.sweep import Progress, check_empty
from legato_studies.papers.r3net import cost, frontier
from legato_studies.papers.r3net.setups import GCC, OURS, OWN_UKF, SHIPPED, UKF, UNGUIDED, setups
from legato_studies.papers.reproduction import AS_PRINTED, STRICTER, Paper, Reproduction, Row, pairs, play
from legato_studies.papers.verdict import Lead, Verdict, together

RIVALS: Mapping[str, str] = {UKF: "ukf", GCC: "gcc"}
SEEDS = 5

FIGURES: dict[str, tuple[str, int]] = {
    "utilisation_percent": ("bandwidth utilisation (%)", +1),
    "rtt_mean_ms": ("RTT, mean (ms)", -1),
    "rtt_p50_ms": ("RTT, p50 (ms)", -1),
    "rtt_p95_ms": ("RTT, p95 (ms)", -1),
    "loss_percent": ("packet loss (%)", -1),
    "reward": ("reward, mean", +1),
}
"""The compared figure: its title, and whether more of it is better."""
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
    {
        "1": "Table 1: in simulation",
        f"against {UKF}": "R3Net minus the UKF (as printed: tuned to the published row)",
        f"against {OWN_UKF}": "R3Net minus our UKF as it comes",
        f"against {GCC}": "R3Net minus GCC",
        f"against {SHIPPED}": "The policy trained as printed minus the shipped one",
        UNGUIDED: "R3Net by PPO alone, at the printed learning rate, minus the UKF",
        f"against {UNGUIDED}": "The policy guided early in its training minus the one by PPO alone",
        "noise": "Section 3.2: noisier actions than the UKF's",
        frontier.TABLE: "What loss buys: utilisation over R3Net's guidance and over UKF's margin",
        cost.TABLE: "Costs: a decision, and the simulator",
    },
    digits=".3g",
    over="recordings",
)


@dataclass(frozen=True)
class Call:
    """The compared figures of one call."""

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
    noise_percent: float
    """Mean change of the target from one tenth of a second to the next, over the target."""


# [r3net] §2.2: a call's reward is 0.6 ln(4 R + 1) - D - 10 L. The paper has steps of 50 ms; the series has bins of
# 100 ms, and every controller is scored by the same. NaN: no round trip was measured.
_CALLS = """
with rewards as (
    select call, avg(0.6 * ln(4e-6 * receiver_rate_bps + 1) - coalesce(rtt_ms, 0) / 1e3 - 10 * coalesce(loss_ratio, 0))
        as reward
    from series group by call
), noises as (
    select call, 100 * avg(abs(target - before) / before) as noise_percent from (
        select call, target_bitrate_bps as target,
            lag(target_bitrate_bps) over (partition by call order by time_ms) as before from series
    ) where before > 0 group by call
)
select session, controller, split_part(trace, ' ', 1) as recording, seed,
    100 * utilisation_ratio as utilisation_percent,
    coalesce(rtt_mean_ms, 'nan') as rtt_mean_ms, coalesce(rtt_p50_ms, 'nan') as rtt_p50_ms,
    coalesce(rtt_p95_ms, 'nan') as rtt_p95_ms, 100 * coalesce(loss_ratio, 0) as loss_percent, reward,
    coalesce(noise_percent, 'nan') as noise_percent
from summary join rewards using (call) left join noises using (call) order by call
"""


def reproduce(
    out: str | Path,
    *,
    quick: bool = False,
    seeds: int = SEEDS,
    policy: str = "",
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Reproduction:
    """Play every test network with each controller, in both set-ups.

    Args:
        out: the folder; the calls over path N of a set-up go to ``out/SETUP/path-N``.
        quick: a few networks instead of 1,150, and no costs.
        seeds: how often each network is played, with other video and losses.
        policy: a policy folder instead of those of the set-ups.
    """
    out = Path(out)
    check_empty(out, resume=resume)
    given = list(setups())
    of_setup = {setup.name: setup.plans(seeds, quick, policy) for setup in given}
    of_frontier = frontier.plans(given[0], quick)
    made = {name: plan for of_one in (*of_setup.values(), of_frontier) for name, plan in of_one.items()}
    runs = play(made, out, threads=threads, on_progress=on_progress)
    calls = {name: read_all(of_one, runs) for name, of_one in of_setup.items()}
    on_frontier = read_all(of_frontier, runs)
    rows = [row for setup in given for row in judge(calls[setup.name], setup.rivals, setup.name)]
    rows += frontier.judge(on_frontier, given[0].name)
    rows += [] if quick else cost.judge_cost()
    folder = runs[next(reversed(of_setup[AS_PRINTED]))]
    done = Reproduction(PAPER, out, version(folder), tuple(rows), tuple(call for of in calls.values() for call in of))
    curves = one_run(folder)
    frontier.write_picture(out, on_frontier)
    figures = {"one_run": curves, "frontier": frontier.document(on_frontier)}
    sections = [frontier.section(on_frontier), _figure(curves)]
    return done.write(_introduction(done, calls), sections, behind_rows={"figures": figures})


def _introduction(done: Reproduction, calls: Mapping[str, Sequence[Call]]) -> list[Markup]:
    networks = len({call.network for call in calls[STRICTER]})
    return [
        Markup(
            "Fang et al. 2019: a recurrent network at the receiver decides every 50 ms, against an unscented Kalman "
            "filter with rules. {} networks of 30 s, {}, Legato {}. Means over calls with 95 % intervals over "
            "recordings. The paper's traces are private: ours are windows of recorded broadband and LTE capacity, a "
            "fifth of the files, none of which was used in training or to choose settings. <code>ukf</code> is ours "
            "too. Differences from the paper: <code>docs/papers/r3net.md</code>."
        ).format(networks, counted(done.seeds, "seed"), done.version),
        Markup(
            "<b>As printed</b>: audio beside video, TCP flows on a third of the paths, recorded delay and loss on half "
            "of them, a policy trained on such networks alone, and a UKF tuned to the published row. "
            "<b>Stricter</b>: video alone, constant delay, random loss, the shipped policy, our UKF and GCC."
        ),
    ]


def read_all(made: Mapping[str, Plan], runs: Mapping[str, Path]) -> list[Call]:
    """The figures of all paths; networks are counted over them."""
    calls: list[Call] = []
    for name, plan in made.items():
        calls += read_calls(runs[name], plan, 1 + max((call.network for call in calls), default=-1))
    return calls


def read_calls(folder: Path, plan: Plan, first_network: int) -> list[Call]:
    """The figures of every call of a run folder; its networks are counted from ``first_network``."""
    return [Call(network=first_network + plan.places(row.pop("session"))[1], **row) for row in query(folder, _CALLS)]


def judge(calls: Sequence[Call], rivals: Mapping[str, str] = RIVALS, setup: str | None = None) -> list[Row]:
    """Every row: Table 1, then R3Net minus each rival.

    Args:
        calls: of one set-up.
        rivals: the controller in the calls, by what it stands for in tables.
        setup: whose calls they are.
    """
    calls = sorted(calls, key=lambda call: call.recording)
    rows = []
    for said, controller in {**rivals, OURS: OURS}.items():
        own = [call for call in calls if call.controller == controller]
        for figure, (title, _) in FIGURES.items():
            printed = PUBLISHED.get(said, {}).get(figure)
            ours = mean_above_zero((call.recording, getattr(call, figure)) for call in own)
            why = "other networks, and a rival of ours by the same name: what is judged are the differences below"
            rows.append(Row.of("1", f"{said}: {title}", printed, ours, "not comparable", why))
    known = {call.controller for call in calls}
    for rival, controller in {**rivals, SHIPPED: SHIPPED, UNGUIDED: UNGUIDED}.items():
        if controller not in known:
            continue
        leads = [_difference(calls, rival, controller, figure) for figure in FIGURES]
        rows += leads
        if rival in (UKF, OWN_UKF):
            of_claims = [lead.verdict for lead, key in zip(leads, FIGURES, strict=True) if key in CLAIMED]
            rows.append(_together(rival, of_claims))
    if UNGUIDED in known:
        leads = [_difference(calls, UKF, rivals[UKF], figure, UNGUIDED) for figure in FIGURES]
        of_claims = [lead.verdict for lead, key in zip(leads, FIGURES, strict=True) if key in CLAIMED]
        rows += [replace(lead, table=UNGUIDED) for lead in (*leads, _together(UKF, of_claims))]
    rows.append(_noisier(calls, rivals[UKF]))
    return [replace(row, setup=setup) for row in rows]


def _together(rival: str, verdicts: Sequence[Verdict]) -> Row:
    """The lead in all figures at the same time, which is the paper's claim."""
    count, found = verdicts.count("met"), together(verdicts)
    why = "utilisation, p95 RTT, loss and reward: each with the verdict of its own row"
    name, ours = f"of {len(CLAIMED)} claims together", Estimate(float(count), None, None, 1)
    return Row.of(f"against {rival}", name, float(len(CLAIMED)), ours, found, why)


def _noisier(calls: Sequence[Call], ukf: str) -> Row:
    """[r3net] §3.2: R3Net "takes relatively noisy actions compared to UKF", without a figure."""
    both = pairs(calls, OURS, ukf, lambda call: (call.network, call.seed))
    more = grouped_mean((own.recording, own.noise_percent - other.noise_percent) for own, other in both)
    return Row.judged("noise", "change of the target in 100 ms (%), more than ukf's", None, more, Lead())


def _difference(calls: Sequence[Call], rival: str, controller: str, figure: str, ours: str = OURS) -> Row:
    """R3Net's figure minus a rival's on the same networks; windows of one recording are alike."""
    both = pairs(calls, ours, controller, lambda call: (call.network, call.seed))
    lead = grouped_mean((own.recording, getattr(own, figure) - getattr(other, figure)) for own, other in both)
    title, sign = FIGURES[figure]
    table, name = f"against {rival}", f"{title}, less {rival}'s"
    # The paper has one UKF, and its figures serve for either of ours.
    of_rival = UKF if rival == OWN_UKF else rival
    if of_rival not in PUBLISHED:
        return Row.of(table, name, None, lead, "no claim", "the paper compares with its UKF alone")
    # Differences of printed figures, without what floating point adds to them.
    printed = round(PUBLISHED[OURS][figure] - PUBLISHED[of_rival][figure], 2)
    if printed == 0:
        return Row.of(table, name, printed, lead, "not comparable", "the paper has no difference here")
    return Row.judged(table, name, printed, lead, Lead(printed, more_is_better=sign > 0))


def one_run(folder: Path) -> dict[str, Any]:
    """Figure 2: capacity and receiver rate, in kbit/s by seconds, of the first network of a path."""
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
    """Figure 2: the receiver rate of one call, under the link's capacity."""
    shown = [(kind, name) for kind, name in (("available", "capacity"), ("c1", "ukf"), ("c0", OURS)) if name in curves]
    lines = [chart.Line(kind, curves[name]) for kind, name in shown]
    title = f"Receiver rate over time, kbit/s, {curves['recording']} (as Figure 2; means of 0.5 s)"
    return Section(
        "One run", legend=shown, charts=[(title, chart.draw([chart.Axes(lines)], title, width=720, unit=" s"))]
    )
