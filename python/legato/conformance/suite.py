"""Running the cases and judging them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from legato import atomic
from legato.conformance.case import Case
from legato.conformance.cases import CASES
from legato.conformance.contestants import Contestants, everyone
from legato.conformance.encouraged import ENCOURAGED, chosen, is_meant
from legato.conformance.figures import session_figures
from legato.conformance.flows import Session, read
from legato.conformance.judge import Verdict, worst
from legato.conformance.shapes import SHAPES, Figures, read_all
from legato.conformance.source import Source, of_case
from legato.errors import Error
from legato.plan import Choice, shipped
from legato.results.query import version
from legato.runs.sweep import Progress, check_empty, sweep

FORMAT = 1


@dataclass(frozen=True)
class Suite:
    """Results of a run of the cases: sessions and verdicts by controller and case."""

    folder: Path
    controllers: tuple[str, ...]
    """The judged controllers."""
    cases: tuple[Case, ...]
    verdicts: dict[tuple[str, str], Verdict]
    sessions: dict[tuple[str, str], Session]
    """Of the first seed, for plots."""
    version: str
    seeds: int
    shapes: dict[tuple[str, str], Figures]
    """By controller and shape; none unless all cases were run."""
    references: tuple[str, ...] = ()
    """The reference controllers, some in some cases only."""
    left_out: tuple[tuple[str, str], ...] = ()
    """(name, why) of controllers that could not run."""
    sources: Mapping[str, Source] = field(default_factory=dict)
    """By case: how its source follows a target, measured without a call."""

    @property
    def slow_sources(self) -> tuple[Case, ...]:
        """Cases whose source is not what RFC 8867 section 4.3 asks for."""
        return tuple(case for case in self.cases if case.key in self.sources and not self.sources[case.key].meets)

    def passes(self, controller: str) -> int:
        """How many of its judged cases a controller passes."""
        return sum(self.verdicts[controller, case.key].passed for case in self.judged)

    def shown(self, case: Case) -> list[str]:
        """The controllers that ran in a case, the judged ones first."""
        return [name for name in (*self.controllers, *self.references) if (name, case.key) in self.sessions]

    @property
    def judged(self) -> tuple[Case, ...]:
        """Cases that are verdicts; others only serve as references."""
        referred = {key for case in CASES for key in case.needs}
        return tuple(case for case in self.cases if case.key not in referred)


def conformance(
    controllers: Iterable[str] = (),
    *,
    out: str | Path,
    cases: Sequence[str] = (),
    seeds: int = 1,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[str, Progress], None] | None = None,
) -> Suite:
    """Run cases of RFC 8867 for controllers and judge them.

    Args:
        controllers: names, with parameters as for :func:`legato.compare`; none: every one that adapts,
            with `fixed` and `oracle` beside them for reference.
        out: the folder; each case is a run folder below ``out/runs``, verdicts are ``out/verdicts.json``.
        cases: keys or sections (``5.1``); none: all.
        seeds: how many; the worst seed is the verdict.
        resume: continue a folder that holds some of the same cases.
    """
    out = Path(out)
    picked = chosen(cases)
    unknown = [name for name in cases if not any(is_meant(case, name) for case in picked)]
    if unknown:
        sections = ", ".join(dict.fromkeys(case.section for case in (*CASES, *ENCOURAGED)))
        raise Error(
            f"cases = {unknown[0]}: no case has this name",
            hint=f"sections: {sections}; legato conformance --list shows every case",
        )
    check_empty(out, resume=resume)
    asked = tuple(controllers)
    who = Contestants(asked) if asked else everyone()
    for case in picked:
        made = Choice(
            shipped.scenario(case.scenario),
            options=case.options,
            controllers=who.of(case),
            seeds=seeds,
            log="series",
        ).plan()
        watch = None if on_progress is None else (lambda progress, key=case.key: on_progress(key, progress))
        sweep(made, out / "runs" / case.key, threads=threads, resume=resume, on_progress=watch)
    if not cases:
        for shape in SHAPES:
            made = Choice(shipped.scenario(f"shapes/{shape.key}"), controllers=who.judged, log="series").plan()
            sweep(made, out / "runs" / f"shape-{shape.key}", threads=threads, resume=resume)
    suite = judge(out, picked, who, with_shapes=not cases)
    write_verdicts(suite)
    write_figures(suite)
    return suite


def judge(out: Path, picked: Sequence[Case], who: Contestants, *, with_shapes: bool = False) -> Suite:
    """The verdicts on cases that have been run."""
    sessions: dict[str, dict[str, list[Session]]] = {}
    for case in picked:
        for session in read(out / "runs" / case.key):
            sessions.setdefault(case.key, {}).setdefault(session.controller, []).append(session)
    ran = dict.fromkeys(controller for case in picked for controller in sessions[case.key])
    first = sessions[picked[0].key]
    verdicts, shown = {}, {}
    for case in picked:
        for controller, of_seeds in sessions[case.key].items():
            checks = [
                case.judge(session, {key: sessions[key][controller][n] for key in case.needs})
                for n, session in enumerate(of_seeds)
            ]
            verdicts[controller, case.key] = worst(checks)
            shown[controller, case.key] = of_seeds[0]
    return Suite(
        folder=out,
        controllers=tuple(name for name in ran if name not in who.references),
        references=tuple(name for name in who.references if name in ran),
        left_out=who.left_out,
        cases=tuple(picked),
        verdicts=verdicts,
        sessions=shown,
        version=version(out / "runs" / picked[0].key),
        seeds=len(next(iter(first.values()))),
        shapes=read_all(out / "runs") if with_shapes else {},
        sources={case.key: of_case(case) for case in picked},
    )


def write_verdicts(suite: Suite) -> Path:
    """``verdicts.json``: every figure with its mark, for scripts."""
    kept = ("name", "value", "mark", "passed")
    verdicts = [
        {
            "controller": controller,
            "case": key,
            "reference": controller in suite.references,
            "passed": verdict.passed,
            "checks": [{name: getattr(check, name) for name in kept} for check in verdict.checks],
        }
        for (controller, key), verdict in suite.verdicts.items()
    ]
    shapes = [{"controller": name, "shape": key, **asdict(made)} for (name, key), made in suite.shapes.items()]
    sources = [{"case": key, **asdict(source), "meets": source.meets} for key, source in suite.sources.items()]
    document = {
        "format": FORMAT,
        "version": suite.version,
        "seeds": suite.seeds,
        "sources": sources,
        "verdicts": verdicts,
    }
    return atomic.write_json(suite.folder / "verdicts.json", {**document, "shapes": shapes})


def write_figures(suite: Suite) -> Path:
    """``figures.json``: what RFC 8868 wants reported of each flow and of how they share, of the first seed."""
    sessions = [
        {"controller": controller, "case": key, **asdict(session_figures(session))}
        for (controller, key), session in suite.sessions.items()
    ]
    document = {"format": FORMAT, "version": suite.version, "sessions": sessions}
    return atomic.write_json(suite.folder / "figures.json", document)
