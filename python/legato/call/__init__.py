"""Real calls: the plan's calls made one after the other with a browser, into the run folder a sweep writes.

:func:`make` is what ``legato call`` and :func:`legato.real_calls` do. The native module sends, emulates the
network and records; here is the other end (:mod:`legato.call.browser`), and what it tells
(:mod:`legato.call.log`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from legato.errors import CallError
from legato.plan import Plan
from legato.sweep import Run, check_folder

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_POLL_S = 1.0
_CONNECT_S = 20.0


@dataclass(frozen=True)
class Pictures:
    """What is sent: a Y4M file, or a generated scene of this size and rate."""

    clip: Path | None = None
    width: int = 1280
    height: int = 720
    fps: int = 30


@dataclass(frozen=True)
class CallProgress:
    """How far a real call is, after each of its seconds."""

    call: int
    calls: int
    time_s: float
    duration_s: float
    target_bps: float
    receiver_rate_bps: float
    frames_decoded: int


def make(
    plan: Plan,
    folder: str | Path,
    *,
    pictures: Pictures | None = None,
    resume: bool = False,
    on_progress: Callable[[CallProgress], None] | None = None,
) -> Run:
    """Make the plan's calls with a headless Chromium and write them to ``folder``.

    Raises:
        CallError: no browser, no connection, or one that broke. Calls made before stay in the folder.
    """
    from legato import _core
    from legato.call import browser

    folder = Path(folder)
    pictures = pictures or Pictures()
    check_folder(folder, resume=resume)
    if not hasattr(_core, "RealCall"):
        raise CallError("this build of Legato makes no real calls", hint="build it with the feature `calls`")
    started = time.monotonic()
    with browser.launched() as chromium:
        calls = _core.open_call_folder(plan.to_json(), str(folder))
        called_s = 0.0
        for number in range(calls):
            if not (folder / "summary" / f"{number:05}.parquet").exists():
                called_s += _make_one(chromium, plan, folder, number, calls, pictures, on_progress)
    return Run(folder, calls, called_s, time.monotonic() - started)


def _make_one(
    chromium: Browser,
    plan: Plan,
    folder: Path,
    number: int,
    calls: int,
    pictures: Pictures,
    on_progress: Callable[[CallProgress], None] | None,
) -> float:
    """One call; how long it lasted in s."""
    from legato import _core
    from legato.call import priority
    from legato.call.browser import Peer
    from legato.call.log import BrowserLog
    from legato.call.processor import Processor

    clip = None if pictures.clip is None else str(pictures.clip)
    size = {"width": pictures.width, "height": pictures.height, "fps": pictures.fps}
    call = _core.RealCall(plan.to_json(), number, str(folder), clip=clip, **size)
    peer = Peer(chromium)
    log = BrowserLog()
    realtime = priority.raised()
    processor = Processor()
    try:
        call.answer(peer.answer(call.offer))
        _wait_for_media(call, peer)
        received, at_s = 0, 0.0
        while not (progress := call.progress())["over"]:
            peer.wait(max(0.0, _POLL_S - progress["time_s"] % _POLL_S))
            before_ms = call.now_ms()
            page_ms = peer.now_ms()
            log.clocks(before_ms, page_ms, call.now_ms())
            told = peer.poll()
            log.poll(told)
            if told["failure"]:
                raise CallError(f"the browser does not play: {told['failure']}")
            inbound = told["inbound"] or {}
            total = inbound.get("bytesReceived", 0) + inbound.get("headerBytesReceived", 0)
            progress = call.progress()
            if on_progress is not None:
                rate_bps = 8 * (total - received) / max(progress["time_s"] - at_s, 1e-3)
                decoded = inbound.get("framesDecoded", 0)
                on_progress(
                    CallProgress(
                        number,
                        calls,
                        progress["time_s"],
                        call.duration_s,
                        progress["target_bps"],
                        rate_bps,
                        decoded,
                    )
                )
            received, at_s = total, progress["time_s"]
        # Frames of the last moments.
        log.poll(peer.poll())
        report = call.finish(log.shown())
    finally:
        call.stop()
        peer.close()
    machine = {"browser": chromium.version, "realtime": realtime, **processor.since()}
    log.write(folder, number, {**call.labels, **report, **machine})
    return report["end_s"]


def _wait_for_media(call: Any, peer: Any) -> None:
    until = time.monotonic() + _CONNECT_S
    while not (progress := call.progress())["connected"]:
        if progress["over"]:
            call.finish([])  # says why
        if time.monotonic() > until:
            raise CallError("no media within 20 s of the answer")
        peer.wait(0.02)
