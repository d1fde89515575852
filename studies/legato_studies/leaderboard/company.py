"""How controllers share a link: with their like, with `gcc`, with a CUBIC flow (scenarios/fairness).

Rates are receiver rates of the second minute. Each session is played with several seeds, which draw where the clip
begins: cameras that tick together are the hard case, and here seeds are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from legato.conformance.contestants import KNOW_THE_LINK
from legato.conformance.flows import Session, jain, read
from legato.plan import Choice
from legato.results.stats import Estimate, grouped_mean
from legato.results.totals import bounded
from legato.runs.sweep import Progress, sweep

FROM_S, TO_S = 60.0, 120.0


@dataclass(frozen=True)
class Sharing:
    """A scenario of several flows, and the figure that says how they share."""

    key: str
    """Of scenarios/fairness."""
    title: str
    figure: Callable[[Session], float]
    mark: str
    """The goal, as text."""


def fairness(session: Session) -> float:
    """Jain's index of all calls."""
    return jain([call.mean_bps(FROM_S, TO_S) for call in session.calls])


def share(session: Session) -> float:
    """What the first call has of all that arrives: half is fair between two."""
    own, *others = (flow.mean_bps(FROM_S, TO_S) for flow in (*session.calls, *session.traffic))
    return own / (own + sum(others))


SHARINGS = (
    Sharing("same_2", "Jain, 2 alike", fairness, ">= 0.95"),
    Sharing("same_4", "Jain, 4 alike", fairness, ">= 0.95"),
    Sharing("same_8", "Jain, 8 alike", fairness, ">= 0.95"),
    Sharing("round_trips", "Jain, round trips of 10 to 150 ms", fairness, ">= 0.85"),
    Sharing("beside_gcc", "share beside `gcc`", share, "0.3 to 0.7"),
    Sharing("beside_cubic", "share beside CUBIC, queue of 300 ms", share, "0.3 to 0.7"),
)


Shares = Mapping[tuple[str, str], tuple[float, ...]]
"""By controller and scenario, a figure per seed."""


@dataclass(frozen=True)
class Company:
    """The figures by controller and scenario."""

    found: Shares

    seeds: int

    def estimate(self, name: str, sharing: Sharing) -> Estimate:
        """The mean over seeds, and its interval."""
        return bounded(grouped_mean(enumerate(self.found.get((name, sharing.key), ()))), 0.0, 1.0)


def play(
    folder: Path,
    controllers: Sequence[str],
    *,
    seeds: int,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[str, Progress], None] | None = None,
) -> Company:
    """Every controller in every scenario; a run folder each."""
    found: dict[tuple[str, str], list[float]] = {}
    for sharing in SHARINGS:
        made = Choice(f"fairness/{sharing.key}", controllers=controllers, seeds=seeds, log="series").plan()
        watch = None if on_progress is None else (lambda progress, key=sharing.key: on_progress(key, progress))
        sweep(made, folder / sharing.key, threads=threads, resume=resume, on_progress=watch)
        for session in read(folder / sharing.key):
            found.setdefault((session.controller, sharing.key), []).append(sharing.figure(session))
    return Company({key: tuple(values) for key, values in found.items()}, seeds)


def names(controllers: Sequence[str]) -> list[str]:
    """The controllers that share: `oracle` and `clairvoyant` know a link that they have to themselves."""
    return [spec for spec in controllers if spec.partition("@")[0] not in KNOW_THE_LINK]
