"""CLCC (docs/papers/clcc.md): its Figures 3 to 7 against GCC and HRCC, on random networks and on LTE.

The random networks are Table III's, 100 per repeat, from seeds that training never draws from; the LTE traces are a
family the policy never saw, and a repeat is another stretch of each. The clip is none of those trained with. The bar is
GCC of this repository, and for the paper's other rival `hrcc`, of this repository too (docs/papers/hrcc.md) and trained
on the networks that `clcc` was. VMAF is not computed here: SSIM in dB stands beside it, and decides nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from legato import chart, shipped
from legato import plan as plans
from legato.pages import Section
from legato.plan import Plan
from legato.published.clcc_figures import CONTROLLERS, FIGURES, RIVALS, SUMMED_UP, Call, judge, table_of
from legato.published.reproduction import Paper, Reproduction, Row, minus, play
from legato.sweep import Progress, check_empty, parts, query, summary_rows, version

CLIP = "asl-again"
REPEATS = 5
NETWORKS = 100
LTE = "nyc-lte"
"""The family of traces that [clcc]'s source of LTE traces, DeepCC, has published."""
STRETCH_S, LTE_STEP_S = 45.0, 30.0
"""How long a call is, and how far apart the stretches of an LTE trace begin: the shortest has 171 s."""
LTE_SCALES = {"LTE": 1.0, "LTE at a fifth": 0.2}
"""As recorded, and as one user's share of a cell; the paper does not give a scale."""
ANNOTATED = "annotated"
"""The name of Figure 7's run."""
CLIFF_S, RECOVERY_S = 20.0, 30.0
_CAPACITY = [[0.0, 3_000_000], [CLIFF_S, 600_000], [RECOVERY_S, 3_000_000]]

_GROUPS = {
    "random": "Random networks (Figures 3 and 5)",
    "LTE": "LTE traces as recorded (Figures 4 and 6)",
    "LTE at a fifth": "LTE traces at a fifth of their rate (not in the paper)",
}


def _own(row: Row, controller: str) -> str:
    """A controller's own mean behind a change, with its unit."""
    figure = next(figure for figure in FIGURES if figure.name == row.name)
    value = (row.values or {}).get(controller)
    return "–" if value is None else f"{value * figure.scale:.{figure.digits}f} {figure.unit}".strip()


PAPER = Paper(
    "clcc",
    "CLCC",
    {
        table_of(group, rival): f"{title}: CLCC against {rival.upper()}"
        for rival in RIVALS
        for group, title in _GROUPS.items()
    },
    digits="+.2f",
    printed_zero="better",
    own=_own,
)


def reproduce(
    out: str | Path,
    *,
    seeds: int = REPEATS,
    quick: bool = False,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Reproduction:
    """Make the calls and judge them.

    Args:
        out: the folder; calls go to folders below ``out/run``.
        seeds: repeats, each with other random networks and other stretches of the LTE traces.
        quick: four networks and two files per repeat.
    """
    out = Path(out)
    check_empty(out, resume=resume)
    made = _plans(seeds, quick)
    named = {f"{group} {repeat}": plan for (group, repeat), plan in made.items()} | {ANNOTATED: _annotated()}
    runs = play(named, out / "run", threads=threads, on_progress=on_progress)
    calls = [call for group, repeat in made for call in read_calls(runs[f"{group} {repeat}"], group, repeat)]
    done = Reproduction(PAPER, out, version(runs[ANNOTATED]), tuple(judge(calls)), tuple(calls))
    trained, run = _trained(), annotated_run(runs[ANNOTATED])
    found = behaviour(run)
    return done.write(
        _introduction(done, trained),
        [_behaviour_section(found), _series_section(run)],
        before_rows={"trained": trained},
        behind_rows={"figure_7": {"behaviour": found, "series": run}},
    )


_ENCODER = {"video.encoder": "x264", "video.vbv_ms": 500}
"""That of the scenario ``clcc``, in which it was trained."""


def _plans(repeats: int, quick: bool) -> dict[tuple[str, int], Plan]:
    """What is run: by set of networks and repeat."""
    made: dict[tuple[str, int], Plan] = {}
    files = [trace.path for trace in shipped.traces() if trace.family == LTE]
    files, networks = (files[:2], 4) if quick else (files, NETWORKS)
    for repeat in range(1, repeats + 1):
        log = "packets" if repeat == 1 else "summary"
        first = 1000 * repeat + 1
        how: dict[str, Any] = {"controller_specs": CONTROLLERS, "clip_specs": [CLIP], "log": log}
        made["random", repeat] = plans.make("clcc", seed_spec=range(first, first + networks), **how)
        for group, scale in LTE_SCALES.items():
            traces = [f"{path}@scale={scale},start_s={LTE_STEP_S * (repeat - 1)}" for path in files]
            of_lte = plans.make("cellular", options={"duration_s": STRETCH_S, **_ENCODER}, seed_spec=[repeat], **how)
            made[group, repeat] = replace(of_lte, traces=plans.traces(traces))
    return made


def _annotated() -> Plan:
    """Figure 7's run: room to climb, a cliff, room again."""
    options = {"duration_s": STRETCH_S, "forward.capacity": {"steps": _CAPACITY}, **_ENCODER}
    return plans.make("steps", options=options, controller_specs=CONTROLLERS, clip_specs=[CLIP], log="series")


def _trained() -> dict[str, Any]:
    path = shipped.policies_folder() / "clcc" / "policy.toml"
    return dict(tomllib.loads(path.read_text(encoding="utf-8")).get("trained", {}))


def read_calls(folder: Path, group: str, repeat: int) -> list[Call]:
    """The figures of every call of a run folder."""
    # A file's stretches are not independent: they are one network. A trace's name ends in " @ start".
    network = "seed::varchar" if group == "random" else "trim(split_part(trace, '@', 1))"
    largest = "select call, max(arrived_ns - sent_ns) / 1e6 as largest_delay_ms from packets group by call"
    if not parts(folder, "packets"):
        largest = "select call, null as largest_delay_ms from summary"
    figures = ", ".join(f"coalesce({name}::double, 'nan') as {name}" for name in SUMMED_UP)
    sql = (
        f"select {network} as network, controller, receiver_rate_bps, largest_delay_ms, {figures}, "
        "one_way_delay_mean_ms - queue_delay_mean_ms as least_delay_ms "
        f"from summary left join ({largest}) using (call) order by call"
    )
    return [Call(networks=group, repeat=repeat, **row) for row in query(folder, sql)]


def annotated_run(folder: Path) -> dict[str, dict[str, list[list[float | None]]]]:
    """Figure 7: target, capacity, resolution and delay over time, by controller."""
    names = {"target_bps": "target_bitrate_bps"}
    names |= {name: name for name in ("capacity_bps", "one_way_delay_ms", "height", "receiver_rate_bps")}
    made: dict[str, dict[str, list[list[float | None]]]] = {}
    for call in summary_rows(folder):
        rows = query(folder, f"select time_ms / 1e3 as s, * from series where call = {call['call']} order by s")
        made[call["controller"]] = {name: [[row["s"], row[column]] for row in rows] for name, column in names.items()}
    return made


def behaviour(run: Mapping[str, Mapping[str, Sequence[Sequence[Any]]]]) -> dict[str, dict[str, float | None]]:
    """The three things the paper says of Figure 7, as numbers, by controller.

    ``reaches_1mbps_s``: when the target first does; ``lowest_after_cliff_bps``: of the target, within 5 s;
    ``late_rise_ratio``: how much the target rose over the last 5 s before the cliff.
    """
    found = {}
    for controller, series in run.items():
        targets = [(time_s, bps) for time_s, bps in series["target_bps"] if bps is not None]
        reached = [time_s for time_s, bps in targets if bps >= 1e6]
        after = [bps for time_s, bps in targets if CLIFF_S <= time_s < CLIFF_S + 5.0]
        before = [bps for time_s, bps in targets if CLIFF_S - 5.0 <= time_s < CLIFF_S]
        found[controller] = {
            "reaches_1mbps_s": reached[0] if reached else None,
            "lowest_after_cliff_bps": min(after, default=None),
            "late_rise_ratio": before[-1] / before[0] - 1.0 if before else None,
        }
    return found


def _introduction(done: Reproduction, trained: Mapping[str, Any]) -> list[Markup]:
    counts = {
        group: len({(call.network, call.repeat) for call in done.calls if call.networks == group})
        for group in dict.fromkeys(call.networks for call in done.calls)
    }
    return [
        Markup(
            "Li, Lu, Xu, Song, Zhang, Li, Yin: Reinforcement Learning Based Cross-Layer Congestion Control for "
            "Real-Time Communication. A receiver that sees packets and frames, against GCC and HRCC: {}, of each "
            "controller, 45 s each, clip {}, Legato {}. Changes from a rival's mean to CLCC's, with 95 % "
            "intervals over networks (LTE: over files)."
        ).format(", ".join(f"{count} calls on {group}" for group, count in counts.items()), CLIP, done.version),
        Markup(
            "The policy is of seed {} of five, {:,} decisions (<code>{}</code>). It was trained on other random "
            "networks (drawn from other seeds than these {} per repeat), on no LTE trace, and with other clips. HRCC "
            "is this repository's, written from its slides and from facts of its code "
            "(<code>docs/papers/hrcc.md</code>), and trained on the same networks and clips. VMAF is not computed: "
            "SSIM in dB stands beside it. Interpretation and shortfalls: <code>docs/papers/clcc.md</code>."
        ).format(trained.get("seed", "?"), trained.get("steps", 0), trained.get("command", "?"), NETWORKS),
    ]


_BEHAVIOUR = (
    ("reaches_1mbps_s", "reaches 1 Mbit/s, s", 1.0),
    ("lowest_after_cliff_bps", "lowest target in 5 s after the cliff, kbit/s", 1e-3),
    ("late_rise_ratio", "rise over the last 5 s before it, %", 100.0),
)


def _behaviour_section(found: Mapping[str, Mapping[str, float | None]]) -> Section:
    def shown(value: float | None, scale: float) -> str:
        return "never" if value is None else minus(f"{value * scale:.1f}")

    note = (
        f"3 Mbit/s, 0.6 from {CLIFF_S:g} s to {RECOVERY_S:g} s, 50 ms one way, 300 ms of queue. The paper: CLCC climbs "
        "faster, cuts deeper at the cliff, and holds its rate where the picture gains nothing."
    )
    rows = [[name, *(shown(found[name][key], scale) for key, _, scale in _BEHAVIOUR)] for name in CONTROLLERS]
    return Section("One run (Figure 7)", note, ["", *(title for _, title, _ in _BEHAVIOUR)], rows)


def _series_section(series: Mapping[str, Mapping[str, Sequence[Sequence[Any]]]]) -> Section:
    def points(name: str, column: str, scale: float) -> list[chart.Point]:
        return [(at, value * scale) for at, value in series[name][column] if value is not None]

    charts = []
    for title, column, scale in (
        ("Target, Mbit/s", "target_bps", 1e-6),
        ("Packet delay, ms", "one_way_delay_ms", 1.0),
        ("Rows of the picture", "height", 1.0),
    ):
        lines = [chart.Line(f"c{n}", points(name, column, scale)) for n, name in enumerate(CONTROLLERS)]
        if column == "target_bps":
            lines.insert(0, chart.Line("available", points(CONTROLLERS[0], "capacity_bps", 1e-6)))
        charts.append((title, chart.draw([chart.Axes(lines)], title, unit=" s", x_marks=(CLIFF_S, RECOVERY_S))))
    legend = [*((f"c{n}", name) for n, name in enumerate(CONTROLLERS)), ("available", "capacity")]
    return Section("", legend=legend, charts=charts)
