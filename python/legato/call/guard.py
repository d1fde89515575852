"""Ends processes left in network namespaces; as a program, once the process that made them has ended.

``python guard.py FOLDER DESCRIPTOR...`` holds open files of namespaces and reads standard input until it ends, which is
when the parent closes it or is gone in any way. Then the folder, for the parent's temporary files, goes too. A
namespace goes by itself when no process is left in it, and its devices with it; processes do not. The namespace
identifies a process, so neither a detached process nor a grandchild is missed. Nothing of Legato is imported: the guard
of a call is to begin at once.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_LOOK_AGAIN_S = 0.02


def inside(namespaces: Sequence[int]) -> list[int]:
    """Processes in the namespaces that these open files stand for."""
    wanted = {(found.st_dev, found.st_ino) for found in map(os.fstat, namespaces)}
    pids = []
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal():
            continue
        with suppress(OSError):  # it has just ended, or is not ours to look at
            found = (process / "ns/net").stat()
            if (found.st_dev, found.st_ino) in wanted:
                pids.append(int(process.name))
    return pids


def end(namespaces: Sequence[int], patience_s: float = 0.0) -> None:
    """End all processes in the namespaces; they are asked, and after ``patience_s`` not any more."""
    until = time.monotonic() + patience_s
    asked: set[int] = set()
    while pids := inside(namespaces):
        late = time.monotonic() >= until
        for pid in pids:
            if late or pid not in asked:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
            asked.add(pid)
        time.sleep(_LOOK_AGAIN_S)


def main(arguments: Sequence[str]) -> None:
    """Wait, and end them."""
    folder, *namespaces = arguments
    while os.read(0, 4096):
        pass
    end([int(descriptor) for descriptor in namespaces])
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
