"""Real calls: the plan's calls made one after the other into the run folder that a sweep writes.

:func:`make` is what ``legato call`` and ``legato link`` do. What the ends are is a
:class:`legato.call.ends.Session`. Legato's ends are the native module's, which emulates the network and records. Here
are the others, browsers (:mod:`legato.call.browser`) and programs (:mod:`legato.call.others`), and the reports of
browsers (:mod:`legato.call.log`).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from legato import _core
from legato.call.pictures import Pictures
from legato.errors import CallError, Error
from legato.plan import Plan, repeat
from legato.plan.record import recorded
from legato.runs.sweep import Run, check_folder

if TYPE_CHECKING:
    from legato.call.ends import Session
    from legato.call.others import Programs
    from legato.call.session import CallProgress
    from legato.train.in_calls import LearningInCalls

__all__ = ["Pictures", "make"]


def make(
    plan: Plan,
    folder: str | Path,
    session: Session,
    *,
    pictures: Pictures | None = None,
    programs: Programs | None = None,
    vmaf: bool = False,
    learning: LearningInCalls | None = None,
    resume: bool = False,
    on_progress: Callable[[CallProgress], None] | None = None,
) -> Run:
    """Make the plan's calls between the ends of ``session`` and write them to ``folder``.

    ``programs``: at ends that are programs. ``vmaf``: measure what was viewed of our pictures by VMAF too, with an
    ffmpeg that :func:`legato.call.vmaf.found` finds. ``learning``: what the plan's controller learns in its calls; the
    plan is steered by it.

    Raises:
        CallError: no browser, no namespaces or ffmpeg where they are asked for, no connection, or one that broke. Calls
            made before stay in the folder.
    """
    from legato.call import awake, stage
    from legato.call import vmaf as meter
    from legato.call.session import make_one

    folder, pictures = Path(folder), pictures or Pictures()
    check_folder(folder, resume=resume)
    if not hasattr(_core, "RealCall"):
        raise CallError("this build of Legato makes no real calls", hint="build it with the feature `calls`")
    session.check(plan, pictures.codec, vmaf)
    session.check_parity(pictures.codec, pictures.parity)
    session.check_recovery(pictures.codec, pictures.recovery, pictures.parity)
    ffmpeg = meter.found() if vmaf else None
    started, called_s = time.monotonic(), 0.0
    with _nothing_left_of_nothing(folder), awake.kept(), stage.opened(session, pictures, programs, ffmpeg) as set_up:
        record = recorded(plan)
        with record.errors_as_typed():
            calls = _core.open_call_folder(record.to_json(), str(folder))
        repeat.write(record, folder)
        for number in range(calls) if learning is None else learning.order(plan):
            if not (folder / "summary" / f"{number:05}.parquet").exists():
                during = None if learning is None else learning.during(plan, number)
                called_s += make_one(set_up, record, folder, number, calls, on_progress, during)
    return Run(folder, calls, called_s, time.monotonic() - started)


@contextmanager
def _nothing_left_of_nothing(folder: Path) -> Iterator[None]:
    """A folder that was begun here and has no call in it goes again, so that the mended command may take it."""
    begun_here = not folder.exists()
    try:
        yield
    except Error:
        if begun_here and not (folder / "summary").exists():
            shutil.rmtree(folder, ignore_errors=True)
        raise
