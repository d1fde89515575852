"""CLCC (docs/papers/clcc.md): its Figures 3 to 7 against GCC and HRCC, on random networks and on LTE.

Each claim is judged in two set-ups (:mod:`legato_studies.papers.clcc.setups`): as printed and stricter. The random
networks are Table III's, 100 per repeat, from seeds that training never draws from; the LTE traces are a family the
policy never saw, and a repeat is another stretch of each. No clip is one of those trained with. ``hrcc`` is of this
repository (docs/papers/hrcc.md) and trained on the networks that ``clcc`` was.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from markupsafe import Markup

from legato.plan import shipped
from legato.report import chart
from legato.report.pages import Section
from legato.results.query import parts, query, version
from legato.runs.sweep import Progress, check_empty
from legato_studies.papers.clcc import behaviour, causes
from legato_studies.papers.clcc import figures as clcc_figures
from legato_studies.papers.clcc import vmaf as clcc_vmaf
from legato_studies.papers.clcc.behaviour import CLIFF_S, DRAWN, RECOVERY_S, Behaviour
from legato_studies.papers.clcc.figures import SUMMED_UP, VMAF, Call
from legato_studies.papers.clcc.setups import GCC, HRCC, MODULE, OWN, SENDER, SETUPS, TALKER, Sweep, sweeps
from legato_studies.papers.reproduction import Figure, Paper, Reproduction, Row, means, play

REPEATS = 5

_GROUPS = {
    "random": "random networks (Figures 3, 5)",
    "LTE": "LTE as recorded (Figures 4, 6)",
    "LTE at a fifth": "LTE at a fifth of its rate (ours)",
    "wider": "networks drawn wider (ours)",
}
_AGAINST = {
    GCC: "CLCC against GCC",
    HRCC: "CLCC against HRCC",
    MODULE: "CLCC against HRCC's rules without their network, GCC wholly at the receiver",
    SENDER: "CLCC against GCC at the sender",
    "hrcc against gcc": "HRCC against GCC",
    "shipped policy": "The shipped policy against GCC",
    "median seed": "The median of the shipped policy's five seeds against GCC",
    "Table II": "Trained with Table II's numbers, against GCC",
    "Table II, gcc at the sender": "Trained with Table II's numbers, against GCC at the sender",
    "constant rate": "Why: a constant 200 kbit/s against GCC",
}


def _titles() -> Iterator[tuple[str, str]]:
    for comparison in clcc_figures.COMPARISONS:
        title = _AGAINST[comparison.suffix or GCC]
        yield from ((comparison.table(group), f"{title}: {text}") for group, text in _GROUPS.items())
    for group, figure in zip(SETUPS[0].groups, ("Figure 5b, c", "Figure 6b, c"), strict=True):
        for rival in (GCC, HRCC):
            title = f"The parts of both scores, {_AGAINST[rival].replace('against', 'minus')}: {group} ({figure})"
            yield clcc_figures.parts_table(group, rival), title
    yield clcc_figures.LTE_BESIDE_RANDOM, "Section V-C: LTE beside random networks"
    for group in SETUPS[0].groups:
        yield causes.table_of(group), f"Why: CLCC minus GCC, part by part: {_GROUPS[group]}"
    yield behaviour.TABLE, "Figure 7: the three behaviours"
    yield behaviour.TABLE_OF_TABLE_II, "Figure 7, trained with Table II's numbers"


PAPER = Paper("clcc", "CLCC", dict(_titles()), digits="+.2f", printed_zero="better")


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
    made = list(sweeps(seeds, quick))
    links = {name: plan for setup in SETUPS for name, plan in behaviour.plans_of(setup, quick).items()}
    plans = {sweep.name: sweep.plan for sweep in made} | links
    runs = play(plans, out / "run", threads=threads, on_progress=on_progress)
    calls = [call for sweep in made for call in read_calls(runs[sweep.name], sweep)]
    series = {name: behaviour.series(runs[name]) for name in links}
    found = [
        behaviour.behaviour(setup.name, name, controller, of_call["target_bps"])
        for setup in SETUPS
        for name in behaviour.plans_of(setup, quick)
        for controller, of_call in series[name].items()
    ]
    rows: list[Row] = [*clcc_figures.judge(calls), *clcc_figures.judge_parts(calls)]
    rows += [*causes.judge(calls), *behaviour.judge(found)]
    drawn = series[behaviour.name(SETUPS[0], *DRAWN)]
    done = Reproduction(PAPER, out, version(next(iter(runs.values()))), tuple(rows), tuple(calls))
    trained = _trained()
    return done.write(
        _introduction(done, trained),
        [*_means(calls), _behaviour_section(found), _series_section(drawn)],
        before_rows={"trained": trained},
        behind_rows={"figure_7": {"behaviour": [asdict(each) for each in found], "series": drawn}},
    )


def _trained() -> dict[str, Any]:
    path = shipped.policies_folder() / OWN / "policy.toml"
    return dict(tomllib.loads(path.read_text(encoding="utf-8")).get("trained", {}))


def read_calls(folder: Path, of: Sweep) -> list[Call]:
    """The figures of every call of a run folder."""
    # A file's stretches are not independent: they are one network. A trace's name ends in " @ start".
    network = "trim(split_part(trace, '@', 1))" if of.group.startswith("LTE") else "seed::varchar"
    largest = "select call, max(arrived_ns - sent_ns) / 1e6 as largest_delay_ms from packets group by call"
    if not parts(folder, "packets"):
        largest = "select call, null as largest_delay_ms from summary"
    figures = ", ".join(f"coalesce({name}::double, 'nan') as {name}" for name in SUMMED_UP)
    sql = (
        f"select call, {network} as network, controller, receiver_rate_bps, largest_delay_ms, {figures}, "
        "one_way_delay_mean_ms - queue_delay_mean_ms as least_delay_ms "
        f"from summary left join ({largest}) using (call) order by call"
    )
    found = causes.read(folder)
    if found and of.setup.clips == (TALKER,):
        for call, vmaf in clcc_vmaf.read(folder, TALKER).items():
            found[call][VMAF] = vmaf
    return [
        Call(setup=of.setup.name, networks=of.group, repeat=of.repeat, parts=found.get(row.pop("call"), {}), **row)
        for row in query(folder, sql)
    ]


def _introduction(done: Reproduction, trained: Mapping[str, Any]) -> list[Markup]:
    counts = {
        (setup.name, group): len(
            {(call.network, call.repeat) for call in done.calls if (call.setup, call.networks) == (setup.name, group)}
        )
        for setup in SETUPS
        for group in setup.groups
    }
    return [
        Markup(
            "Li, Lu, Xu, Song, Zhang, Li, Yin: Reinforcement Learning Based Cross-Layer Congestion Control for "
            "Real-Time Communication. A receiver that sees packets and frames, against GCC and HRCC: {}, of each "
            "controller, 45 s each, Legato {}. Changes from a rival's mean to CLCC's, with 95 % intervals over "
            "networks (LTE: over files)."
        ).format(
            ", ".join(f"{count} calls on {group} ({setup})" for (setup, group), count in counts.items()), done.version
        ),
        *(_described(setup.name) for setup in SETUPS),
        Markup(
            "The shipped policy is of seed {} of five, {:,} decisions (<code>{}</code>); that of the set-up as printed "
            "was trained on Table III alone. Both were trained on other random networks, on no LTE trace, "
            "and with other clips. HRCC is this repository's, written from its slides and "
            "from facts of its code (<code>docs/papers/hrcc.md</code>), and trained on the same networks and clips. "
            "VMAF is that of pictures of the clip at the size and PSNR that were shown, in the first repeat. "
            "Interpretation and shortfalls: <code>docs/papers/clcc.md</code>."
        ).format(trained.get("seed", "?"), trained.get("steps", 0), trained.get("command", "?")),
    ]


def _described(setup: str) -> Markup:
    text = {
        SETUPS[0].name: "a policy of Table III alone, <code>gcc-receiver</code>, at most 2.5 Mbit/s, clip "
        "<code>talker</code> of 720 rows, the paper's measures.",
        SETUPS[1].name: "the shipped policy, <code>gcc</code>, at most 6 Mbit/s, three clips in turn, pictures and "
        "delays as viewed.",
    }[setup]
    return Markup("<b>{}</b>: " + text + " All senders pace at 2.5 times their target.").format(setup.capitalize())


_BEHIND: dict[str, Figure] = {
    "receiver_rate_bps": ("receiving rate kbit/s", 1e-3, 0),
    "one_way_delay_mean_ms": ("packet delay ms", 1.0, 1),
    "loss_ratio": ("loss %", 100.0, 2),
    "psnr_db_mean": ("PSNR dB", 1.0, 2),
    VMAF: ("VMAF", 1.0, 1),
    "ssim_db_mean": ("SSIM dB", 1.0, 2),
    "frame_delay_mean_ms": ("frame delay ms", 1.0, 1),
    "frame_drop_ratio": ("drops %", 100.0, 2),
    "height_mean": ("rows", 1.0, 0),
    "viewed_psnr_db_mean": ("PSNR as viewed dB", 1.0, 2),
    "viewed_delay_mean_ms": ("delay as viewed ms", 1.0, 1),
}


def _means(calls: Sequence[Call]) -> list[Section]:
    """Each controller's own means: a table per set-up and set of networks, and one of the parts."""
    return [
        section
        for setup in SETUPS
        for group in setup.groups
        for section in _means_of([c for c in calls if (c.setup, c.networks) == (setup.name, group)], setup.name, group)
    ]


def _means_of(calls: Sequence[Call], setup: str, group: str) -> Iterator[Section]:
    def mean(of: Sequence[Call], column: str) -> float | None:
        values = [value for call in of if (value := call.value(column)) is not None and value == value]
        return sum(values) / len(values) if values else None

    by_name = {name: [c for c in calls if c.controller == name] for name in dict.fromkeys(c.controller for c in calls)}
    rows = [(name, [mean(of, column) for column in _BEHIND]) for name, of in by_name.items()]
    yield means(f"Behind the figures: {group}, {setup}", list(_BEHIND.values()), rows)
    if any(call.parts for call in calls):
        columns = [(title, 1.0, 2) for title in causes.PARTS.values()]
        rows = [(name, [mean(of, column) for column in causes.PARTS]) for name, of in by_name.items()]
        yield means(f"Part by part: {group}, {setup}", columns, rows, "First repeat.")


_BEHAVIOUR: dict[str, Figure] = {
    "climb_s": ("reaches 1 Mbit/s, s", 1.0, 1),
    "lowest_bps": ("lowest target in 5 s after the cliff, kbit/s", 1e-3, 0),
    "late_rise_ratio": ("rise over the last 5 s before it, %", 100.0, 1),
}


def _behaviour_section(found: Sequence[Behaviour]) -> Section:
    rows = [
        (f"{controller}, {setup.name}", [sum(getattr(each, name) for each in of) / len(of) for name in _BEHAVIOUR])
        for setup in SETUPS
        for controller in dict.fromkeys(each.controller for each in found if each.setup == setup.name)
        if (of := [each for each in found if (each.setup, each.controller) == (setup.name, controller)])
    ]
    note = (
        f"3 Mbit/s, less from {CLIFF_S:g} s to {RECOVERY_S:g} s: means over {len(behaviour.ONE_WAY_MS)} delays, "
        f"{len(behaviour.LOWS_BPS)} depths of the cliff, 300 ms of queue. The paper: CLCC climbs faster, "
        "cuts deeper at the cliff, and holds its rate where the picture gains nothing."
    )
    return means("Figure 7: means", list(_BEHAVIOUR.values()), rows, note)


def _series_section(series: Mapping[str, Mapping[str, Sequence[Sequence[Any]]]]) -> Section:
    """One run as the paper draws it."""
    drawn = (OWN, SETUPS[0].rivals[GCC], SETUPS[0].rivals[HRCC])

    def points(name: str, column: str, scale: float) -> list[chart.Point]:
        return [(at, value * scale) for at, value in series[name][column] if value is not None]

    charts = []
    for title, column, scale in (
        ("Target, Mbit/s", "target_bps", 1e-6),
        ("Packet delay, ms", "one_way_delay_ms", 1.0),
        ("Rows of the picture", "height", 1.0),
    ):
        lines = [chart.Line(f"c{n}", points(name, column, scale)) for n, name in enumerate(drawn)]
        if column == "target_bps":
            lines.insert(0, chart.Line("available", points(drawn[0], "capacity_bps", 1e-6)))
        charts.append((title, chart.draw([chart.Axes(lines)], title, unit=" s", x_marks=(CLIFF_S, RECOVERY_S))))
    legend = [*((f"c{n}", name) for n, name in enumerate(drawn)), ("available", "capacity")]
    note = f"{SETUPS[0].name.capitalize()}: {DRAWN[0]:g} ms one way, a cliff to {DRAWN[1] / 1e6:g} Mbit/s."
    return Section("Figure 7: one run", note, legend=legend, charts=charts)
