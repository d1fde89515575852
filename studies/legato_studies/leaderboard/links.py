"""The recorded links of a leaderboard: those of each shipped family that `legato` was not tuned on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from legato.errors import Error, did_you_mean
from legato.plan import shipped
from legato_studies.leaderboard.calls import Link
from legato_studies.papers.nvc_cc.sweeps import FAMILIES as RECORDED

FAMILIES = {**RECORDED, "hairpin": ("hairpin", 0.25)}
"""By the name in tables: the shipped family, and what its rates are multiplied by, since most are too fast for a call.
`ibox` is left out: its links have cross traffic, of which `clairvoyant` knows nothing."""


def untuned_links(family: str, count: int) -> list[Path]:
    """At most so many of a family's traces, evenly spaced, of those that `legato` was not tuned on."""
    paths = sorted(trace.path for trace in shipped.traces() if trace.family == family)[1::2]
    if len(paths) <= count:
        return paths
    return [paths[(2 * n + 1) * len(paths) // (2 * count)] for n in range(count)]


def by_turns(families: Iterable[str], count: int) -> list[Link]:
    """At most so many untuned links of each of these families, the first of each family first."""
    each = []
    for family in families:
        folder, scale = FAMILIES[family]
        each.append([Link(family, path, scale) for path in untuned_links(folder, count)])
    return [links[n] for n in range(count) for links in each if n < len(links)]


def chosen(names: Sequence[str]) -> dict[str, tuple[str, float]]:
    """The families of these names; all where there are none."""
    for name in names:
        if name not in FAMILIES:
            raise Error(f"families = {name}: no family of links has this name", hint=did_you_mean(name, FAMILIES))
    return {name: entry for name, entry in FAMILIES.items() if not names or name in names}
