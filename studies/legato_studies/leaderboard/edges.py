"""The edge cases of scenarios/edges: the difficulties that break controllers, one at a time, and the goals in each.

The link is 2.5 Mbit/s with a round trip of 50 ms but for what a case changes. `clean` has nothing in its way; rates are
held against the same controller's there. Asked is that nothing collapses: four fifths of the clean rate (of what the
link leaves, where it leaves 2 Mbit/s), a p95 delay of 200 ms, 1 % of the time stalled. Where the link falls deep, half
of the rate, a second and 5 %. Where packets are lost, 0.85 of the clean rate and at most half of `gcc`'s stalls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from legato.plan import Choice
from legato.results.figures import METRICS, Shown
from legato.results.query import query
from legato.results.stats import Estimate, grouped_mean
from legato.runs.sweep import Progress, sweep
from legato_studies.leaderboard.measures import GOODPUT, P95, PICTURE, STALLED

CLEAN = "clean"
BASE = "gcc"
SHOWN = (GOODPUT, P95, STALLED, PICTURE, METRICS["loss_ratio"].named("lost, %", digits=1))
_LEFT = 2.0 / 2.5
"""Of the clean link's rate, where a policer or a shaper is in front."""


@dataclass(frozen=True)
class Edge:
    """One case and its goal; None: there is none."""

    key: str
    """Of scenarios/edges."""
    min_goodput_ratio: float | None = 0.8
    """Of the same controller's goodput on the clean link."""
    max_p95_ms: float | None = 200.0
    max_stalled_ratio: float | None = 0.01
    max_stalled_of_base_ratio: float | None = None
    """Of `gcc`'s stalls in the same case."""


def _lossy(key: str) -> Edge:
    return Edge(key, 0.85, None, None, 0.5)


EDGES = (
    Edge("policer", 0.8 * _LEFT),
    Edge("token_bucket", 0.8 * _LEFT),
    Edge("shallow_buffer"),
    Edge("aggregation"),
    Edge("slots"),
    Edge("reordering"),
    Edge("slow_feedback"),
    Edge("clock_drift"),
    Edge("static_scene", None),
    Edge("deep_drop", 0.5, 1_000.0, 0.05),
    Edge("reverse_loss"),
    Edge("codel_marks"),
    Edge("l4s_marks"),
    *(_lossy(f"{kind}{percent}") for kind in ("loss_", "bursty_loss_") for percent in (1, 3, 10)),
)


@dataclass(frozen=True)
class Ask:
    """The goal of a case and a controller's result."""

    what: str
    value: float
    mark: float
    at_least: bool
    why: str = ""
    """Where the mark comes from, if that is another figure."""

    @property
    def met(self) -> bool:
        """Whether it is reached; a figure that is not there is not."""
        return self.value >= self.mark if self.at_least else self.value <= self.mark


Rows = Mapping[tuple[str, str], Sequence[Mapping[str, float | None]]]
"""By controller and case, the figures of each seed."""


class Edges:
    """The figures of every controller in every case, seed by seed."""

    def __init__(self, found: Rows) -> None:
        self._found = found

    @property
    def controllers(self) -> list[str]:
        return list(dict.fromkeys(name for name, _ in self._found))

    def estimate(self, name: str, key: str, measure: Shown) -> Estimate:
        """The mean over seeds, and its interval from five seeds on."""
        values = [row[measure.column] for row in self._found[name, key]]
        return grouped_mean((at, value) for at, value in enumerate(values) if value is not None)

    def mean(self, name: str, key: str, measure: Shown) -> float:
        """The mean over seeds; NaN where a seed has no such figure."""
        values = [row[measure.column] for row in self._found[name, key]]
        return sum(float("nan") if value is None else value for value in values) / len(values)

    def goodput_ratio(self, name: str, key: str) -> float:
        """Of what the controller gets on the clean link."""
        return self.mean(name, key, GOODPUT) / self.mean(name, CLEAN, GOODPUT)

    def asks(self, name: str, edge: Edge) -> list[Ask]:
        """A controller's goal in a case."""
        stalled = self.mean(name, edge.key, STALLED)
        found = []
        if edge.min_goodput_ratio is not None:
            found.append(Ask("rate", self.goodput_ratio(name, edge.key), edge.min_goodput_ratio, True))
        if edge.max_p95_ms is not None:
            found.append(Ask("p95 delay", self.mean(name, edge.key, P95), edge.max_p95_ms, False))
        if edge.max_stalled_ratio is not None:
            found.append(Ask("stalled", stalled, edge.max_stalled_ratio, False))
        if edge.max_stalled_of_base_ratio is not None:
            most = edge.max_stalled_of_base_ratio * self.mean(BASE, edge.key, STALLED)
            found.append(Ask("stalled", stalled, most, False, f", half of {BASE}'s"))
        return found

    def met(self, name: str) -> list[str]:
        """The cases in which a controller reaches all that is asked."""
        return [edge.key for edge in EDGES if all(ask.met for ask in self.asks(name, edge))]


def play(
    folder: Path,
    controllers: Sequence[str],
    *,
    seeds: int,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[str, Progress], None] | None = None,
) -> Edges:
    """Every controller in every case; a run folder each. `gcc` has to be among them."""
    found: dict[tuple[str, str], list[dict[str, float | None]]] = {}
    columns = [measure.column for measure in SHOWN]
    for key in (CLEAN, *(edge.key for edge in EDGES)):
        made = Choice(f"edges/{key}", controllers=controllers, seeds=seeds, log="summary").plan()
        watch = None if on_progress is None else (lambda progress, key=key: on_progress(key, progress))
        sweep(made, folder / key, threads=threads, resume=resume, on_progress=watch)
        for row in query(folder / key, f"SELECT controller, {', '.join(columns)} FROM summary ORDER BY call"):
            found.setdefault((row["controller"], key), []).append({column: row[column] for column in columns})
    return Edges(found)
