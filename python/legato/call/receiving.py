"""Calls in which Chromium sends to us over a scenario's link: what a receiver-side controller is tried with.

The controller's target goes back as REMB, which the browser takes for a cap on what its own rate control finds;
where the scenario has no receiver-side controller, that works alone, on our transport-wide feedback. The browser's
camera is a file, as in :mod:`legato.call.reference`, and what it says is kept as ``RUN/outbound``. Our end decodes;
what it saw is kept as ``RUN/shown``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from legato.call.reference import Camera, with_limits
from legato.call.session import CallProgress, pass_aim, wait_for_media
from legato.plan import Plan

_POLL_S = 0.5


def make_one(
    camera: Camera,
    plan: Plan,
    folder: Path,
    number: int,
    calls: int,
    on_progress: Callable[[CallProgress], None] | None,
) -> float:
    """One call; how long it lasted in s."""
    from legato import _core
    from legato.call import priority
    from legato.call.browser import Peer
    from legato.call.log import BrowserLog
    from legato.call.processor import Processor

    sender = Peer(camera.browser)
    log = BrowserLog()
    processor = Processor()
    call = None
    try:
        offer = sender.offer(camera.width, camera.height, camera.fps, camera.codec)
        names = {"clip": camera.label, "encoder": camera.encoder, "width": camera.width}
        names["codec"] = camera.codec
        call = _core.ReceivedCall(plan.to_json(), number, str(folder), offer, **names)
        realtime = priority.raised()
        least, first, most = call.limits_bps
        sender.answered(with_limits(call.answer, least, first, most), most)
        wait_for_media(call, sender)
        arrived, at_s, said = 0, 0.0, time.monotonic()
        while not (progress := call.progress())["over"]:
            sender.wait(max(0.0, _POLL_S - progress["time_s"] % _POLL_S))
            pass_aim(call, sender, log)
            progress = call.progress()
            if on_progress is not None and time.monotonic() - said >= 1.0:
                rate_bps = 8 * (progress["arrived_bytes"] - arrived) / max(progress["time_s"] - at_s, 1e-3)
                arrived, at_s, said = progress["arrived_bytes"], progress["time_s"], time.monotonic()
                frames = progress["shown_frames"]
                times = (progress["time_s"], call.duration_s)
                on_progress(CallProgress(number, calls, *times, progress["target_bps"], rate_bps, frames))
        report, log.seen = call.finish()
    finally:
        if call is not None:
            call.stop()
        sender.close()
    machine = {"browser": camera.browser.version, "realtime": realtime, **processor.since()}
    log.write(folder, number, {**call.labels, **report, **machine})
    return report["end_s"]
