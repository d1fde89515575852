"""Windows of recorded 3G, 4G and Wi-Fi links; no file serves both training and tests.

Every fifth file of a kind of access is held out for tests; every fifth window of the other files is for choosing
between trained policies. Files that are too fast for a call are slowed to a mean of 1.25 Mbit/s, half of the range of
bitrates that [concerto] chooses from; windows with hardly any capacity (outages of a minute) are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from legato import _core, shipped

Part = Literal["train", "validate", "test"]

ACCESSES = ("3G", "4G", "Wi-Fi")
MEAN_BPS = 1.25e6
"""The mean over its whole length that a faster file is slowed to."""
MIN_MEAN_BPS = 150e3
"""Windows with less are left out."""

_THIRD_GENERATION = ("UMTS", "EVDO")
TRAINING_CLIPS = ("asl-again", "asl-night", "asl-sister", "bunny", "camera", "grid-lrwp9a")
TEST_CLIPS = ("asl-please", "foreman", "grid-bbaf2n")


def access_of(family: str, name: str) -> str | None:
    """The kind of access a trace file was recorded on; ``None`` for families that are not used here."""
    if family == "wifi-zhuge":
        return "Wi-Fi"
    if family == "mahimahi" and any(mark in name for mark in _THIRD_GENERATION):
        return "3G"
    return "4G" if family in ("mahimahi", "nyc-lte") else None


def files(access: str, part: Part) -> list[Path]:
    """The trace files of a kind of access; ``train`` and ``validate`` share theirs, ``test`` has its own."""
    paths = [t.path for t in shipped.traces() if access_of(t.family, t.path.name) == access]
    return [path for index, path in enumerate(sorted(paths)) if (index % 5 == 1) == (part == "test")]


@cache
def windows(access: str, part: Part, window_s: float = 60.0) -> Sequence[str]:
    """Consecutive windows of that length as trace specs: ``PATH@scale=…,start_s=…,duration_s=…``."""
    specs = []
    for path in files(access, part):
        trace = _core.load_trace(str(path))
        scale = min(1.0, MEAN_BPS / trace.mean_rate_bps)
        _, rates = trace.rates(1.0)
        for index in range(int(trace.duration_s // window_s)):
            start_s = index * window_s
            if part != "test" and (index % 5 == 4) != (part == "validate"):
                continue
            if rates[int(start_s) : int(start_s + window_s)].mean() * scale < MIN_MEAN_BPS:
                continue
            specs.append(f"{path}@scale={scale:.4g},start_s={start_s:g},duration_s={window_s:g}")
    return tuple(specs)


def of_all(accesses: Sequence[str], part: Part, most: int, window_s: float = 60.0) -> list[str]:
    """Windows of several kinds of access, at most ``most`` of each, spread over its files."""
    chosen: list[str] = []
    for access in accesses:
        every = windows(access, part, window_s)
        step = max(1.0, len(every) / most)
        chosen += [every[int(index * step)] for index in range(min(most, len(every)))]
    return chosen
