"""A real call from its first media to its end: what the browsers tell is kept each second, and progress is said."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from legato.errors import CallError

if TYPE_CHECKING:
    from legato.call.browser import Peer
    from legato.call.log import BrowserLog

_POLL_S = 1.0
CONNECT_S = 20.0
"""No connection of a browser takes longer."""


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
    """What was captured is being compared with what was shown, a third of the call's length."""


def wait_for_media(call: Any, peer: Peer) -> None:
    """Until the first media, or until the call is over without any: then its ``finish`` says why."""
    until = time.monotonic() + CONNECT_S
    while not (progress := call.progress())["connected"]:
        if progress["over"]:
            return
        if time.monotonic() > until:
            raise CallError(f"no media within {CONNECT_S:.0f} s of the answer")
        peer.wait(0.02)


def follow(
    call: Any,
    receiver: Peer,
    log: BrowserLog,
    number: int,
    calls: int,
    on_progress: Callable[[CallProgress], None] | None,
    each_second: Callable[[], None] = lambda: None,
) -> None:
    """Until the end. ``each_second`` is for what else is to be asked."""
    received, at_s = 0, 0.0
    rate_bps, decoded = 0.0, 0
    while not (progress := call.progress())["over"]:
        receiver.wait(max(0.0, _POLL_S - progress["time_s"] % _POLL_S))
        before_ms = call.now_ms()
        page_ms = receiver.now_ms()
        log.clocks(before_ms, page_ms, call.now_ms())
        told = receiver.poll()
        log.poll(told)
        if told["failure"]:
            raise CallError(f"the browser does not play: {told['failure']}")
        each_second()
        inbound = told["inbound"] or {}
        total = inbound.get("bytesReceived", 0) + inbound.get("headerBytesReceived", 0)
        progress = call.progress()
        rate_bps = 8 * (total - received) / max(progress["time_s"] - at_s, 1e-3)
        decoded = inbound.get("framesDecoded", 0)
        if on_progress is not None:
            target_bps = progress["target_bps"]
            on_progress(CallProgress(number, calls, progress["time_s"], call.duration_s, target_bps, rate_bps, decoded))
        received, at_s = total, progress["time_s"]
    # Frames of the last moments.
    log.poll(receiver.poll())
    if on_progress is not None:
        time_s, target_bps = progress["time_s"], progress["target_bps"]
        on_progress(CallProgress(number, calls, time_s, call.duration_s, target_bps, rate_bps, decoded, over=True))


def pass_aim(call: Any, sender: Peer, log: BrowserLog) -> None:
    """Keep what a sending browser tells of itself, and tell ``call`` what it aims at."""
    told = sender.poll()
    log.sent(told, call.now_ms())
    if told["pair"] and told["pair"].get("availableOutgoingBitrate"):
        call.aims_at(int(told["pair"]["availableOutgoingBitrate"]))
