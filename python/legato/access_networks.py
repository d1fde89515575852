"""Windows of recorded 3G, 4G and Wi-Fi links; no file serves both training and tests.

Every fifth file of a kind of access is held out for tests; every fifth window of the other files is for choosing
between trained policies. Files that are too fast for a call are slowed to a mean of 1.25 Mbit/s, half of the range of
bitrates that [concerto] chooses from; windows with hardly any capacity (outages of a minute) are left out.

[concerto] has no finer record of a link than its throughput in each second. :func:`windows_by_second` plays the same
files so, and beside them the family ``nyu-mets``, whose LTE links were measured so in the first place.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from legato import _core
from legato.plan import shipped

Part = Literal["train", "validate", "test"]

ACCESSES = ("3G", "4G", "Wi-Fi")
MEAN_BPS = 1.25e6
"""The mean over its whole length that a faster file is slowed to."""
MIN_MEAN_BPS = 150e3
"""Windows with less are left out."""

LONG_WINDOW_S = 300.0
"""Of windows by the second, for figures that take minutes; most Wi-Fi files are this long."""

_THIRD_GENERATION = ("UMTS", "EVDO")
_BY_SECOND = {"4G": "nyu-mets"}
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


def files_by_second(access: str, part: Part) -> list[Path]:
    """:func:`files`, and of ``nyu-mets`` every fifth again for tests."""
    more = sorted(t.path for t in shipped.traces() if t.family == _BY_SECOND[access]) if access in _BY_SECOND else []
    return files(access, part) + [path for index, path in enumerate(more) if (index % 5 == 1) == (part == "test")]


def windows_by_second(
    access: str, part: Part, folder: Path, window_s: float = LONG_WINDOW_S, most_per_file: int = 6
) -> list[str]:
    """Windows of traces whose rate is the mean of each second, as trace specs.

    A file that is shorter than a window is one, and is played again from its start.

    Args:
        folder: the traces are written there, as ``NAME.csv``.
        window_s: their length.
        most_per_file: windows, spread over the file.
    """
    specs: list[str] = []
    for path in files_by_second(access, part):
        trace = _core.load_trace(str(path))
        scale = min(1.0, MEAN_BPS / trace.mean_rate_bps)
        _, rates = trace.rates(1.0)
        of_file = []
        for index in range(max(1, int(trace.duration_s // window_s))):
            start_s = index * window_s
            held_out = index % 5 == 4
            if part != "test" and held_out != (part == "validate"):
                continue
            if rates[int(start_s) : int(start_s + window_s)].mean() * scale >= MIN_MEAN_BPS:
                of_file.append(f"scale={scale:.4g},start_s={start_s:g},duration_s={min(window_s, len(rates)):g}")
        if not of_file:
            continue
        place = _written_by_second(folder / f"{path.name.removesuffix('.gz').removesuffix('.csv')}.csv", rates)
        count = min(most_per_file, len(of_file))
        specs += [f"{place}@{of_file[index * len(of_file) // count]}" for index in range(count)]
    return specs


def _written_by_second(place: Path, rates_bps: Sequence[float]) -> Path:
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        rows = "".join(f"{second},{rate:.0f}\n" for second, rate in enumerate(rates_bps))
        unfinished = place.with_suffix(".part")
        unfinished.write_text(f"time_s,rate_bps\n{rows}", encoding="utf-8")
        unfinished.rename(place)
    return place


def of_all(accesses: Sequence[str], part: Part, most: int, window_s: float = 60.0) -> list[str]:
    """Windows of several kinds of access, at most ``most`` of each, spread over its files."""
    return [spec for access in accesses for spec in spread(windows(access, part, window_s), most)]


def spread(every: Sequence[str], most: int) -> list[str]:
    """At most ``most`` of a list, evenly spaced."""
    step = max(1.0, len(every) / most)
    return [every[int(index * step)] for index in range(min(most, len(every)))]
