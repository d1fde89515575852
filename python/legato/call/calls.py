"""``legato.real_calls`` and ``legato.link``: chosen calls are made for real and written to a run folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from legato.call import make, others
from legato.call.ends import Session, with_both_ways
from legato.call.pictures import Pictures
from legato.errors import CallError
from legato.plan import Choice, scenarios
from legato.runs.sweep import Run, check_folder

if TYPE_CHECKING:
    from legato.call.session import CallProgress


def real_calls(
    scenario: str | Path | Choice,
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
    duration_s: float | None = None,
    strict: bool = False,
    resume: bool = False,
    on_progress: Callable[[CallProgress], None] | None = None,
) -> Run:
    """Make real calls of one scenario and write them to a run folder: with a headless Chromium, or without.

    Arguments as for :func:`legato.run`, and more. Combinations that cannot be called are refused by
    :class:`legato.call.ends.Session`.

    Args:
        pictures: what our ends send, and how all ends code; a scenario's clip is tables without pixels.
        peers: ``"chromium-chromium"``: another Chromium sends in place of Legato, under its own rate control.
            ``"legato"``: both ends are Legato, and no browser is needed.
        direction: ``"receive"``: Chromium sends to Legato, under a receiver-side controller or only its own;
            ``"both"``: the near end sends forward and the far end in reverse, two flows of one session.
        link: ``"tun"``: browsers run in network namespaces with the link between them; needs root, on Linux.
        feedback: ``"remb"``: a browser that sends gets no transport-wide feedback, so that REMB decides its rate.
        vmaf: measure what was viewed of Legato's pictures by VMAF too, with ffmpeg (extra ``vmaf``).
        learn: a folder; the one learned controller goes on learning in these calls, under the safeguard, and its
            policy is written there (extra ``train``).
        on_progress: called after each second of a call.
    """
    session = Session.of(peers, direction, link, feedback)
    choice = Choice.of(scenario, options, controllers, traces, (), seeds, log, duration_s, strict)
    _refuse(choice, "clips")
    check_folder(Path(out), resume=resume)
    chosen = choice
    if direction == "both":
        text = scenarios.read(choice.scenario, choice.changes)[1]
        chosen = replace(choice, options=with_both_ways(text, choice.changes))
    plan = chosen.plan(calls_per_part=1)
    pictures = pictures or Pictures()
    ends = {"peers": peers, "direction": direction, "link": link, "feedback": feedback}
    how = {**ends, **pictures.options(), "vmaf": vmaf}
    plan = replace(plan, call=how, options=scenarios.assignments(choice.changes))
    learning = None
    if learn is not None:
        if direction != "send":
            raise CallError(
                f"learn: with direction {direction}; only a call that our near end sends in is learned from"
            )
        from legato.train.in_calls import LearningInCalls

        learning = LearningInCalls(plan, learn, resume=resume)
        plan = replace(plan, call={**how, "learns": next(iter(choice.controllers)), "learn": str(learn)})
        plan = learning.steered(plan)
    return make(
        plan, out, session, pictures=pictures, vmaf=vmaf, learning=learning, resume=resume, on_progress=on_progress
    )


def link(
    scenario: str | Path | Choice,
    *,
    near: str,
    far: str,
    out: str | Path,
    options: Mapping[str, Any] | None = None,
    traces: Iterable[str | Path] = (),
    seeds: int | Sequence[int] = 1,
    name: str = "others",
    log: str = "series",
    duration_s: float | None = None,
    strict: bool = False,
    resume: bool = False,
    on_progress: Callable[[CallProgress], None] | None = None,
) -> Run:
    """Run two programs over a scenario's link, each in a network namespace, and record the link's packets.

    Arguments as for :func:`legato.run`. ``near`` and ``far`` are shell command lines; what the near program sends
    counts as media. Their addresses are in ``LEGATO_OWN`` and ``LEGATO_PEER``. Tables have ``name`` in place of a
    controller. Needs root, on Linux.
    """
    choice = Choice.of(scenario, options, (), traces, (), seeds, log, duration_s, strict)
    _refuse(choice, "controllers", "clips")
    check_folder(Path(out), resume=resume)
    plan = replace(choice.plan(calls_per_part=1), call={"near": near, "far": far, "name": name})
    programs = others.Programs(near, far, name)
    return make(plan, out, others.SESSION, programs=programs, resume=resume, on_progress=on_progress)


def _refuse(choice: Choice, *names: str) -> None:
    """Lists of a choice that these calls have no use for."""
    for name in names:
        if chosen := getattr(choice, name):
            raise CallError(f"{name} = {', '.join(chosen)}: not chosen here; what is sent is named by the call")
