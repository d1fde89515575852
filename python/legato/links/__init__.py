"""Recorded links that come with Legato: their families, the files for learning, and the windows cut from them.

A family is what one campaign recorded, and a scale, since most are too fast for a call. Three things learned from
recordings: `legato`'s parameters, policies for windows of 3G, 4G and Wi-Fi, and R3Net's policies. Each has a split of
its own. What tunes or trains asks for :data:`TUNED` and chooses by :data:`VALIDATION`; what judges asks for
:data:`HELD_OUT`, and no file of that is in another part of the same split.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import floor
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from legato import _core
from legato.errors import TraceError
from legato.plan import shipped

Part = Literal["tuned", "validation", "held out"]
TUNED: Part = "tuned"
VALIDATION: Part = "validation"
HELD_OUT: Part = "held out"
PARTS: tuple[Part, ...] = (TUNED, VALIDATION, HELD_OUT)

MEAN_BPS = 1.25e6
"""The mean over its whole length that a window's file is slowed to, where it is faster."""
LIVE_BPS = 50e3
"""A window is live where no second has less."""

_One = TypeVar("_One")


@dataclass(frozen=True)
class Link:
    """A recorded link, and the factor of its rates."""

    family: str
    path: Path
    scale: float = 1.0

    @property
    def spec(self) -> str:
        """As a plan takes it."""
        return f"{self.path}@scale={self.scale}"


@dataclass(frozen=True)
class Split:
    """What each file of a family is for: one part, or the two parts that a training may see."""

    name: str
    parts: Callable[[Sequence[Path]], Mapping[Part, Sequence[Path]]]

    def of(self, paths: Sequence[Path], part: Part) -> list[Path]:
        """Those of a family's files, sorted by path, that are in a part.

        Raises:
            TraceError: there is no such part, or too few files to split.
        """
        found = self.parts(paths)
        if part not in found:
            raise TraceError(f"part = {part}: {self.name} has no such part", f"there are: {', '.join(found)}")
        return list(found[part])


def _every_second(paths: Sequence[Path]) -> Mapping[Part, Sequence[Path]]:
    return {TUNED: paths[::2], HELD_OUT: paths[1::2]}


def _every_fifth(paths: Sequence[Path]) -> Mapping[Part, Sequence[Path]]:
    # The files of a training's windows are those of its validation, whose windows are others.
    seen = [path for index, path in enumerate(paths) if index % 5 != 1]
    return {TUNED: seen, VALIDATION: seen, HELD_OUT: paths[1::5]}


def _at_random(paths: Sequence[Path]) -> Mapping[Part, Sequence[Path]]:
    if len(paths) < 10:
        raise TraceError(f"{len(paths)} recordings; splitting takes at least ten")
    # By name and not by path: the same wherever Legato is installed.
    known = sorted(paths, key=lambda path: (path.parent.name, path.name))
    order = np.random.default_rng(2020).permutation(len(known))
    held_out, validation = round(0.2 * len(known)), round(0.1 * len(known))
    chosen = zip((HELD_OUT, VALIDATION, TUNED), np.split(order, [held_out, held_out + validation]), strict=True)
    return {part: [known[at] for at in sorted(of)] for part, of in chosen}


LEGATO = Split("the split of `legato`", _every_second)
"""What `legato`'s parameters were chosen on."""
WINDOWS = Split("the split of windows", _every_fifth)
"""Of policies for windows of 3G, 4G and Wi-Fi (:mod:`legato.links`), and of `gcc`'s profile `low-delay`."""
PATHS = Split("the split of paths", _at_random)
"""Of R3Net's policies (:mod:`legato.links.replayed`): a fifth held out, a tenth for validation."""


@dataclass(frozen=True)
class Family:
    """A family of recorded links by its name in tables."""

    name: str
    folder: str
    """Its name among the shipped traces."""
    scale: float
    """What rates are multiplied by."""

    def links(self, most: int, split: Split | None = None, part: Part = HELD_OUT) -> list[Link]:
        """At most so many of its links, evenly spaced; all of its files, or those in a part of a split."""
        paths = files(self.folder)
        return [Link(self.name, path, self.scale) for path in middles(split.of(paths, part) if split else paths, most)]


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        Family("Ethernet", "fcc", 1.0),
        Family("cellular", "nyc-lte", 0.25),
        Family("mahimahi", "mahimahi", 0.5),
        Family("nyu-mets", "nyu-mets", 0.4),
        Family("starlink-mobile", "starlink-mobile", 0.2),
        Family("ucc-5g", "ucc-5g", 0.15),
        Family("wifi-zhuge", "wifi-zhuge", 0.15),
        Family("hairpin", "hairpin", 0.25),
        Family("ibox", "ibox", 1.0),
    )
}
"""The two last are whole paths: delay and loss over time, and buffers, delays and cross traffic."""
CAPACITIES = tuple(FAMILIES)[:7]
"""Families that are capacity alone."""


def files(folder: str) -> list[Path]:
    """The traces of a shipped family, sorted by path; none where an installed package lacks it."""
    return [trace.path for trace in shipped.traces() if trace.family == folder]


def middles(every: Sequence[_One], most: int) -> list[_One]:
    """At most ``most`` of a list: the middle ones of as many equal parts."""
    count = min(most, len(every))
    return [every[(2 * n + 1) * len(every) // (2 * count)] for n in range(count)]


def spread(every: Sequence[_One], most: int) -> list[_One]:
    """At most ``most`` of a list, evenly spaced from its first."""
    step = max(1.0, len(every) / most)
    return [every[int(index * step)] for index in range(min(most, len(every)))]


def by_turns(each: Iterable[Sequence[_One]]) -> list[_One]:
    """The first of each list, the second of each, and so on."""
    lists = list(each)
    return [one[n] for n in range(max(map(len, lists), default=0)) for one in lists if n < len(one)]


@dataclass(frozen=True)
class Window:
    """A stretch of a recording, slowed to :data:`MEAN_BPS` where that is faster."""

    path: Path
    index: int
    start_s: float
    length_s: float
    scale: float
    rates_bps: NDArray[np.float64]
    """Of each second, as recorded."""

    @property
    def options(self) -> str:
        """As a trace's spec has them."""
        return f"scale={self.scale:.4g},start_s={self.start_s:g},duration_s={self.length_s:g}"

    @property
    def spec(self) -> str:
        """As a plan takes it."""
        return f"{self.path}@{self.options}"

    @property
    def live(self) -> bool:
        """Whether no second has less than :data:`LIVE_BPS`."""
        return bool(self.rates_bps.min() * self.scale >= LIVE_BPS)


@dataclass(frozen=True)
class Recording:
    """What a trace passes in each of its seconds."""

    path: Path
    duration_s: float
    mean_rate_bps: float
    rates_bps: NDArray[np.float64]

    @property
    def scale(self) -> float:
        """What slows it to :data:`MEAN_BPS`."""
        return min(1.0, MEAN_BPS / self.mean_rate_bps)


@cache
def recording(path: Path) -> Recording:
    """A trace, read once."""
    trace = _core.load_trace(str(path))
    return Recording(path, trace.duration_s, trace.mean_rate_bps, trace.rates(1.0)[1])


def windows(path: Path, length_s: float, shortest_s: float | None = None) -> Iterator[Window]:
    """Consecutive windows of a trace; the last may be as short as ``shortest_s``, by default no shorter than all."""
    whole = recording(path)
    count = int(whole.duration_s // length_s)
    for index in range(count + 1):
        start_s = index * length_s
        length = length_s if index < count else floor(whole.duration_s - start_s)
        if index < count or (shortest_s is not None and length >= shortest_s):
            rates = whole.rates_bps[int(start_s) : int(start_s + length)]
            yield Window(path, index, start_s, length, whole.scale, rates)


def live_windows(path: Path, length_s: float = 60.0) -> list[str]:
    """The live windows of a trace as specs; its last may be half as long."""
    return [window.spec for window in windows(path, length_s, length_s / 2) if window.live]
