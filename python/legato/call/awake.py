"""Keeps a virtual machine's processors awake while calls are made.

A virtual processor with nothing to do goes back to the host, which gives it to other guests. If those are busy, a timer
that falls due then is served milliseconds late, and a call, which sleeps between its packets, is late at every one of
them. So a process on each processor counts idly, in the class that Linux runs when nothing else wants to run: it takes
no time from other work, and the processor is never given back.

Other hosts do the opposite: they take a processor away for milliseconds from a guest that uses all of it; on one such
host twice a second, where no sleeper is late. So sleeping is tried for a moment, and, if many sleepers wake late,
counting as well; the processors are kept awake only if that clearly helps. On a machine that is not virtual, or without
the class, nothing happens.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from legato.call import wakes

# It ends with its parent, however that ends; SCHED_IDLE comes first, or it would be in the way of all others.
_COUNTING = """
import os, sys
processor, parent = int(sys.argv[1]), int(sys.argv[2])
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
os.sched_setaffinity(0, {processor})
while os.getppid() == parent:
    for _ in range(200_000):
        pass
"""

_counting: list[subprocess.Popen[bytes]] = []

_TRIED_S = 1.0
_MANY_RATIO = 0.02
"""Where the host is to blame most are late; where a moment's other work is, a few are."""
_HOLDS_S = 300.0
"""Hosts change their guests."""

_found: tuple[float, bool] | None = None
"""When it was last tried, and whether counting helped."""


@contextmanager
def kept() -> Iterator[bool]:
    """The processors are awake inside the block, where that helps; whether they are."""
    if _counting or not (_virtual() and hasattr(os, "SCHED_IDLE")) or not _helps():
        yield bool(_counting)
        return
    with _all_counting():
        yield True


def _helps() -> bool:
    """Whether many sleepers are woken late here, and less than half as many while processes count."""
    global _found
    if _found is None or time.monotonic() - _found[0] > _HOLDS_S:
        asleep = wakes.late_ratio(_TRIED_S)
        helps = False
        if asleep > _MANY_RATIO:
            with _all_counting():
                helps = wakes.late_ratio(_TRIED_S) < asleep / 2
        _found = time.monotonic(), helps
    return _found[1]


@contextmanager
def _all_counting() -> Iterator[None]:
    try:
        for processor in sorted(os.sched_getaffinity(0)):
            command = [sys.executable, "-I", "-S", "-c", _COUNTING, str(processor), str(os.getpid())]
            # A separate session: Ctrl-C in the terminal is not for it.
            quiet = subprocess.DEVNULL
            _counting.append(subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True))
        yield
    finally:
        for process in _counting:
            process.kill()
        for process in _counting:
            process.wait()
        _counting.clear()


def counting() -> bool:
    """Whether the processors are being kept awake."""
    return bool(_counting)


def counted_s() -> float:
    """Processor time that went into counting up to now: no other process wanted it."""
    ticks = 0
    for process in _counting:
        try:
            # After the name, which may hold anything but is the last thing in brackets: state is the third field.
            fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        except (OSError, IndexError, ValueError):
            continue
    return ticks / os.sysconf("SC_CLK_TCK") if ticks else 0.0


def _virtual() -> bool:
    """Whether Linux says that this is a guest: so far only on x86."""
    try:
        return " hypervisor" in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
