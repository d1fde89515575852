"""Concerto (docs/papers/concerto.md): its Fig. 7 to 24 and Tables 3 and 4 on recorded 3G, 4G and Wi-Fi links.

Claims are judged in two set-ups, as printed and stricter (:mod:`legato_studies.papers.concerto.setups`). Nothing of a
test is seen in training: files of traces and clips are others (:mod:`legato.links`), and the shipped policies
were chosen by windows of training files. Calls of Fig. 19 to 21 have several seeds: they move where in the clip it
begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from legato.links import HELD_OUT, access_networks
from legato.plan import Plan
from legato.report.pages import Section, counted
from legato.results.query import version
from legato.runs.sweep import Progress, check_empty
from legato_studies.papers.concerto import calibration, cost, cycle, deployment, design, encoder, following
from legato_studies.papers.concerto import calls as concerto_calls
from legato_studies.papers.concerto.calls import Call
from legato_studies.papers.concerto.cycle import Session
from legato_studies.papers.concerto.estimates import mean
from legato_studies.papers.concerto.setups import PRINTED, QUICK_S, SETUPS, Setup
from legato_studies.papers.reproduction import AS_PRINTED, SEEN, STRICTER, Figure, Paper, Reproduction, Row, means, play
from legato_studies.papers.trainings import OnTraining

SEEDS = 3
"""They move where in the clip a call begins; intervals are over recordings."""

PAPER = Paper(
    "concerto",
    "Concerto",
    {
        "Fig. 7": "Fig. 7: GCC with video against GCC alone",
        "Fig. 9": "Fig. 9: how far the target falls",
        "Fig. 10": "Fig. 10: how long it takes to recover",
        "Fig. 11": "Fig. 11: variation of the encoder's bitrate",
        "Fig. 12": "Fig. 12: the same by target",
        "Fig. 13": "Fig. 13: lag of the encoder",
        "Fig. 14": "Fig. 14: updates of the estimate while it recovers",
        "Fig. 19": "Fig. 19: the two scores",
        "5.2": "Section 5.2: the three rivals beside each other",
        "Fig. 20": "Fig. 20: Concerto's throughput",
        "Fig. 21": "Fig. 21: Concerto's frame delay",
        "Fig. 22": "Fig. 22: how closely the target follows the bandwidth",
        "5.3": "Section 5.3: smoothness",
        "5.3 trained": "Section 5.3: the regulariser; intervals over trainings",
        "Table 3": "Table 3: inputs and losses, QoE_p without its constant, over the whole's; intervals over trainings",
        "Table 4": "Table 4: trained on one kind of access, tested on another; intervals over trainings",
        "3.2": "Section 3.2: other networks, held-out reward without its constant, over ours; intervals over trainings",
        "Fig. 23": "Fig. 23: held-out reward over beta and loops, over the default's; intervals over trainings",
        "Fig. 24": "Fig. 24: held-out reward over epochs, over the default's; intervals over trainings",
        "open": "What the paper leaves open: the expert's share, SMILE's mixture; intervals over trainings",
        "Table 5": "Table 5: throughput and stalls of a deployment, beside those of simulated calls",
        "Costs": "Size, time of a decision, speed of the simulator",
        "Costs printed": "Size and time of a network of the paper's size",
    },
    over="recordings or clips",
)


@dataclass
class _Part:
    """A sweep and what reads it."""

    plan: Plan
    read: Callable[[Path], None]


@dataclass
class _Found:
    """What the runs gave."""

    calls: dict[str, list[Call]] = field(default_factory=dict)
    """By set-up."""
    sessions: dict[str, list[Session]] = field(default_factory=dict)
    points: list[calibration.Point] = field(default_factory=list)
    coded: list[encoder.Coded] = field(default_factory=list)
    lag_s: list[tuple[str, float]] = field(default_factory=list)
    followed: list[following.Followed] = field(default_factory=list)
    drawn: dict[str, Any] = field(default_factory=dict)
    variants: list[Call] = field(default_factory=list)

    def rows(self) -> list[Row]:
        """Every row, but for those of the trainings."""
        rows = []
        for setup in SETUPS:
            rows += cycle.judge_cycle(self.sessions.get(setup.name, []), setup)
            rows += concerto_calls.judge(self.calls.get(setup.name, []), setup)
            rows += deployment.judge_deployment(self.calls.get(setup.name, []), setup)
        rows += following.judge_following(self.followed, PRINTED)
        return rows + encoder.judge_encoder(self.coded, self.lag_s)


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
    """Make the calls of both set-ups, train and test the variants of Tables 3 and 4 and of Fig. 23 and 24, judge.

    Args:
        out: the folder; calls go to ``out/runs``, traces by the second to ``out/traces``, trainings to
            ``out/trainings``.
        seeds: of the calls of Fig. 19 to 21; variants get one.
        quick: three windows of each kind of access, one clip and one seed, and no trainings.
        trainings: train and test the variants; ``quick`` does not.
        resume: continue with what is there.
        on_training: called before each training.
    """
    out = Path(out)
    check_empty(out, resume=resume)
    seeds = 1 if quick else seeds
    found = _Found()
    parts = _parts(found, out / "traces", seeds, quick)
    _play(parts, out / "runs", threads, on_progress)
    rows = found.rows()
    trainings_s = None
    if trainings and not quick:
        from legato_studies.papers.concerto import variants as concerto_variants

        trained = concerto_variants.train_all(out / "trainings", on_training)
        trainings_s = trained.wall_s
        _play(_variant_parts(found, trained.specs, out / "traces"), out / "runs", threads, on_progress)
        rows += concerto_variants.judge_variants(found.variants)
        rows += design.judge_design(trained.rewards_qoe)
    rows += cost.judge_cost()
    folder = next((out / "runs").glob("**/manifest.json")).parent
    every = [call for setup in SETUPS for call in found.calls[setup.name]]
    done = Reproduction(PAPER, out, version(folder), tuple(rows), tuple(every))
    return done.write(
        [_introduction(done, seeds, trainings_s)],
        [
            following.section(found.drawn),
            calibration.section(found.points),
            *(_behind(found.calls[s.name], s) for s in SETUPS),
        ],
        before_rows={"seeds": seeds, "trainings_s": trainings_s},
        behind_rows={"calibration": calibration.documents(found.points)},
    )


def _parts(found: _Found, traces: Path, seeds: int, quick: bool) -> dict[str, _Part]:
    parts: dict[str, _Part] = {}
    for name, plan in calibration.calibration_plans(traces, quick):
        parts[f"calibration/{name}"] = _Part(
            plan, lambda run: found.points.extend(calibration.read_points({run.name: run}))
        )
    for name, plan in encoder.encoder_plans(quick):
        parts[f"encoder/{name}"] = _Part(plan, partial(_read_encoder, found, name))
    for setup in (replace(setup, duration_s=QUICK_S) if quick else setup for setup in SETUPS):
        specs = cycle.networks(setup, traces, quick)
        for scheme, plan in cycle.cycle_plans(setup, specs):
            name = f"cycle/{setup.name}-{scheme}".replace(" ", "-")
            parts[name] = _Part(plan, partial(_read_sessions, found.sessions.setdefault(setup.name, []), plan, specs))
        for name, access, plan in concerto_calls.call_plans(setup, traces, seeds, quick):
            windows = concerto_calls.chosen(setup, access, traces, quick)
            parts[name] = _Part(
                plan, partial(_read_calls, found.calls.setdefault(setup.name, []), access, plan, windows, setup)
            )
        if setup.by_second:
            specs = following.one_each(setup, traces, quick)
            for name, plan in following.following_plans(setup, specs):
                parts[name] = _Part(plan, partial(_read_followed, found, plan, specs))
    return parts


def _read_sessions(into: list[Session], plan: Plan, specs: Sequence[str], run: Path) -> None:
    into += cycle.read_sessions(run, plan, specs)


def _read_calls(into: list[Call], access: str, plan: Plan, windows: Sequence[str], setup: Setup, run: Path) -> None:
    into += concerto_calls.read_calls(run, access, plan, windows, setup)


def _read_encoder(found: _Found, name: str, run: Path) -> None:
    if name == "lag":
        found.lag_s += encoder.read_lags(run)
        return
    setup = AS_PRINTED if name == AS_PRINTED.replace(" ", "-") else STRICTER
    found.coded += encoder.read_coded(run, setup)


def _read_followed(found: _Found, plan: Plan, specs: Sequence[str], run: Path) -> None:
    followed, lines = following.read_followed(run, plan, specs)
    found.followed += followed
    found.drawn |= lines


def _variant_parts(found: _Found, specs: Sequence[str], traces: Path) -> dict[str, _Part]:
    parts = {}
    for access in access_networks.ACCESSES:
        plan = concerto_calls.call_plan(PRINTED, access, specs, traces, 1, quick=False)
        windows = concerto_calls.chosen(PRINTED, access, traces, quick=False)
        parts[f"variants-{access}"] = _Part(plan, partial(_read_calls, found.variants, access, plan, windows, PRINTED))
    return parts


def _play(parts: dict[str, _Part], folder: Path, threads: int, on_progress: Callable[[Progress], None] | None) -> None:
    plans = {name: part.plan for name, part in parts.items()}
    for name, run in play(plans, folder, threads=threads, on_progress=on_progress).items():
        parts[name].read(run)


# --- the page -----------------------------------------------------------------------------------------------------


def _introduction(done: Reproduction, seeds: int, trainings_s: float | None) -> Markup:
    named = ((access, access_networks.files_by_second(access, HELD_OUT)) for access in access_networks.ACCESSES)
    trained = "Tables 3 and 4 were left out."
    if trainings_s is not None:
        trained = f"The trainings of Tables 3 and 4 took {trainings_s / 60:.0f} min."
    return Markup(
        "Zhou et al., MobiCom 2019, over recorded 3G, 4G and Wi-Fi links slowed into the range of its bitrates: as "
        "printed, links by the second and calls of 300 s; stricter, links as recorded, calls of 60 s and waiting "
        "charged. {} calls, {}, Legato {}. Means with 95 % intervals over recordings, of which networks are windows, "
        "for Fig. 11 to 13 over clips, for costs over repetitions. Training and tests share no trace file and no clip: "
        "tests have every fifth file ({}) and the clips {}. {} Costs are of {}. Differences from the paper, and what "
        "its normalised scores may be: <code>docs/papers/concerto.md</code>."
    ).format(
        len(done.calls),
        counted(seeds, "seed"),
        done.version,
        "; ".join(f"{access}: {', '.join(path.name for path in paths)}" for access, paths in named),
        ", ".join(access_networks.TEST_CLIPS),
        trained,
        cost.machine(),
    )


_BEHIND: Mapping[str, Figure] = {
    **SEEN,
    "ssim_db": ("SSIM dB", 1.0, 2),
    "throughput_bps": ("throughput kbit/s", 1e-3, 0),
    "frame_delay_ms": ("frame delay ms", 1.0, 0),
    "smoothness_mbps": ("step Mbit/s", 1.0, 3),
}


def _behind(calls: Sequence[Call], setup: Setup) -> Section:
    """The parts of the scores, by access and scheme."""
    rows = [
        (f"{access}, {scheme}", [mean([c for c in calls if c.access == access], name, scheme).mean for name in _BEHIND])
        for access in access_networks.ACCESSES
        for scheme in concerto_calls.scheme_names(setup)
    ]
    return means(f"Behind the figures: {setup.name}", list(_BEHIND.values()), rows)
