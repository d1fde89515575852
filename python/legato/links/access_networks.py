"""Windows of recorded 3G, 4G and Wi-Fi links; no file serves both training and tests.

Every fifth file of a kind of access is held out for tests; every fifth window of the other files is for choosing
between trained policies. Files that are too fast for a call are slowed to a mean of 1.25 Mbit/s, half of the range of
bitrates that [concerto] chooses from. Windows with hardly any capacity (outages of a minute) are left out.

[concerto] has no finer record of a link than its throughput in each second. :func:`windows_by_second` plays the same
files so, and also the family ``nyu-mets``, whose LTE links were measured so in the first place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from legato import links
from legato.links import HELD_OUT, VALIDATION, Part, Window, spread
from legato.plan import shipped

ACCESSES = ("3G", "4G", "Wi-Fi")
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
    """The trace files of a kind of access; training and validation share theirs, held-out ones are others."""
    paths = [t.path for t in shipped.traces() if access_of(t.family, t.path.name) == access]
    return links.WINDOWS.of(paths, part)


def _is_in(window: Window, part: Part) -> bool:
    """Whether a window of a file of this part is, and has some capacity."""
    if part != HELD_OUT and (window.index % 5 == 4) != (part == VALIDATION):
        return False
    return bool(window.rates_bps.mean() * window.scale >= MIN_MEAN_BPS)


@cache
def windows(access: str, part: Part, window_s: float = 60.0) -> Sequence[str]:
    """Consecutive windows of that length as trace specs: ``PATH@scale=…,start_s=…,duration_s=…``."""
    every = (window for path in files(access, part) for window in links.windows(path, window_s))
    return tuple(window.spec for window in every if _is_in(window, part))


def files_by_second(access: str, part: Part) -> list[Path]:
    """:func:`files`, and of ``nyu-mets`` every fifth again held out."""
    more = links.files(_BY_SECOND[access]) if access in _BY_SECOND else []
    return files(access, part) + links.WINDOWS.of(more, part)


def windows_by_second(
    access: str, part: Part, folder: Path, window_s: float = LONG_WINDOW_S, most_per_file: int = 6
) -> list[str]:
    """Windows of traces whose rate is the mean of each second, as trace specs.

    A file that is shorter than a window is one, and is played again from its start.

    Args:
        access: of :data:`ACCESSES`.
        part: of the split.
        folder: the traces are written there, as ``NAME.csv``.
        window_s: their length.
        most_per_file: windows, spread over the file.
    """
    specs: list[str] = []
    for path in files_by_second(access, part):
        whole = links.recording(path)
        every = list(links.windows(path, window_s)) or [
            Window(path, 0, 0.0, len(whole.rates_bps), whole.scale, whole.rates_bps)
        ]
        of_file = [window.options for window in every if _is_in(window, part)]
        if of_file:
            place = folder / f"{path.name.removesuffix('.gz').removesuffix('.csv')}.csv"
            _write_by_second(place, whole.rates_bps)
            specs += [f"{place}@{options}" for options in spread(of_file, most_per_file)]
    return specs


def _write_by_second(place: Path, rates_bps: Iterable[float]) -> None:
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        rows = "".join(f"{second},{rate:.0f}\n" for second, rate in enumerate(rates_bps))
        unfinished = place.with_suffix(".part")
        unfinished.write_text(f"time_s,rate_bps\n{rows}", encoding="utf-8")
        unfinished.rename(place)


def of_all(accesses: Sequence[str], part: Part, most: int, window_s: float = 60.0) -> list[str]:
    """Windows of several kinds of access, at most ``most`` of each, spread over its files."""
    return [spec for access in accesses for spec in spread(windows(access, part, window_s), most)]
