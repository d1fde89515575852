"""Calls with media both ways: we send to Chromium and it sends to us, over the two ways of one scenario's link.

Our media go forward and are steered by the scenario's controller on Chromium's transport-wide feedback. Chromium's go
in reverse and are steered by its own rate control on ours, with a receiver-side controller's REMB as a cap where the
second of the plan's calls names one. Each way is a connection of its own, between a page of the browser and a socket
of ours: the feedback of the one waits behind the media of the other.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from legato.call import vmaf
from legato.call.reference import Camera, with_limits
from legato.call.session import CONNECT_S, CallProgress, follow, pass_aim, wait_for_media
from legato.errors import CallError
from legato.plan import Plan

if TYPE_CHECKING:
    from legato.call.browser import Peer

_FLOWS = ({"name": "forward"}, {"name": "reverse", "direction": "reverse"})
"""The two calls of a scenario that names none."""


def with_both_ways(text: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """``options``, and what gives the scenario ``text`` that they made the two calls of media both ways, where it names
    none."""
    changes, scenario = dict(options or {}), _read(text)
    if "calls" not in scenario:
        # Of several calls each has its own.
        pauses = {"pauses": scenario["pauses"]} if scenario.get("pauses") else {}
        changes["calls"] = [{**flow, **pauses} for flow in _FLOWS]
    return changes


def check(plan: Plan, direction: str) -> None:
    """Two calls are both ways, and one is not."""
    several = "calls" in _read(plan.scenario)
    if several and direction != "both":
        raise CallError(f"calls: the scenario has several, and direction {direction} is one: direction both is needed")
    if not several and direction == "both":
        raise CallError("direction both: the plan needs two calls, the second of direction reverse")


def _read(text: str) -> dict[str, Any]:
    """A scenario; what is none is refused by its own reader, by name."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def make_one(
    camera: Camera,
    plan: Plan,
    folder: Path,
    number: int,
    calls: int,
    sent: Mapping[str, Any],
    on_progress: Callable[[CallProgress], None] | None,
) -> float:
    """One call; how long it lasted in s."""
    from legato import _core
    from legato.call import priority
    from legato.call.browser import Peer
    from legato.call.log import BrowserLog
    from legato.call.processor import Processor

    receiver, sender = Peer(camera.browser), Peer(camera.browser)
    log, back = BrowserLog(), BrowserLog()
    processor = Processor()
    call = None
    try:
        offer = sender.offer(camera.width, camera.height, camera.fps, camera.codec)
        theirs = {"their_clip": camera.label, "their_encoder": camera.encoder, "their_width": camera.width}
        call = _core.BothCall(plan.to_json(), number, str(folder), offer, **theirs, **sent)
        realtime = priority.raised(ends=2, links=1)
        call.answer(receiver.answer(call.offer))
        _wait_until_reached(call, receiver)
        # The first media of the browser begin the call, both ways.
        least, first, most = call.limits_bps
        sender.answered(with_limits(call.own_answer, least, first, most), most)
        wait_for_media(call, sender)
        follow(call, receiver, log, number, calls, on_progress, lambda: pass_aim(call, sender, back))
        told = call.finish(log.shown())
    finally:
        if call is not None:
            call.stop()
        receiver.close()
        sender.close()
    machine = {"browser": camera.browser.version, "realtime": realtime, **processor.since()}
    back.seen = told[1][1]
    for labels, (report, _), kept in zip(call.labels, told, (log, back), strict=True):
        kept.write(folder, labels["call"], {**labels, **report, **machine})
    vmaf.check(call.labels[0]["call"], told[0][0])
    return told[0][0]["end_s"]


def _wait_until_reached(call: Any, peer: Peer) -> None:
    """Until our own connection stands, or the call is over: then its ``finish`` says why."""
    until = time.monotonic() + CONNECT_S
    while not (progress := call.progress())["reached"] and not progress["over"]:
        if time.monotonic() > until:
            raise CallError(f"no connection within {CONNECT_S:.0f} s of the answer")
        peer.wait(0.02)
