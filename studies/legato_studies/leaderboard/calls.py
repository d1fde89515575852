"""Calls that are alone on their links: played, and read as figures by controller and network.

Networks are independent, so intervals are over networks (:mod:`legato.results.stats`). Differences are paired per
call, so effects common to both controllers cancel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from legato.links import Link
from legato.plan import Choice
from legato.results.figures import Shown
from legato.results.query import query
from legato.results.stats import Array, Estimate
from legato.results.totals import Totals, bounded, share_of_the_way
from legato.runs.sweep import Progress, sweep
from legato_studies.leaderboard.measures import FLOOR, MEASURES

COLUMNS = tuple(measure.column for measure in (*MEASURES, FLOOR))
Network = tuple[str, str]
"""A family and the name of a trace."""
Figures = Mapping[str, float | None]
"""By column of the summary."""


@dataclass(frozen=True)
class Call:
    """The figures of one call."""

    controller: str
    family: str
    trace: str
    setting: str
    """Clip and encoder, or whatever else differs between calls over the same link."""
    live: bool
    """Whether no second of the link is below 50 kbit/s."""
    figures: Figures

    @property
    def network(self) -> Network:
        return self.family, self.trace


class Calls:
    """Figures of many calls."""

    def __init__(self, calls: Iterable[Call]) -> None:
        self.calls = list(calls)
        self._by_name: dict[str, dict[tuple[str, str, str], Call]] = {}
        for call in self.calls:
            self._by_name.setdefault(call.controller, {})[call.family, call.trace, call.setting] = call
        self._order = {network: at for at, network in enumerate(dict.fromkeys(call.network for call in self.calls))}

    def only(self, keep: Callable[[Call], bool]) -> Calls:
        """Those of which this holds."""
        return Calls(filter(keep, self.calls))

    @property
    def controllers(self) -> list[str]:
        """In the order they were played."""
        return list(self._by_name)

    @property
    def settings(self) -> list[str]:
        return list(dict.fromkeys(call.setting for call in self.calls))

    def networks(self) -> dict[str, int]:
        """How many each family has."""
        found = dict.fromkeys(call.network for call in self.calls)
        families = [family for family, _ in found]
        return {family: families.count(family) for family in dict.fromkeys(families)}

    def __len__(self) -> int:
        return sum(self.networks().values())

    def _of(self, name: str) -> Mapping[tuple[str, str, str], Call]:
        """A controller's calls by link and setting. It has none where only live links were kept and none is live."""
        return self._by_name.get(name, {})

    def missing(self, name: str, measure: Shown) -> int:
        """Calls of a controller that have no such figure, because they showed nothing."""
        return sum(call.figures[measure.column] is None for call in self._of(name).values())

    def mean(self, name: str, measure: Shown) -> Estimate:
        """The mean over calls, with its interval over networks."""
        figures = ((call.network, call.figures[measure.column]) for call in self._of(name).values())
        found = self._totals((network, value) for network, value in figures if value is not None)
        return bounded(found.mean(), 0.0, measure.figure.most)

    def difference(self, name: str, base: str, measure: Shown) -> Estimate:
        """The mean of one controller minus another, call by call."""
        found = self._totals((network, own - other) for network, own, other in self.pairs(name, base, measure))
        return bounded(found.mean(), -measure.figure.most, measure.figure.most)

    def over(self, name: str, base: str, measure: Shown) -> Estimate:
        """The mean of a figure over that of another controller, over the same calls."""
        pairs = list(self.pairs(name, base, measure))
        own = self._totals((network, one) for network, one, _ in pairs)
        return bounded(own.over(self._totals((network, other) for network, _, other in pairs)), 0.0, math.inf)

    def closed(self, name: str, base: str, ceiling: str, *groups: Sequence[Shown]) -> Estimate:
        """The share of the way from one controller to another: a mean over groups of figures that count alike."""

        def way(measure: Shown) -> tuple[Array, Array]:
            sign = 1.0 if measure.more_is_better else -1.0
            own, top = (
                self._totals((at, sign * (reached - other)) for at, reached, other in self.pairs(who, base, measure))
                for who in (name, ceiling)
            )
            return own.sums, top.sums

        calls = self._totals((call.network, 1.0) for call in self._of(name).values()).counts
        return share_of_the_way([[way(measure) for measure in group] for group in groups], calls)

    def _totals(self, values: Iterable[tuple[Network, float]]) -> Totals:
        return Totals.of(((self._order[network], value) for network, value in values), len(self._order))

    def pairs(self, name: str, base: str, measure: Shown) -> Iterator[tuple[Network, float, float]]:
        """A figure of two controllers by the network, for each call that both have it of."""
        rivals = self._of(base)
        for key, call in self._of(name).items():
            other = rivals.get(key)
            own, rival = call.figures[measure.column], None if other is None else other.figures[measure.column]
            if own is not None and rival is not None:
                yield call.network, own, rival


def play(
    folder: Path,
    links: Sequence[Link],
    controllers: Sequence[str],
    *,
    clips: Sequence[str],
    setting: str = "{clip}",
    scenario: str = "steady",
    options: Mapping[str, Any] | None = None,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Calls:
    """Every controller on every link with every clip, seed 1, as a run folder.

    ``setting`` names what calls over one link differ in; ``{clip}`` in it becomes the clip's name.
    """
    made = Choice(
        scenario,
        options=options,
        controllers=controllers,
        traces=[link.spec for link in links],
        clips=clips,
        log="summary",
    ).plan()
    sweep(made, folder, threads=threads, resume=resume, on_progress=on_progress)
    found = []
    for row in query(folder, f"SELECT call, controller, dead_link_s, {', '.join(COLUMNS)} FROM summary ORDER BY call"):
        _, link, clip, _ = made.places(row["call"])
        found.append(
            Call(
                controller=row["controller"],
                family=links[link].family,
                trace=f"{links[link].path.parent.name}/{links[link].path.name}",
                setting=setting.format(clip=Path(made.clips[clip]).stem if made.clips else "no clip"),
                live=row["dead_link_s"] == 0,
                figures={column: row[column] for column in COLUMNS},
            )
        )
    return Calls(found)
