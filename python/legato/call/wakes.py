"""How late this machine wakes sleepers: how late the emulated link will be, before a call is made. Linux only."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress

_PAUSE_S = 0.002
_LATE_S = 0.001
"""A link that wakes that late once in a thousand packets is half as late as one whose call does not count."""
_MOST_PROCESSORS = 4
"""Looked at: more threads would wait for each other, and not for the host."""


def late_ratio(for_s: float) -> float:
    """Sleep for ``for_s`` in short pauses, on some processors at once; the share that ended a millisecond late."""
    counts: list[tuple[int, int]] = []
    threads = [
        threading.Thread(target=_sleep, args=(processor, for_s, counts), name="legato-wakes")
        for processor in sorted(os.sched_getaffinity(0))[:_MOST_PROCESSORS]
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lates, pauses = (sum(column) for column in zip(*counts, strict=True))
    return float(lates / pauses)


def _sleep(processor: int, for_s: float, counts: list[tuple[int, int]]) -> None:
    # Where it is not granted sleepers are like any others.
    with suppress(OSError):
        os.sched_setaffinity(0, {processor})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    lates = pauses = 0
    until = time.monotonic() + for_s
    while (before := time.monotonic()) < until:
        time.sleep(_PAUSE_S)
        lates += time.monotonic() - before > _PAUSE_S + _LATE_S
        pauses += 1
    counts.append((lates, pauses))
