"""Rate control for real-time video: simulate, train, judge, call.

The commands of the command line are functions::

    import legato

    run = legato.compare(
        ["fixed", "gcc"], traces=["data/traces/nyc-lte"], clips=["foreman"], seeds=3, out="runs/lte"
    )
    for call in run.summary():
        print(call["controller"], call["ssim_db_mean"], call["viewed_delay_p95_ms"])
    legato.write_report([run.folder], "runs/lte/report.html")

What needs more than one function has a module: ``legato.conformance``, ``legato.envs``, ``legato.gap``,
``legato.profile``, ``legato.report``, ``legato.train``. Each is imported on first use.

Errors are subclasses of :class:`legato.Error`; each names the file, the key and the value at fault.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from legato.errors import (
    CallError,
    ControllerError,
    DataWarning,
    Error,
    PolicyError,
    ProfileError,
    RunFolderError,
    ScenarioError,
    TraceError,
    TrainingError,
)

if TYPE_CHECKING:
    from legato._core import Policy, Trace
    from legato.call.pictures import Pictures
    from legato.call.session import CallProgress
    from legato.runs.replay import Replay
    from legato.runs.sweep import Progress, Run


def run(
    scenario: str | Path,
    *,
    out: str | Path,
    options: Mapping[str, Any] | None = None,
    controllers: Iterable[str] = (),
    traces: Iterable[str | Path] = (),
    clips: Iterable[str | Path] = (),
    seeds: int | Sequence[int] = 1,
    log: str = "series",
    calls_per_part: int | None = None,
    strict: bool = False,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_clip_progress: Callable[[str, float], None] | None = None,
) -> Run:
    """Make the calls of one scenario and write them to a run folder.

    Args:
        scenario: a TOML file, or the name of a scenario that comes with Legato (``"cellular"``).
        out: the run folder (docs/run-folder.md); it must not hold another run.
        options: values of the scenario to change, by dotted key: ``{"duration_s": 30}``.
        controllers: names, with optional parameters: ``["gcc", "fixed@target_bitrate_bps=800000"]``.
            If empty, the scenario's own; likewise for ``traces`` and ``clips``.
        traces: files, folders, globs or shipped names (``"fcc"``, ``"fcc/12"``), with optional options:
            ``"lte/*.txt@scale=0.25,start_s=30"``.
        clips: profiles, video files (profiled first, then cached), globs of both, or shipped names.
        seeds: a number of seeds (1, 2, ...), or a list of them.
        log: ``"summary"``, ``"series"`` or ``"packets"``.
        calls_per_part: number of calls per file; an interrupted run is resumed by whole files.
        strict: refuse a trace or clip that cannot be read among several; otherwise it is left out with a
            :class:`legato.DataWarning`.
        threads: number of threads; 0 means one per core. The bytes written do not depend on it.
        resume: continue an interrupted run.
        on_progress: called about every 20 ms with a :class:`legato.runs.sweep.Progress`.
        on_clip_progress: called while a video is profiled, with the current step and its progress, 0 to 1.
    """
    from legato import plan as plans
    from legato.runs.sweep import check_folder, sweep

    check_folder(Path(out), resume=resume)
    plan = plans.make(
        scenario,
        options=options,
        controller_specs=controllers,
        trace_specs=traces,
        clip_specs=clips,
        seed_spec=seeds,
        log=log,
        calls_per_part=calls_per_part,
        strict=strict,
        on_clip_progress=on_clip_progress,
    )
    return sweep(plan, out, threads=threads, resume=resume, on_progress=on_progress)


def compare(
    controllers: Iterable[str],
    *,
    traces: Iterable[str | Path],
    clips: Iterable[str | Path],
    out: str | Path,
    scenario: str | Path = "cellular",
    **how: Any,
) -> Run:
    """Cross controllers with traces, clips and seeds: :func:`run` with the lists named first."""
    return run(scenario, out=out, controllers=controllers, traces=traces, clips=clips, **how)


def real_calls(
    scenario: str | Path,
    *,
    out: str | Path,
    options: Mapping[str, Any] | None = None,
    controllers: Iterable[str] = (),
    traces: Iterable[str | Path] = (),
    seeds: int | Sequence[int] = 1,
    pictures: Pictures | None = None,
    peers: str = "chromium",
    direction: str = "send",
    link: str = "inside",
    feedback: str = "twcc",
    vmaf: bool = False,
    learn: str | Path | None = None,
    log: str = "series",
    strict: bool = False,
    resume: bool = False,
    on_progress: Callable[[CallProgress], None] | None = None,
) -> Run:
    """Make real calls of one scenario and write them to a run folder: with a headless Chromium, or without.

    Arguments as for :func:`run`; a scenario's clip is tables without pixels, so ``pictures`` names what is sent.
    ``peers="chromium-chromium"``: another Chromium sends in place of Legato, under its own rate control.
    ``peers="legato"``: both ends are Legato, and no browser is needed.
    ``direction="receive"``: Chromium sends to Legato, under a receiver-side controller or only its own; ``"both"``:
    the near end sends forward and the far end in reverse, two flows of one session.
    ``link="tun"``: browsers run in network namespaces with the link between them; needs root, on Linux.
    ``feedback="remb"``: a browser that sends gets no transport-wide feedback, so that REMB decides its rate.
    Combinations that cannot be called are refused by :class:`legato.call.ends.Session`.
    ``vmaf=True``: what was viewed of Legato's pictures is also measured by VMAF, with ffmpeg (extra ``vmaf``).
    ``learn``: a folder; the one learned controller goes on learning in these calls, under the safeguard, and its policy
    is written there (extra ``train``).
    """
    from dataclasses import replace

    from legato import plan as plans
    from legato.call import make
    from legato.call.ends import Session, with_both_ways
    from legato.call.pictures import Pictures
    from legato.runs.sweep import check_folder

    session = Session.of(peers, direction, link, feedback)
    check_folder(Path(out), resume=resume)
    asked = options
    if direction == "both":
        options = with_both_ways(plans.read_scenario(scenario, options)[1], options)
    plan = plans.make(
        scenario,
        options=options,
        controller_specs=controllers,
        trace_specs=traces,
        seed_spec=seeds,
        log=log,
        calls_per_part=1,
        strict=strict,
    )
    pictures = pictures or Pictures()
    ends = {"peers": peers, "direction": direction, "link": link, "feedback": feedback}
    call = {**ends, **pictures.options(), "vmaf": vmaf}
    plan = replace(plan, call=call, options=plans.assignments(asked))
    learning = None
    if learn is not None:
        if direction != "send":
            raise CallError(
                f"learn: with direction {direction}; only a call that our near end sends in is learned from"
            )
        from legato.train.in_calls import LearningInCalls

        learning = LearningInCalls(plan, learn, resume=resume)
        plan = replace(plan, call={**call, "learns": next(iter(controllers)), "learn": str(learn)})
        plan = learning.steered(plan)
    return make(
        plan, out, session, pictures=pictures, vmaf=vmaf, learning=learning, resume=resume, on_progress=on_progress
    )


def link(
    scenario: str | Path,
    *,
    near: str,
    far: str,
    out: str | Path,
    options: Mapping[str, Any] | None = None,
    traces: Iterable[str | Path] = (),
    seeds: int | Sequence[int] = 1,
    name: str = "others",
    log: str = "series",
    strict: bool = False,
    resume: bool = False,
    on_progress: Callable[[CallProgress], None] | None = None,
) -> Run:
    """Run two programs over a scenario's link, each in a network namespace, and write what passed the link.

    ``near`` and ``far`` are shell command lines; what the near program sends counts as media. Their addresses are in
    ``LEGATO_OWN`` and ``LEGATO_PEER``. Tables have ``name`` in place of a controller. Needs root, on Linux.
    """
    from dataclasses import replace

    from legato import plan as plans
    from legato.call import make, others
    from legato.runs.sweep import check_folder

    check_folder(Path(out), resume=resume)
    plan = plans.make(
        scenario,
        options=options,
        trace_specs=traces,
        seed_spec=seeds,
        log=log,
        calls_per_part=1,
        strict=strict,
    )
    plan = replace(plan, call={"near": near, "far": far, "name": name})
    programs = others.Programs(near, far, name)
    return make(plan, out, others.SESSION, programs=programs, resume=resume, on_progress=on_progress)


def replay(folder: str | Path, call: int, *, out: str | Path) -> Replay:
    """Repeat one call of a run with every packet logged, and report whether its figures are the same."""
    from legato.runs.replay import replay as make_again

    return make_again(folder, call, out)


def rtp_log(folder: str | Path, call: int, *, side: str = "sender", rtcp: bool = True) -> Iterator[str]:
    """The lines of one call's RTP log (RFC 8868, section 3.1); ``side`` is ``"sender"`` or ``"receiver"``."""
    from legato.runs.rtp_log import rtp_lines as lines

    return lines(folder, call, side, rtcp)


def write_report(
    folders: Iterable[str | Path],
    out: str | Path,
    *,
    baseline: str | None = None,
    max_timelines: int | None = None,
    late_calls: bool = False,
) -> Path:
    """Write one self-contained HTML report of one or more run folders; returns its path.

    Args:
        folders: run folders, complete or not.
        out: the file.
        baseline: the controller that others are compared with; by default gcc if it ran, else the first.
        max_timelines: maximum number of calls whose time line is embedded, about 15 kB each.
        late_calls: count real calls whose emulated link was late, which are left out otherwise.
    """
    from legato import report

    most = report.MAX_TIMELINES if max_timelines is None else max_timelines
    return report.write(folders, out, baseline, most, late_calls=late_calls)


def load_trace(path: str | Path, format: str | None = None) -> Trace:
    """A capacity trace: a file in any format that Legato reads, or a shipped trace by its name (``"fcc/12"``).

    Where a file holds several traces, ``path#part`` names one; without a part the longest is taken.
    ``format`` names the format where the content is ambiguous.
    """
    from legato import _core, plan

    addresses = plan.trace_addresses(str(path))
    if len(addresses) > 1:
        raise TraceError(f"{path}: names {len(addresses)} traces, one is needed", hint="legato traces list shows them")
    return _core.load_trace(addresses[0], format)


def controllers() -> list[dict[str, Any]]:
    """Every controller: ``name``, ``side``, ``learned``, ``for_study``, ``summary``, ``cites``, ``defaults_toml``.

    One that is for study has a policy that loses to ``gcc``, with the codec that it is for, on a family of links that
    Legato ships (docs/generalisation.md): it is there for comparison, not for calls that matter.
    """
    from legato import _core

    return _core.controllers()


_MODULES = ("conformance", "envs", "gap", "profile", "report", "train")


def __getattr__(name: str) -> Any:
    # Imported on first use: `legato --help` need not wait for duckdb.
    if name in ("Policy", "Trace", "__version__"):
        from legato import _core

        return _core.version() if name == "__version__" else getattr(_core, name)
    if name in _MODULES:
        return importlib.import_module(f"legato.{name}")
    raise AttributeError(f"module 'legato' has no attribute '{name}'")


__all__ = [
    "CallError",
    "ControllerError",
    "DataWarning",
    "Error",
    "Policy",
    "PolicyError",
    "ProfileError",
    "RunFolderError",
    "ScenarioError",
    "Trace",
    "TraceError",
    "TrainingError",
    "compare",
    "controllers",
    "link",
    "load_trace",
    "real_calls",
    "replay",
    "rtp_log",
    "run",
    "write_report",
]
