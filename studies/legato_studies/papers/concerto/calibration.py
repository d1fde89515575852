"""Which round-trip time and queue give WebRTC what [concerto] Fig. 7 prints of it: 4.8 % loss and 304 ms.

The paper plays the throughput of each second as a link's capacity and prints neither. Both were chosen once, by this
sweep over recordings of training, and are in ``scenarios/mobile_by_second.toml``; it is run again to show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from legato.links import TUNED, access_networks, spread
from legato.plan import Choice, Plan
from legato.report.pages import Section
from legato.results.query import query
from legato_studies.papers.concerto.setups import PRINTED, QUICK_S, WEBRTC

# [concerto] Fig. 7: of video telephony.
LOSS_RATIO, DELAY_MS = 0.048, 304.0
ONE_WAY_MS = (25.0, 50.0, 100.0, 135.0, 150.0)
QUEUE_MS = (25.0, 40.0, 60.0, 100.0, 200.0, 400.0)
RECORDINGS = 8
"""Of each kind of access, at most; a window of each."""


@dataclass(frozen=True)
class Point:
    """What WebRTC meets over one path."""

    one_way_ms: float
    queue_ms: float
    loss_ratio: float
    delay_ms: float
    """Mean round-trip time."""

    @property
    def off_ratio(self) -> float:
        """How far it is from Fig. 7: both relative distances together."""
        return abs(self.loss_ratio / LOSS_RATIO - 1) + abs(self.delay_ms / DELAY_MS - 1)


def calibration_plans(folder: Path, quick: bool) -> Iterator[tuple[str, Plan]]:
    """A plan for each path, by name; ``folder`` is where traces are written."""
    duration_s = QUICK_S if quick else PRINTED.duration_s
    every = (
        access_networks.windows_by_second(access, TUNED, folder, duration_s, most_per_file=1)
        for access in access_networks.ACCESSES
    )
    specs = [spec for some in every for spec in spread(some, 1 if quick else RECORDINGS)]
    for one_way_ms, queue_ms in product(ONE_WAY_MS[3 if quick else 0 :], QUEUE_MS[: 2 if quick else None]):
        path = {
            "forward.propagation_ms": one_way_ms,
            "reverse.propagation_ms": one_way_ms,
            "forward.queue.limit_ms": queue_ms,
        }
        yield (
            f"{one_way_ms:g}-{queue_ms:g}",
            Choice(
                PRINTED.scenario,
                options={**path, "duration_s": duration_s},
                controllers=[f"{PRINTED.gcc}@label={WEBRTC}"],
                traces=specs,
                clips=access_networks.TRAINING_CLIPS[:1],
                log="summary",
            ).plan(),
        )


def read_points(runs: Mapping[str, Path]) -> list[Point]:
    """The figures met over each path, of run folders by the names of their plans."""
    sql = "select avg(loss_ratio) as loss_ratio, avg(rtt_mean_ms) as delay_ms from summary"
    found = []
    for name, folder in runs.items():
        one_way_ms, queue_ms = (float(part) for part in name.split("-"))
        found.append(Point(one_way_ms, queue_ms, **query(folder, sql)[0]))
    return found


def documents(points: list[Point]) -> list[dict[str, Any]]:
    """As ``reproduction.json`` has them."""
    return [asdict(point) | {"off_ratio": point.off_ratio} for point in points]


def section(points: list[Point]) -> Section:
    """A row for each round-trip time, a column for each queue; the closest is marked."""
    closest = min(points, key=lambda point: point.off_ratio)
    queues = sorted({point.queue_ms for point in points})
    rows = []
    for one_way_ms in sorted({point.one_way_ms for point in points}):
        cells = [f"{2 * one_way_ms:g} ms"]
        for queue_ms in queues:
            (point,) = (p for p in points if (p.one_way_ms, p.queue_ms) == (one_way_ms, queue_ms))
            mark = " (closest)" if point is closest else ""
            cells.append(f"{100 * point.loss_ratio:.1f} %, {point.delay_ms:.0f} ms{mark}")
        rows.append(cells)
    note = (
        "Loss and mean round-trip time of WebRTC on recordings of training, by the path's round trip without queue "
        f"(rows) and the queue (columns). The paper prints {100 * LOSS_RATIO:g} % and {DELAY_MS:g} ms; the set-up as "
        "printed has 270 ms and a queue of 40 ms."
    )
    return Section("Calibration", note, ["", *(f"{queue:g} ms" for queue in queues)], rows)
