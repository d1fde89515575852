"""Keeps a virtual machine's processors awake while calls are made.

A virtual processor with nothing to do goes back to the host, which gives it to other guests. Where those are busy, a
timer that falls due then is served milliseconds late, and a call, which sleeps between its packets, is late at every
one of them. So a process on each processor counts idly, in the class that Linux runs when nothing else wants to: it
takes no time from anybody, and the processor is never given back. Where the machine is no virtual one, or the class
is not there, nothing happens.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# It ends with its parent, however that ends; SCHED_IDLE comes first, or it would be in everybody's way.
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


@contextmanager
def kept() -> Iterator[bool]:
    """The processors are awake inside the block; whether anything was needed and possible for that."""
    if _counting or not (_virtual() and hasattr(os, "SCHED_IDLE")):
        yield bool(_counting)
        return
    try:
        for processor in sorted(os.sched_getaffinity(0)):
            command = [sys.executable, "-I", "-S", "-c", _COUNTING, str(processor), str(os.getpid())]
            # A session of its own: Ctrl-C in the terminal is not for it.
            quiet = subprocess.DEVNULL
            _counting.append(subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True))
        yield True
    finally:
        for process in _counting:
            process.kill()
        for process in _counting:
            process.wait()
        _counting.clear()


def counted_s() -> float:
    """Processor time that went into counting up to now: nobody else wanted it."""
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
