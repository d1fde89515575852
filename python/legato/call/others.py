"""Foreign programs at the ends of a scenario's link: each in a separate network namespace, with any traffic between
them.

The link is the scenario's from the moment the programs begin. All packets from the near one to the far one are recorded
as media, all packets back as feedback; there are no frames. The outcome of the programs is in ``RUN/calls``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from legato.call.ends import End, Session

if TYPE_CHECKING:
    from legato.call.tun import Host, Pair

NAME = "others"
"""What tables call the programs' rate control."""

SESSION = Session(End.PROGRAM, End.PROGRAM, link="tun")

PATIENCE_S = 2.0
"""From SIGTERM to SIGKILL, when the scenario is over."""


@dataclass(frozen=True)
class Programs:
    """The two command lines, for the shell, and what tables call the two together."""

    near: str
    far: str
    name: str = NAME


@dataclass(frozen=True)
class Running:
    """Both programs, under way; or none."""

    programs: Programs | None = None
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.processes)

    def all_ended(self) -> bool:
        """By themselves."""
        return bool(self) and all(process.poll() is not None for process in self.processes.values())

    def report(self) -> dict[str, Any]:
        """For the call's file: the command lines and how they have ended by now; ``None``: they have not."""
        if self.programs is None:
            return {}
        statuses = {f"{where}_status": process.poll() for where, process in self.processes.items()}
        return {"near": self.programs.near, "far": self.programs.far, **statuses}


@contextmanager
def running(programs: Programs | None, pair: Pair | None) -> Iterator[Running]:
    """Both in their namespaces, and ended after the block; none, where there are no ``programs``."""
    if programs is None or pair is None:
        yield Running()
        return
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        # The one that is called listens first, by a hair.
        processes["far"] = _started(programs.far, pair.far, pair)
        processes["near"] = _started(programs.near, pair.near, pair)
        yield Running(programs, processes)
    finally:
        pair.end_programs(PATIENCE_S)
        for process in processes.values():
            process.wait()


def _started(command: str, host: Host, pair: Pair) -> subprocess.Popen[bytes]:
    """A program in its namespace. Its output goes to standard error, as messages do: standard output is for results."""
    addresses = {
        "LEGATO_NEAR": pair.near.address,
        "LEGATO_FAR": pair.far.address,
        "LEGATO_OWN": host.address,
        "LEGATO_PEER": host.peer,
    }
    sys.stderr.flush()
    words = host.command(["/bin/sh", "-c", command])
    return subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=2, env={**os.environ, **addresses}, start_new_session=True
    )
