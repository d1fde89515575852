"""Makes the calls of a plan: runs the native sweep and reports its progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from legato import _core
from legato.errors import RunFolderError
from legato.plan import Plan, repeat
from legato.plan.record import recorded
from legato.results.query import summary_rows

_POLL_S = 0.02


@dataclass(frozen=True)
class Progress:
    """Progress of a sweep: calls made, calls in total, simulated seconds, seconds elapsed."""

    calls_done: int
    calls: int
    simulated_s: float
    wall_s: float


@dataclass(frozen=True)
class Run:
    """A run folder just written, with the simulated time and the time it took."""

    folder: Path
    calls: int
    simulated_s: float
    wall_s: float

    def summary(self) -> list[dict[str, Any]]:
        """The summary, one dict per call; columns as in docs/reference/run-folder.md."""
        return summary_rows(self.folder)


class Interrupted(KeyboardInterrupt):
    """A sweep stopped between two parts: finished parts are kept, and the rest can be made later."""

    def __init__(self, folder: Path, calls_done: int, calls: int) -> None:
        super().__init__(f"stopped after {calls_done} of {calls} calls")
        self.folder = folder
        self.calls_done = calls_done
        self.calls = calls


def sweep(
    plan: Plan,
    folder: str | Path,
    *,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Run:
    """Make the calls of ``plan`` and write them to ``folder``.

    Args:
        plan: what to run.
        folder: the run folder; created if absent. A folder that already holds a run is refused unless ``resume``.
        threads: number of threads; 0 means one per core. The bytes written do not depend on it.
        resume: make the parts that are missing; the plan must be the same.
        on_progress: called about every 20 ms from the calling thread.

    Raises:
        Interrupted: on Ctrl-C, after the parts in progress are finished and written.
    """
    folder = Path(folder)
    check_folder(folder, resume=resume)
    record = recorded(plan)
    with record.errors_as_typed():
        native = _core.Sweep(record.to_json(), str(folder), threads)
    repeat.write(record, folder)
    started = time.monotonic()

    def progress() -> Progress:
        calls_done, simulated_s = native.progress()
        return Progress(calls_done, native.total_calls, simulated_s, time.monotonic() - started)

    native.start()
    try:
        while not native.finished:
            if on_progress is not None:
                on_progress(progress())
            time.sleep(_POLL_S)
    except KeyboardInterrupt:
        native.cancel()
        native.join()
        raise Interrupted(folder, progress().calls_done, native.total_calls) from None
    except BaseException:
        native.cancel()
        native.join()
        raise
    native.join()
    last = progress()
    if on_progress is not None:
        on_progress(last)
    return Run(folder, last.calls, last.simulated_s, last.wall_s)


def check_folder(folder: Path, *, resume: bool) -> None:
    """Refuse a folder that a run cannot be written to."""
    if folder.exists() and not folder.is_dir():
        raise RunFolderError(f"{folder}: is a file, a run needs a folder")
    if not resume and (folder / "manifest.json").exists():
        raise RunFolderError(
            f"{folder}: holds a run already",
            hint="continue it with --resume, or give another folder with --out",
        )
    if not (folder / "manifest.json").exists() and folder.is_dir() and any(folder.iterdir()):
        raise RunFolderError(f"{folder}: holds other files, a run needs a folder of its own")


def check_empty(folder: Path, *, resume: bool) -> None:
    """Refuse a folder of several runs that holds something, unless it is to be continued."""
    if folder.exists() and not folder.is_dir():
        raise RunFolderError(f"{folder}: is a file, a run needs a folder")
    if folder.is_dir() and any(folder.iterdir()) and not resume:
        raise RunFolderError(
            f"{folder}: exists and is not empty", hint="continue it with --resume, or give another folder with --out"
        )
