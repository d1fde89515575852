"""NVC-CC (docs/papers/nvc-cc.md): its Table 3 and Figures 4 to 12, made again.

What is run, and where training and test are apart:

- *synthetic*: 50 networks of Table 2, drawn by seeds 1 to 50 as ``legato run`` draws them; training draws its own from
  streams named by environment and call, which no run's seed leads to.
- *Ethernet*, *cellular*: ten recorded links each (families fcc and nyc-lte). Nothing is trained on a recorded link.
- *other families*: what else of recorded links lies beside, for the question how far a policy carries.
- 57 clip profiles: three clips that no training has seen, each at 19 sizes of 360 to 1080 rows. The stand-in codec
  prices a picture by its pixels, so that size takes the place of the difficulty that 57 real videos differ in.

Figure 7 (training time against the safeguard's sensitivity) needs a training for each point, and OnRL for H.264
(Figure 4) one more (:mod:`legato.published.nvc_cc_trainings`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from .. import plan as plans
from .. import shipped
from ..errors import Error
from ..sweep import Progress, sweep
from .nvc_cc_sessions import Sessions
from .nvc_cc_trainings import H264, Convergence, train_all
from .trainings import OnTraining

FORMAT = 1
SCENARIO = "nvc_cc"
RULES = ("oracle", "gcc", "salsify", "fbra")
GUARDED = "onrl + safeguard"
LEARNED = (
    "aurora",
    "onrl",
    f"safeguard@inner=onrl,label={GUARDED}",
    "nvc-cc",
)
CONTROLLERS = (*RULES, "aurora", "onrl", GUARDED, "nvc-cc")
CLIPS = ("asl-sister", "bunny", "foreman")
HEIGHTS = tuple(range(360, 1081, 40))
"""Rows of the picture; 720 is what the stand-in's figures are of, and the mean of these."""
NETWORKS = 50
LINKS = 10
FAMILIES = {
    "Ethernet": ("fcc", 1.0),
    "cellular": ("nyc-lte", 0.25),
    "mahimahi": ("mahimahi", 0.5),
    "nyu-mets": ("nyu-mets", 0.4),
    "starlink-mobile": ("starlink-mobile", 0.2),
    "ucc-5g": ("ucc-5g", 0.15),
    "wifi-zhuge": ("wifi-zhuge", 0.15),
}
"""Families of recorded links and what their rates are multiplied by: most are too fast for a call of 6 Mbit/s."""
FIG_12 = ("Ethernet", "cellular")
FIG_6 = (2_000_000, 25.0, 30_000)
"""[nvc-cc] Fig. 6: 25 ms one way, 30 KB; the link's rate is not printed. Fig. 7 names no network: this one."""
POLICIES = ("nvc-cc", "aurora", "onrl")
"""Whose trainings Figure 10 compares."""
CURVES = "training.json"
"""Beside a shipped policy: its five trainings, evaluation by evaluation."""


@dataclass(frozen=True)
class Size:
    """How much of it is run."""

    networks: int = NETWORKS
    links: int = LINKS
    heights: tuple[int, ...] = HEIGHTS
    clips: tuple[str, ...] = CLIPS
    duration_s: float | None = None


QUICK = Size(networks=2, links=1, heights=(720,), clips=CLIPS[:1], duration_s=5.0)


@dataclass(frozen=True)
class Sweep:
    """One sweep: part of a setting."""

    setting: str
    name: str
    plan: plans.Plan

    @property
    def calls(self) -> int:
        lists = (self.plan.controllers, self.plan.traces, self.plan.clips, self.plan.seeds)
        count = 1
        for values in lists:
            count *= max(len(values), 1)
        return count


@dataclass(frozen=True)
class Reproduction:
    """What was run, and what was found."""

    folder: Path
    size: Size
    rows: tuple[Any, ...]
    sessions: Sessions
    curves: dict[str, list[dict[str, Any]]]
    convergences: tuple[Convergence, ...]
    version: str


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
    """Run everything and write ``reproduction.json`` beside the run folders.

    Args:
        out: the folder; runs go to ``out/run``.
        quick: a small version, to see that it works: two networks, one clip, 5 s.
        size: another size.
        trainings: those of Figures 4 and 7 as well; ``quick`` makes none.
        resume: go on with the folder.
        on_training: called before each training.
    """
    from . import nvc_cc_claims

    out = Path(out)
    if out.is_dir() and any(out.iterdir()) and not resume:
        raise Error(
            f"{out}: is there and not empty", hint="give --resume to go on with it, or another folder with --out"
        )
    size = size or (QUICK if quick else Size())
    made = train_all(out / "trainings", one_link(*FIG_6), on_training) if trainings and not quick else None
    todo = list(sweeps(size))
    if made is not None:
        todo.append(_sweep("Fig. 4", "fig-4-trained", size, [made.h264], 720, _networks(size), **H264))
    folders = run(todo, out / "run", threads=threads, on_progress=on_progress)
    manifest = json.loads((folders[0][1] / "manifest.json").read_text(encoding="utf-8"))
    sessions = Sessions.read(folders)
    curves = {name: training_curves(name) for name in POLICIES}
    convergences = made.convergences if made else ()
    rows = nvc_cc_claims.judge(sessions, curves, [folder for _, folder in folders], convergences)
    version = f"{manifest['legato']} ({manifest['commit'][:12]})"
    done = Reproduction(out, size, tuple(rows), sessions, curves, convergences, version)
    write_json(done)
    return done


def run(
    todo: Sequence[Sweep],
    folder: Path,
    *,
    threads: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
) -> list[tuple[str, Path]]:
    """Make the sweeps one after the other, finished parts not again; (setting, folder) of each."""
    calls = sum(each.calls for each in todo)
    before = Progress(0, calls, 0.0, 0.0)
    folders = []
    for each in todo:

        def progress(now: Progress, before: Progress = before) -> None:
            if on_progress is not None:
                on_progress(
                    Progress(
                        before.calls_done + now.calls_done,
                        calls,
                        before.simulated_s + now.simulated_s,
                        before.wall_s + now.wall_s,
                    )
                )

        made = sweep(each.plan, folder / each.name, threads=threads, resume=True, on_progress=progress)
        before = replace(
            before,
            calls_done=before.calls_done + made.calls,
            simulated_s=before.simulated_s + made.simulated_s,
            wall_s=before.wall_s + made.wall_s,
        )
        folders.append((each.setting, folder / each.name))
    return folders


def sweeps(size: Size, groups: Sequence[tuple[str, Sequence[str]]] | None = None) -> Iterator[Sweep]:
    """Everything that is run, in order."""
    groups = groups or (("rules", RULES), ("learned", LEARNED))
    for height in size.heights:
        for name, controllers in groups:
            yield _sweep("synthetic", f"synthetic-{height}-{name}", size, controllers, height, _networks(size))
    for setting, (family, scale) in FAMILIES.items():
        links = recorded_links(family, size.links)
        if not links:  # families under a copyleft licence stay behind in an installed package
            continue
        specs = [f"{path}@scale={scale}" for path in links]
        # Figure 12 has 570 sessions of each of its two; the others are there to see how far a policy carries.
        for height in size.heights if setting in FIG_12 else (720,):
            for name, controllers in groups:
                part = f"{setting.lower()}-{height}-{name}"
                yield _sweep(setting, part, size, controllers, height, [1], specs)
    yield from _small(size)


def _sweep(
    setting: str,
    name: str,
    size: Size,
    controllers: Sequence[str],
    height: int,
    seeds: Sequence[int],
    traces: Sequence[str] = (),
    **options: Any,
) -> Sweep:
    changes: dict[str, Any] = {"video.standin_height": height, **options}
    if size.duration_s is not None:
        changes["duration_s"] = size.duration_s
    made = plans.make(
        SCENARIO,
        options=changes,
        controller_specs=controllers,
        trace_specs=traces,
        clip_specs=size.clips,
        seed_spec=seeds,
        log="summary",
    )
    return Sweep(setting, name, made)


def _small(size: Size) -> Iterator[Sweep]:
    """Figures 4 to 6, 8 and 9, which need a few calls each."""
    one = replace(size, clips=size.clips[:1])
    guarded = _sweep("Fig. 6", "fig-6", one, [LEARNED[2]], 720, [1], **one_link(*FIG_6))
    yield replace(guarded, plan=replace(guarded.plan, log="series"))
    # [nvc-cc] Fig. 5: which answers are given; networks of Table 2.
    asked = replace(one, networks=min(size.networks, 10))
    seeds = list(range(1, asked.networks + 1))
    answers = _sweep("Fig. 5", "fig-5", one, LEARNED[1:3], 720, seeds)
    yield replace(answers, plan=replace(answers.plan, log="series"))
    # [nvc-cc] Fig. 8: one codec, two rates, with a tenth lost and without.
    for rate, loss in ((1_810_000, 0.1), (1_068_000, 0.0)):
        fixed = f"fixed@target_bitrate_bps={rate},label=fixed"
        name = f"fig-8-{rate // 1000}"
        yield _sweep(name, name, one, [fixed], 720, [1], **one_link(8_000_000, 25.0, 300_000, loss))
    # [nvc-cc] Fig. 9: 1 Mbit/s, 10 ms, a queue of one packet.
    yield _sweep("Fig. 9", "fig-9", one, LEARNED[2:], 720, [1], **one_link(1_000_000, 10.0, 1_500))
    # [nvc-cc] Fig. 4: a codec that cannot decode what is incomplete.
    yield _sweep("Fig. 4", "fig-4", size, (*RULES[1:], *LEARNED[1:3]), 720, _networks(size), **H264)


def one_link(bps: int, one_way_ms: float, queue_bytes: int, loss_ratio: float = 0.0) -> dict[str, Any]:
    """One network that holds still, as changes of the scenario."""
    return {
        "forward.capacity": {"constant_bps": bps},
        "forward.propagation_ms": one_way_ms,
        "reverse.propagation_ms": one_way_ms,
        "forward.queue": {"limit_bytes": queue_bytes},
        "forward.loss_ratio": loss_ratio,
    }


def _networks(size: Size) -> list[int]:
    return list(range(1, size.networks + 1))


def recorded_links(family: str, count: int) -> list[Path]:
    """So many of a family's traces, evenly spaced in the order of their names."""
    paths = [trace.path for trace in shipped.traces() if trace.family == family]
    if len(paths) <= count:
        return paths
    return [paths[(2 * n + 1) * len(paths) // (2 * count)] for n in range(count)]


def training_curves(name: str) -> list[dict[str, Any]]:
    """The trainings behind a shipped policy; none where there is no file of them."""
    path = shipped.policies_folder() / name / CURVES
    return json.loads(path.read_text(encoding="utf-8"))["seeds"] if path.is_file() else []


def write_json(done: Reproduction) -> Path:
    """``reproduction.json``: every row, mean and curve, for scripts."""
    document = {
        "format": FORMAT,
        "paper": "nvc-cc",
        "version": done.version,
        "size": asdict(done.size),
        "rows": [asdict(row) for row in done.rows],
        "means": done.sessions.means(),
        "training": done.curves,
        "convergence": [asdict(each) for each in done.convergences],
    }
    path = done.folder / "reproduction.json"
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    partial.replace(path)
    return path
