"""An ffmpeg that measures VMAF: where it is, and whether it does.

VMAF comes with libvmaf, and libvmaf with many an ffmpeg; the wheel of ``imageio-ffmpeg`` brings one (extra ``vmaf``).
It is under the GPL, no part of Legato, and runs as a separate process. The native module feeds it after each call. Here
it is found, and tried on two pictures before the first call, so that a missing filter is reported before, not after.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from legato import _core
from legato.errors import CallError

HINT = "pip install 'legato-rtc[vmaf]', or name an ffmpeg that has the filter libvmaf in LEGATO_FFMPEG"

# Pictures of the trial: as small as a call's may be.
_SIDE = 64
_PICTURES = 2


def found() -> str:
    """The ffmpeg of ``LEGATO_FFMPEG``, the one on the PATH, or imageio-ffmpeg's: the first that measures VMAF.

    Raises:
        CallError: the one named in ``LEGATO_FFMPEG`` does not, or none does.
    """
    if named := os.environ.get("LEGATO_FFMPEG"):
        if why_not := problem(named):
            raise CallError(f"LEGATO_FFMPEG does not measure VMAF: {why_not}", hint=HINT)
        return named
    there = [program for program in (shutil.which("ffmpeg"), _packaged()) if program]
    failed = []
    for program in there:
        why_not = problem(program)
        if why_not is None:
            return program
        failed.append(why_not)
    what = f" ({failed[-1]})" if failed else ""
    raise CallError(f"VMAF needs an ffmpeg with libvmaf, and there is none{what}", hint=HINT)


def problem(program: str) -> str | None:
    """Why this program measures no VMAF; ``None``: it does, tried on two grey pictures."""
    grey = bytes([128]) * (_SIDE * _SIDE)
    try:
        scores = _core.vmaf(program, _SIDE, _SIDE, [(grey, grey)] * _PICTURES)
    except CallError as error:
        return str(error)
    return None if all(90 < score <= 100 for score in scores) else f"{program}: equal pictures score {scores[0]:.0f}"


def check(number: int, report: dict[str, Any]) -> None:
    """Say that a call has no VMAF though it was wanted; the rest of its results is kept.

    Raises:
        CallError: it has none.
    """
    if report["vmaf_problem"] is not None:
        raise CallError(f"no VMAF of call {number}: {report['vmaf_problem']}", hint="all else of the call is kept")


def _packaged() -> str | None:
    """imageio-ffmpeg's, where that is installed."""
    try:
        import imageio_ffmpeg
    except ImportError:
        return None
    try:
        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError:
        # The package without a program, as conda has it.
        return None
