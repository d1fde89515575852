"""The recorded links of a leaderboard: those of each family that `legato` was not tuned on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from legato.errors import Error, did_you_mean
from legato.links import CAPACITIES, FAMILIES, LEGATO, Link, by_turns

NAMES = (*CAPACITIES, "hairpin")
"""`ibox` is left out: its links have cross traffic, of which `clairvoyant` knows nothing."""


def held_out(families: Iterable[str], most: int) -> list[list[Link]]:
    """At most so many links of each of these families."""
    return [FAMILIES[family].links(most, LEGATO) for family in families]


def mixed(families: Iterable[str], most: int) -> list[Link]:
    """The same in one list, the first of each family first."""
    return by_turns(held_out(families, most))


def chosen(names: Sequence[str]) -> list[str]:
    """The families of these names; all where there are none."""
    for name in names:
        if name not in NAMES:
            raise Error(f"families = {name}: no family of links has this name", hint=did_you_mean(name, NAMES))
    return [name for name in NAMES if not names or name in names]
