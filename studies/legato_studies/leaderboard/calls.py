"""Calls that are alone on their links: played, and read as figures by controller and network.

What is independent is the network, so intervals are over networks (:mod:`legato.results.stats`). Differences are taken
call by call, so that what makes a link, a clip or an encoder hard for both controllers cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from legato.links import Link
from legato.plan import Choice
from legato.results import stats
from legato.results.comparison import bounded
from legato.results.figures import METRICS, Shown
from legato.results.query import query
from legato.results.stats import Array, Estimate
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
        """Calls of a controller that have no such figure: those that showed nothing."""
        return sum(call.figures[measure.column] is None for call in self._of(name).values())

    def mean(self, name: str, measure: Shown) -> Estimate:
        """The mean over calls, with its interval over networks."""
        known = [
            (call.network, value)
            for call in self._of(name).values()
            if (value := call.figures[measure.column]) is not None
        ]
        return bounded(stats.grouped_mean(known), 0.0, METRICS[measure.column].most)

    def difference(self, name: str, base: str, measure: Shown) -> Estimate:
        """The mean of one controller minus another, call by call."""
        found = stats.grouped_mean((network, own - other) for network, own, other in self.pairs(name, base, measure))
        most = METRICS[measure.column].most
        return bounded(found, -most, most)

    def closed(self, name: str, base: str, ceiling: str, *groups: Sequence[Shown]) -> Estimate:
        """The share of the way from one controller to another: a mean over groups of figures that count alike.

        Each share is cut to -1 to 1, since a delay may be any number of times worse. A figure by which the base is no
        worse than the ceiling is left out; without any there is no share.
        """
        order = {network: at for at, network in enumerate(dict.fromkeys(call.network for call in self.calls))}
        calls = np.zeros(len(order))
        for call in self._of(name).values():
            calls[order[call.network]] += 1
        parts = [
            [way for measure in group if (way := self._way(name, base, ceiling, measure, order))[1].sum() > 0]
            for group in groups
        ]
        known = [part for part in parts if part]
        if not known:
            return stats.NO_FIGURE

        def share(weights: Array) -> Array:
            return np.mean(
                [
                    np.mean([np.clip((weights @ own) / (weights @ top), -1.0, 1.0) for own, top in part], axis=0)
                    for part in known
                ],
                axis=0,
            )

        return bounded(stats.of_groups(share, calls), -1.0, 1.0)

    def _way(
        self, name: str, base: str, ceiling: str, measure: Shown, order: Mapping[Network, int]
    ) -> tuple[Array, Array]:
        """By how much a controller and the ceiling are better than the base: totals of each network."""
        own, top, sign = np.zeros(len(order)), np.zeros(len(order)), 1.0 if measure.more_is_better else -1.0
        for network, reached, other in self.pairs(name, base, measure):
            own[order[network]] += sign * (reached - other)
        for network, best, other in self.pairs(ceiling, base, measure):
            top[order[network]] += sign * (best - other)
        return own, top

    def pairs(self, name: str, base: str, measure: Shown) -> Iterator[tuple[Network, float, float]]:
        """A figure of two controllers by the network, for each call that both have it of."""
        rivals = self._of(base)
        for key, call in self._of(name).items():
            other = rivals.get(key)
            own, rival = call.figures[measure.column], other and other.figures[measure.column]
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
