"""``legato.run`` and ``legato.compare``: chosen calls are simulated and written to a run folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from legato.plan import Choice
from legato.runs.sweep import Progress, Run, check_folder, sweep


def run(
    scenario: str | Path | Choice,
    *,
    out: str | Path,
    options: Mapping[str, Any] | None = None,
    controllers: Iterable[str] = (),
    traces: Iterable[str | Path] = (),
    clips: Iterable[str | Path] = (),
    seeds: int | Sequence[int] = 1,
    log: str = "series",
    duration_s: float | None = None,
    calls_per_part: int | None = None,
    strict: bool = False,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_clip_progress: Callable[[str, float], None] | None = None,
) -> Run:
    """Make the calls of one scenario and write them to a run folder.

    Args:
        scenario: a TOML file, or the name of a scenario that comes with Legato (``"cellular"``); or all that is chosen
            of the calls, as a :class:`legato.plan.Choice`. What else belongs to one is described there.
        out: the run folder (docs/reference/run-folder.md); it must not hold another run.
        calls_per_part: number of calls per file; an interrupted run is resumed by whole files.
        threads: number of threads; 0 means one per core. The bytes written do not depend on it.
        resume: continue an interrupted run.
        on_progress: called about every 20 ms with a :class:`legato.runs.sweep.Progress`.
        on_clip_progress: called while a video is profiled, with the current step and its progress, 0 to 1.
    """
    check_folder(Path(out), resume=resume)
    choice = Choice.of(scenario, options, controllers, traces, clips, seeds, log, duration_s, strict)
    plan = choice.plan(calls_per_part, on_clip_progress)
    return sweep(plan, out, threads=threads, resume=resume, on_progress=on_progress)


def compare(
    controllers: Iterable[str],
    *,
    traces: Iterable[str | Path],
    clips: Iterable[str | Path],
    out: str | Path,
    scenario: str | Path = "cellular",
    options: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] = 1,
    log: str = "series",
    duration_s: float | None = None,
    calls_per_part: int | None = None,
    strict: bool = False,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_clip_progress: Callable[[str, float], None] | None = None,
) -> Run:
    """Cross controllers with traces, clips and seeds: :func:`run` with the lists named first."""
    return run(
        Choice(scenario, options, controllers, traces, clips, seeds, log, duration_s, strict),
        out=out,
        calls_per_part=calls_per_part,
        threads=threads,
        resume=resume,
        on_progress=on_progress,
        on_clip_progress=on_clip_progress,
    )
