"""Programs of others over a scenario's link: each in a network namespace of its own, whatever they say to each other.

:func:`make` is what ``legato link`` and :func:`legato.link` do. The link is the scenario's from the moment the programs
begin; all that goes from the near one to the far one is recorded as media, all that goes back as feedback, and of
frames nothing is known. What became of the programs is in ``RUN/calls``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from legato.call.session import CallProgress
from legato.plan import Plan
from legato.sweep import Run, check_folder

if TYPE_CHECKING:
    from legato.call.tun import Host, Pair

NAME = "others"
"""What tables call the programs' rate control."""

PATIENCE_S = 2.0
"""From SIGTERM to SIGKILL, when the scenario is over."""

_STEP_S = 0.05
_NONE = "none"


@dataclass(frozen=True)
class Programs:
    """The two command lines, for the shell, and what tables call the two together."""

    near: str
    far: str
    name: str = NAME


def make(
    plan: Plan,
    folder: str | Path,
    programs: Programs,
    *,
    resume: bool = False,
    on_progress: Callable[[CallProgress], None] | None = None,
) -> Run:
    """Run the programs over the link of each of the plan's calls and write what the link saw to ``folder``.

    Raises:
        CallError: no network namespaces here. What was done before stays in the folder.
    """
    from legato import _core
    from legato.call import awake, tun

    folder = Path(folder)
    check_folder(folder, resume=resume)
    started = time.monotonic()
    with tun.opened() as pair, awake.kept():
        calls = _core.open_call_folder(plan.to_json(), str(folder))
        linked_s = 0.0
        for number in range(calls):
            if not (folder / "summary" / f"{number:05}.parquet").exists():
                linked_s += _make_one(plan, folder, number, calls, pair, programs, on_progress)
    return Run(folder, calls, linked_s, time.monotonic() - started)


def _make_one(
    plan: Plan,
    folder: Path,
    number: int,
    calls: int,
    pair: Pair,
    programs: Programs,
    on_progress: Callable[[CallProgress], None] | None,
) -> float:
    """One time; how long it lasted in s."""
    from legato import _core
    from legato.call import priority
    from legato.call.log import BrowserLog
    from legato.call.processor import Processor

    names = {"clip": _NONE, "controller": programs.name, "encoder": _NONE}
    call = _core.RelayCall(plan.to_json(), number, str(folder), tuns=pair.native, strangers=True, **names)
    realtime = priority.raised()
    processor = Processor()
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        # Whoever is called listens first, by a hair.
        running["far"] = _started(programs.far, pair.far, pair)
        running["near"] = _started(programs.near, pair.near, pair)
        arrived, at_s = 0, 0.0
        while not (progress := call.progress())["over"]:
            if all(program.poll() is not None for program in running.values()):
                break
            time.sleep(_STEP_S)
            if on_progress is not None and progress["time_s"] - at_s >= 1.0:
                rate_bps = 8 * (progress["arrived_bytes"] - arrived) / (progress["time_s"] - at_s)
                arrived, at_s = progress["arrived_bytes"], progress["time_s"]
                on_progress(CallProgress(number, calls, at_s, call.duration_s, 0.0, rate_bps, 0))
        # As they were when it was over: absent is who had to be ended.
        statuses = {f"{where}_status": program.poll() for where, program in running.items()}
        call.stop()
        report = call.finish([])
    finally:
        call.stop()
        pair.end_programs(PATIENCE_S)
        for program in running.values():
            program.wait()
    commands = {"near": programs.near, "far": programs.far, **statuses}
    machine = {"link": "tun", "realtime": realtime, **processor.since()}
    BrowserLog().write(folder, number, {**call.labels, **report, **commands, **machine})
    return report["end_s"]


def _started(command: str, host: Host, pair: Pair) -> subprocess.Popen[bytes]:
    """A program in its namespace. What it prints goes where Legato's own words go: standard output is for results."""
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
