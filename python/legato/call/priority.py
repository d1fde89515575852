"""Real-time priority for the threads that keep a call's times, where the system grants it.

The emulated link lets packets go within 0.1 ms of their time on an idle machine, and tens of milliseconds late where
encoder, browser and whatever else runs want the same processors. Linux gives threads of a real-time class a
processor at once; the superuser may ask for it, and so may users with ``rtprio`` in their limits. Encoder and browser
stay as they are. Elsewhere, or without the permission, nothing changes.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

THREADS = {"legato-link": 40, "legato-reader": 40, "legato-call": 30}
"""Name of a native thread, and its priority; each works for microseconds at a time."""


_NAMED_WITHIN_S = 0.5
"""A thread bears its name once it runs."""


def raised(ends: int = 1, links: int | None = None) -> bool:
    """Raise the priority of this process's call threads; whether all of them have it now. ``ends``: Legato's;
    ``links``: emulated, where not each end has one.
    """
    if not hasattr(os, "sched_setscheduler"):
        return False
    # An end has a reader for each of its sockets, one or two.
    threads = (len(THREADS) - 1) * ends + (ends if links is None else links)
    until = time.monotonic() + _NAMED_WITHIN_S
    while 0 <= (found := _raised()) < threads and time.monotonic() < until:
        time.sleep(0.01)
    return found >= threads


def _raised() -> int:
    """How many call threads have their priority; less than none: it is not granted."""
    found = 0
    for task in Path("/proc/self/task").glob("*"):
        try:
            priority = THREADS.get((task / "comm").read_text(encoding="utf-8").strip())
            if priority is not None:
                policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
                os.sched_setscheduler(int(task.name), policy, os.sched_param(priority))
                found += 1
        except PermissionError:
            return -1
        except OSError:
            # A thread that has just ended.
            continue
    return found
