"""NVC-CC (docs/papers/nvc-cc.md): its Table 3 and Figures 4 to 12, made again.

Figure 7 (training time against the safeguard's sensitivity) needs a training for each point, and OnRL for H.264
(Figure 4) one more (:mod:`legato_studies.papers.nvc_cc.trainings`). Figure 10 shows the shipped policies' trainings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from markupsafe import Markup

from legato.links import CAPACITIES, FAMILIES
from legato.plan import shipped
from legato.report import chart
from legato.report.pages import Section
from legato.results.query import version
from legato.results.stats import Array
from legato.runs.sweep import Progress, check_empty
from legato_studies.papers.nvc_cc import claims, hybrid, loss, readings
from legato_studies.papers.nvc_cc.sessions import Sessions
from legato_studies.papers.nvc_cc.sweeps import (
    CLIPS,
    CONTROLLERS,
    FIG_6,
    PRINTED,
    QUICK,
    ROUND_TRIP,
    Size,
    fig_4,
    one_link,
    sweeps,
)
from legato_studies.papers.nvc_cc.trainings import Convergence, train_all
from legato_studies.papers.reproduction import AS_PRINTED, SEEN, STRICTER, Figure, Paper, Reproduction, means, play
from legato_studies.papers.trainings import OnTraining
from legato_studies.papers.verdict import VERDICTS

POLICIES = ("nvc-cc", "aurora", "onrl")
"""Whose trainings Figure 10 compares: those trained as printed, and stricter those of today."""
TRAINED = {AS_PRINTED: "-as-printed", STRICTER: ""}
"""The suffix of their names, by set-up."""
CURVES = "training.json"
"""Next to a shipped policy: its five trainings, evaluation by evaluation."""

PAPER = Paper(
    "nvc-cc",
    "NVC-CC",
    {
        "Fig. 10": "Figure 10: how soon and how far trainings get",
        "Fig. 10, readings": "Figure 10 under four readings of eq. (3)",
        "Fig. 11": "Figure 11: quality, delay and stalls on unseen networks of Table 2",
        "Table 3": "Table 3: at the network",
        "Table 3, round trip": "Table 3 with the delay of Table 2 read as the round trip",
        "Fig. 12, Ethernet": "Figure 12: recorded fixed links",
        "Fig. 12, cellular": "Figure 12: recorded cellular links",
        "Generalisation": "Beyond the paper: against GCC on links absent from training",
        "Fig. 4": "Figure 4: OnRL with H.264",
        "Fig. 5": "Figure 5: actions with and without the safeguard",
        "Fig. 6": "Figure 6: how often the safeguard holds",
        "Fig. 7": "Figure 7: what a safeguard gives a training and what it takes",
        "Fig. 8": "Figure 8: a higher rate with loss against a lower one without",
        "Fig. 9": "Figure 9: a queue of one packet",
        **loss.TABLES,
        **hybrid.TABLES,
    },
    over="networks or trainings",
)


def reproduce(
    out: str | Path,
    *,
    quick: bool = False,
    size: Size | None = None,
    trainings: bool = True,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_training: OnTraining | None = None,
) -> Reproduction:
    """Run everything, and train for Figures 4 and 7.

    Args:
        out: the folder; runs go to ``out/run``, trainings to ``out/trainings``.
        quick: a small version, to see that it works: two networks, one clip, 5 s.
        size: another size.
        trainings: those of Figures 4 and 7 as well; ``quick`` makes none.
        resume: continue with the folder.
        on_training: called before each training.
    """
    out = Path(out)
    check_empty(out, resume=resume)
    size = size or (QUICK if quick else Size())
    made = train_all(out / "trainings", one_link(*FIG_6), on_training) if trainings and not quick else None
    todo = [
        *sweeps(size),
        *loss.sweeps(size),
        *hybrid.sweeps(size),
        *([fig_4("fig-4-trained", size, [made.h264])] if made else []),
    ]
    runs = play({each.name: each.plan for each in todo}, out / "run", threads=threads, on_progress=on_progress)
    folders = [(each.setting, runs[each.name]) for each in todo]
    sessions = Sessions.read(folders)
    curves = {setup: {name: training_curves(name + ending) for name in POLICIES} for setup, ending in TRAINED.items()}
    convergences = made.convergences if made else ()
    rewards = by_reading(quick=quick)
    rows = claims.judge(sessions, curves, list(runs.values()), convergences, rewards)
    rows += [*loss.judge(sessions), *hybrid.judge(sessions)]
    done = Reproduction(PAPER, out, version(folders[0][1]), tuple(rows))
    return done.write(
        _introduction(done, size, sessions),
        [*_tradeoff(convergences), *_behind(sessions)],
        first=[section for setup, of_setup in curves.items() for section in _curves(of_setup, setup)],
        before_rows={"size": asdict(size)},
        behind_rows={
            "means": sessions.means(),
            "training": curves,
            "convergence": [asdict(each) for each in convergences],
            "grids": [asdict(grid) for grid in (*claims.own_figures(sessions), *hybrid.own_figures(sessions))],
        },
    )


def by_reading(*, quick: bool) -> dict[str, dict[str, dict[str, Array]]]:
    """The policies' rewards under each reading of eq. (3), by set-up; none where Gymnasium is not installed."""
    if find_spec("gymnasium") is None:
        return {}
    how: dict[str, Any] = {"heights": (720,), "duration_s": 3.0} if quick else {}
    groups = {AS_PRINTED: readings.AS_PRINTED, STRICTER: readings.AS_TRAINED_HERE}
    found = {}
    for setup, contestants in groups.items():
        rewards = readings.judged(contestants, **how)
        found[setup] = {each.controller: rewards[each.policy] for each in contestants}
    return found


def training_curves(name: str) -> list[dict[str, Any]]:
    """The trainings behind a shipped policy; none where there is no file of them."""
    path = shipped.policies_folder() / name / CURVES
    return json.loads(path.read_text(encoding="utf-8"))["seeds"] if path.is_file() else []


def _introduction(done: Reproduction, size: Size, sessions: Sessions) -> list[Markup]:
    verdicts = {each: sum(row.verdict == each for row in done.rows) for each in VERDICTS if each != "no claim"}
    return [
        Markup(
            "Xia, Li, Jiang: Loss-tolerant neural video codec aware congestion control. {} networks × {} clip "
            "profiles, {} sessions per controller, Legato {}: {}. Means with 95 % intervals over networks, "
            "those of trainings over seeds. The codec is a stand-in fitted to GRACE's published figures. "
            "Interpretation and differences: <code>docs/papers/nvc-cc.md</code>."
        ).format(
            size.networks,
            len(size.clips) * len(size.heights),
            sessions.count("synthetic"),
            done.version,
            ", ".join(f"{count} {each}" for each, count in verdicts.items()),
        ),
        Markup(
            "<b>Training and test are apart.</b> Trainings draw networks from streams of their own; the networks here "
            "are those of seeds 1 to {}. Clips here ({}) are in no training. Recorded links are in no training at "
            "all. A clip profile is a clip at a size: {} clips × {} heights. Families and what their rates are "
            "multiplied by: {}."
        ).format(
            size.networks,
            ", ".join(CLIPS),
            len(size.clips),
            len(size.heights),
            "; ".join(f"{name}: {FAMILIES[name].folder} × {FAMILIES[name].scale:g}" for name in CAPACITIES),
        ),
    ]


_BEHIND: Mapping[str, Figure] = {
    "ssim_db_mean": ("SSIM dB", 1.0, 2),
    "viewed_ssim_db_mean": ("viewed SSIM dB", 1.0, 2),
    "frame_delay_p98_ms": ("p98 frame delay ms", 1.0, 0),
    "stalls_per_s": ("stalls per second", 1.0, 3),
    **SEEN,
    "on_time_400ms_ratio": ("on time, 400 ms %", 100.0, 1),
    "stall_floor_ratio": ("stall floor %", 100.0, 2),
    "receiver_rate_bps": ("throughput Mbit/s", 1e-6, 2),
}


def _behind(sessions: Sessions) -> list[Section]:
    """The means behind the figures, a table per setting."""
    found = []
    for setting in (PRINTED, ROUND_TRIP, "synthetic", *CAPACITIES, "Fig. 4", *hybrid.SETTINGS):
        names = hybrid.CONTROLLERS if setting in hybrid.SETTINGS else CONTROLLERS
        ran = [name for name in names if name in sessions.controllers(setting)]
        rows = [(name, [sessions.mean(setting, name, figure).mean for figure in _BEHIND]) for name in ran]
        note = f"{sessions.networks(setting)} networks, {sessions.count(setting)} sessions per controller."
        if rows:
            found.append(means(f"Behind the figures: {setting}", list(_BEHIND.values()), rows, note))
    return found


def _tradeoff(convergences: Sequence[Convergence]) -> list[Section]:
    """Figure 7: a point per training; empty without trainings."""
    if not convergences:
        return []
    kinds = list(dict.fromkeys(each.n_std for each in convergences))
    rewards = [each.reward for each in convergences]
    margin = 0.1 * (max(rewards) - min(rewards) or 1.0)
    dots = [
        chart.Dot(
            "c0",
            (each.steps / 1e3, each.reward),
            f"{'no safeguard' if each.n_std is None else f'n_std {each.n_std:g}'}, seed {each.seed}: "
            f"{each.reward:.3f}, {each.steps} decisions",
            0.25 + 0.75 * kinds.index(each.n_std) / max(len(kinds) - 1, 1),
        )
        for each in convergences
    ]
    axes = chart.Axes((), dots, min(rewards) - margin, max(rewards) + margin)
    note = (
        "Mean reward of eq. (2) per decision until a training has converged, against the number of decisions until "
        "then. The darker the point, the more sensitive the safeguard "
        f"({', '.join('none' if kind is None else f'{kind:g}' for kind in kinds)} deviations)."
    )
    end = 1.05 * max(each.steps for each in convergences) / 1e3
    drawn = chart.draw([axes], "Reward until convergence against decisions", width=720, x_end=end, unit="k")
    return [Section("Figure 7", note, charts=[("", drawn)])]


def _curves(curves: dict[str, list[dict[str, Any]]], setup: str) -> list[Section]:
    """Reward on held-out networks against decisions, a line per training."""
    legend = list(zip(("c0", "c1", "other dashed"), POLICIES, strict=True))
    lines = [
        chart.Line(kind, [(steps / 1e3, reward) for steps, _, reward in seed["evaluations"]])
        for kind, name in legend
        for seed in curves.get(name, [])
    ]
    if not lines:
        return []
    axes = chart.Axes(lines, low=min(0.0, *(y for line in lines for _, y in line.points)))
    drawn = chart.draw([axes], "Reward on held-out networks against decisions", width=720, unit="k")
    note = f"Mean reward of eq. (3) on 50 held-out networks against decisions; {POLICIES[2]} runs under its safeguard."
    return [Section(f"Trainings, {setup}", note, legend=legend, charts=[("", drawn)])]
