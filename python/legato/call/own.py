"""Calls of ours with us: both ends in this process, over real sockets and a scenario's link, without a browser. Where
the plan has two calls, media go both ways.

The receiving end puts packets together, decodes them and reads the number in each picture; what it tells of them is
kept as ``RUN/shown``, as a browser's frames are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from legato.call.session import CallProgress
from legato.errors import CallError
from legato.plan import Plan

_STEP_S = 0.05
_CONNECT_S = 20.0


def make_one(
    plan: Plan,
    folder: Path,
    number: int,
    calls: int,
    sent: dict[str, Any],
    on_progress: Callable[[CallProgress], None] | None,
) -> float:
    """One call with pictures, codec and ffmpeg ``sent``; how long it lasted in s."""
    from legato import _core
    from legato.call import priority, vmaf
    from legato.call.log import BrowserLog
    from legato.call.processor import Processor

    call = _core.OwnCall(plan.to_json(), number, str(folder), **sent)
    ways = len(call.labels)
    # A receiving end has a wire of its own; the scenario's link is one for all.
    realtime = priority.raised(ends=2 * ways, links=1 + ways)
    processor = Processor()
    try:
        until = time.monotonic() + _CONNECT_S
        arrived, at_s, rate_bps = 0, 0.0, 0.0
        while not (progress := call.progress())["over"]:
            if not progress["connected"] and time.monotonic() > until:
                raise CallError(f"no media within {_CONNECT_S:.0f} s")
            time.sleep(_STEP_S)
            if on_progress is None or progress["time_s"] - at_s < 1.0 or not progress["connected"]:
                continue
            rate_bps = 8 * (progress["arrived_bytes"] - arrived) / (progress["time_s"] - at_s)
            arrived, at_s = progress["arrived_bytes"], progress["time_s"]
            frames = progress["shown_frames"]
            on_progress(CallProgress(number, calls, at_s, call.duration_s, progress["target_bps"], rate_bps, frames))
        if on_progress is not None:
            time_s, frames = progress["time_s"], progress["shown_frames"]
            told = (number, calls, time_s, call.duration_s, progress["target_bps"], rate_bps, frames)
            on_progress(CallProgress(*told, over=True))
        told = call.finish()
    finally:
        call.stop()
    machine = {"browser": None, "realtime": realtime, **processor.since()}
    for labels, (report, seen) in zip(call.labels, told, strict=True):
        BrowserLog(seen=seen).write(folder, labels["call"], {**labels, **report, **machine})
    for labels, (report, _) in zip(call.labels, told, strict=True):
        vmaf.check(labels["call"], report)
    return told[0][0]["end_s"]
