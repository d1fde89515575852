"""One session of real calls, whatever its ends are: connected, followed to its end, and written."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from legato import _core
from legato.call import others, priority, vmaf
from legato.call.ends import End
from legato.call.processor import Processor
from legato.call.way import Way
from legato.errors import CallError

if TYPE_CHECKING:
    from legato._core import LiveExchange, RealCall
    from legato.call.browser import Peer
    from legato.call.stage import Stage
    from legato.plan.record import Record

_POLL_S = 1.0
_POLL_SENDER_S = 0.5
"""Where no browser receives."""
_STEP_S = 0.05
"""Where there is no browser."""
CONNECT_S = 20.0
"""No connection takes longer."""


@dataclass(frozen=True)
class CallProgress:
    """How far a real call is: after each of its seconds, and once it is over and only its figures are to be made."""

    call: int
    calls: int
    time_s: float
    duration_s: float
    target_bps: float
    receiver_rate_bps: float
    frames_decoded: int
    over: bool = False
    """The captured pictures are being compared with the shown ones, a third of the call's length."""


def make_one(
    stage: Stage,
    plan: Record,
    folder: Path,
    number: int,
    calls: int,
    on_progress: Callable[[CallProgress], None] | None,
    learning: AbstractContextManager[LiveExchange] | None = None,
) -> float:
    """Session ``number`` of the plan, written to ``folder``; how long it lasted in s. ``learning``: from it."""
    with learning or nullcontext() as exchange:
        return _make(stage, plan, folder, number, calls, on_progress, exchange)


def _make(
    stage: Stage,
    plan: Record,
    folder: Path,
    number: int,
    calls: int,
    on_progress: Callable[[CallProgress], None] | None,
    learning: LiveExchange | None,
) -> float:
    call = _core.RealCall(plan.to_json(), number, str(folder), stage.session, **stage.native(), learning=learning)
    ways: list[Way] = []
    processor = Processor()
    try:
        ways += stage.ways()
        with others.running(stage.programs, stage.tuns) as running:
            _connect(call, ways if not running else [])
            own = stage.session.ends == (End.LEGATO, End.LEGATO)
            # A receiving end of a pair has a separate wire; the scenario's link is one for all.
            realtime = priority.raised(ends=len(ways) * (1 + own), links=1 + len(ways) * own)
            compared = End.LEGATO in stage.session.senders()
            follow(call, ways, number, calls, on_progress, compared=compared, until=running.all_ended)
            programs = running.report()
            if programs:
                call.stop()
            finished = call.finish([way.log.shown() for way in ways])
    finally:
        call.stop()
        for way in ways:
            way.close()
    machine = {**programs, "link": stage.session.link, "browser": stage.browser_version(), "realtime": realtime}
    machine |= processor.since()
    for way, labels, (report, seen) in zip(ways, call.labels, finished, strict=True):
        way.log.seen = seen
        way.log.write(folder, labels["call"], {**labels, **report, **machine})
    for labels, (report, _) in zip(call.labels, finished, strict=True):
        vmaf.check(labels["call"], report)
    return float(finished[0][0]["end_s"])


def _connect(call: RealCall, ways: Sequence[Way]) -> None:
    """All ways, one after the other, until the first media. A browser's media may begin the call, so a sending Legato
    end is connected before.
    """
    for way in ways:
        way.connect(call)
        if way.sender is None and len(ways) > 1:
            wait_until(call, "reached", way.pages)
    wait_until(call, "connected", [page for way in ways for page in way.pages])


def wait_until(call: RealCall, what: str, pages: Sequence[Peer] = ()) -> None:
    """Until the call is ``reached`` or ``connected``, or is over before: then its ``finish`` says why."""
    until = time.monotonic() + CONNECT_S
    while not (progress := call.progress())[what] and not progress["over"]:
        if time.monotonic() > until:
            raise CallError(f"no {'media' if what == 'connected' else 'connection'} within {CONNECT_S:.0f} s")
        _wait(pages, 0.02)


def follow(
    call: RealCall,
    ways: Sequence[Way],
    number: int,
    calls: int,
    on_progress: Callable[[CallProgress], None] | None,
    *,
    compared: bool = True,
    until: Callable[[], bool] = lambda: False,
    each_second: Callable[[], None] = lambda: None,
) -> None:
    """To the end, or ``until`` says so; what the pages report is kept each second. ``compared``: pictures will be,
    after the end."""
    pages = [page for way in ways for page in way.pages]
    poll_s = _POLL_S if any(way.receiver for way in ways) else _POLL_SENDER_S
    arrived, at_s, rate_bps, frames = 0, 0.0, 0.0, 0

    def say(progress: dict[str, Any], over: bool = False) -> None:
        if on_progress is not None:
            target_bps = progress["target_bps"]
            how = (number, calls, progress["time_s"], call.duration_s, target_bps, rate_bps, frames, over)
            on_progress(CallProgress(*how))

    while not (progress := call.progress())["over"] and not until():
        _wait(pages, max(0.0, poll_s - progress["time_s"] % poll_s) if pages else _STEP_S)
        if pages:
            for way in ways:
                way.poll(call)
            each_second()
        progress = call.progress()
        frames = max([way.frames for way in ways if way.receiver] or [progress["shown_frames"]])
        if int(progress["time_s"]) > int(at_s):
            rate_bps = 8 * (progress["arrived_bytes"] - arrived) / (progress["time_s"] - at_s)
            arrived, at_s = progress["arrived_bytes"], progress["time_s"]
            say(progress)
    for way in ways:
        way.last_frames()
    if compared:
        say(progress, over=True)


def _wait(pages: Sequence[Peer], wait_s: float) -> None:
    """A browser works meanwhile."""
    if pages:
        pages[0].wait(wait_s)
    else:
        time.sleep(wait_s)
