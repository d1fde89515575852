"""What a leaderboard is made of: the parts that are played, each a folder of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from legato.conformance import CASES
from legato.conformance.contestants import playable
from legato.conformance.suite import Suite, conformance
from legato.errors import Error, did_you_mean
from legato.plan import controllers as planned
from legato.plan import overrides, specs
from legato.runs.sweep import Progress, check_empty
from legato_studies.leaderboard import calls, company, edges, papers
from legato_studies.leaderboard.calls import Calls
from legato_studies.leaderboard.company import Company
from legato_studies.leaderboard.edges import Edges
from legato_studies.leaderboard.links import chosen, held_out

BASE = "gcc"
CEILING = "clairvoyant"
NOT_RANKED = ("fixed", "opennetlab", "remote")
"""One does not adapt, one is somebody's file, one is half of others."""
CLIPS = ("asl-night", "foreman")
"""Easy and hard: of the first 0.75 Mbit/s are nearly all that an encoder can use, the other has a moving camera.
`legato` was tuned on neither."""
ENCODERS = ("openh264", "x264")
PARTS = ("networks", "company", "edges", "conformance", "papers")
SWEPT = "8869-3.2g"
"""RFC 8869's cases that repeat 3.2 with more stations: half of the work of all cases, and left out."""


@dataclass(frozen=True)
class Size:
    """How much is played."""

    links: int = 10
    """Of each family, at most."""
    duration_s: float = 60.0
    """Of a call that has its link to itself."""
    seeds: int = 5
    """Of each session in company, and of each edge case."""
    paper_duration_s: float | None = None
    """None: each paper's own."""


@dataclass(frozen=True)
class Board:
    """A leaderboard that was played. A part that was not has None."""

    folder: Path
    size: Size
    controllers: tuple[str, ...]
    clips: tuple[str, ...]
    encoders: tuple[str, ...]
    networks: Calls | None = None
    company: Company | None = None
    edges: Edges | None = None
    conformance: Suite | None = None
    papers: dict[str, Calls] = field(default_factory=dict)


def leaderboard(
    controllers: Iterable[str] = (),
    *,
    out: str | Path,
    families: Sequence[str] = (),
    clips: Sequence[str] = CLIPS,
    encoders: Sequence[str] = ENCODERS,
    parts: Sequence[str] = PARTS,
    cases: Sequence[str] = (),
    size: Size | None = None,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[str, Progress], None] | None = None,
) -> Board:
    """Play controllers on the shipped families of links, in company, in edge cases, in the cases of RFC 8867 and 8869,
    and in two papers' settings.

    Args:
        controllers: names, with parameters as for :func:`legato.compare`; none: every one that adapts. `gcc`, from
            which all are measured, and `clairvoyant`, which is the ceiling, play in any case.
        out: the folder; the runs are below ``out/runs``.
        families: of links, by the names of :data:`legato_studies.leaderboard.links.NAMES`; none: all.
        clips: profiles, easy ones and hard ones.
        encoders: as in scenarios, ``video.encoder``.
        parts: of :data:`PARTS`.
        cases: of conformance, by key or section; none: all but the 30 of 8869's section 3.2 g.
        size: how much of it.
        resume: continue a folder that holds some of the same runs.
        on_progress: called with the name of the part that is played.
    """
    out, size = Path(out), size or Size()
    for part in parts:
        if part not in PARTS:
            raise Error(f"parts = {part}: a leaderboard has no such part", hint=did_you_mean(part, PARTS))
    who = contestants(controllers)
    links = [link for of_family in held_out(chosen(families), size.links) for link in of_family]
    if not links:
        raise Error(f"families = {', '.join(families)}: none of their links is here", hint="a checkout has all of them")
    check_empty(out, resume=resume)
    runs = out / "runs"

    def watch(name: str) -> Callable[[Progress], None] | None:
        return None if on_progress is None else lambda progress: on_progress(name, progress)

    how: dict[str, Any] = {"threads": threads, "resume": resume}
    board: dict[str, Any] = {}
    if "networks" in parts:
        found = []
        for encoder in encoders:
            found += calls.play(
                runs / f"networks-{encoder}",
                links,
                who,
                clips=list(clips),
                setting=f"{{clip}}, {encoder}",
                options={"duration_s": size.duration_s, "video.encoder": encoder},
                on_progress=watch(f"links, {encoder}"),
                **how,
            ).calls
        board["networks"] = Calls(found)
    if "company" in parts:
        said = None if on_progress is None else (lambda key, progress: on_progress(f"company, {key}", progress))
        board["company"] = company.play(runs / "company", company.names(who), seeds=size.seeds, on_progress=said, **how)
    if "edges" in parts:
        said = None if on_progress is None else (lambda key, progress: on_progress(f"edge {key}", progress))
        ranked = company.names(who)
        board["edges"] = edges.play(runs / "edges", ranked, seeds=size.seeds, on_progress=said, **how)
    if "conformance" in parts:
        said = None if on_progress is None else (lambda key, progress: on_progress(f"case {key}", progress))
        every = [case.key for case in CASES if not case.key.startswith(SWEPT)]
        board["conformance"] = conformance(
            company.names(who), out=runs / "conformance", cases=list(cases) or every, on_progress=said, **how
        )
    if "papers" in parts:
        board["papers"] = {
            setting.key: papers.play(
                runs / setting.key,
                setting,
                who,
                count=size.links,
                duration_s=size.paper_duration_s,
                on_progress=watch(setting.key),
                **how,
            )
            for setting in papers.SETTINGS
        }
    return Board(out, size, tuple(who), tuple(clips), tuple(encoders), **board)


def contestants(controllers: Iterable[str]) -> list[str]:
    """The controllers that play, as typed; with the two references."""
    typed = specs.listed(controllers)
    planned.chosen(typed)
    asked = [_as_typed(*item) for item in specs.items(typed, "controllers")]
    asked = asked or [name for name in playable() if name not in NOT_RANKED]
    return asked + [name for name in (BASE, CEILING) if name not in asked]


def _as_typed(name: str, options: Mapping[str, Any]) -> str:
    changed = ",".join(f"{key}={overrides.written(value)}" for key, value in options.items())
    return f"{name}@{changed}" if changed else name
