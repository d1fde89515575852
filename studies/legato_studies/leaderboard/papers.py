"""The settings in which two papers published how far they are from GCC, as near as the shipped links come to them.

[karimi2023] Vidaptive: cellular links of Mahimahi unscaled, a 1080p camera, drop-tail; 1.5 times GCC's bitrate at 0.43
of the p95 of its frame delay. Ours: the links of nyc-lte and mahimahi unscaled, a clip of 720 rows that can use
12 Mbit/s (no shipped clip has 1080), a queue of a second. [agarwal2025] Mowgli: FCC and Norwegian 3G links, round
trips of 40, 100 and 160 ms, a minute each; 15 % more bitrate and more, with 60 % fewer freezes and more. Ours: links of
fcc and of mahimahi's UMTS (the Norwegian ones are not shipped), the clip `foreman`, and the scenario's queue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from legato.links import Link, files, middles
from legato.results.figures import Shown
from legato.runs.sweep import Progress
from legato_studies.leaderboard import calls
from legato_studies.leaderboard.calls import Call, Calls
from legato_studies.leaderboard.measures import GOODPUT, P95, STALLED


@dataclass(frozen=True)
class Setting:
    """A paper's setting and its claim there against GCC."""

    key: str
    title: str
    claims: tuple[tuple[Shown, str], ...]
    """Figures as ratios to `gcc`'s, and the published ones."""
    ours: str
    """Where our setting differs."""
    clip: str
    options: dict[str, Any]
    duration_s: float
    round_trips_ms: tuple[float, ...] = (50.0,)


VIDAPTIVE = Setting(
    "vidaptive",
    "Vidaptive's setting: cellular links unscaled",
    ((GOODPUT, ">= 1.5"), (P95, "<= 0.43")),
    "[karimi2023]. The links are nyc-lte's and mahimahi's, unscaled, with all their outages; the clip has 720 "
    "rows, the paper's have 1080, and can use 12 Mbit/s; the queue holds a second at the link's mean rate. Delay "
    "is as viewed, of every captured frame until something as new is shown.",
    "foreman-720",
    {"limits.max_bps": 12_000_000, "forward.queue.limit_ms": 1000.0, "video.encoder": "x264"},
    120.0,
)
MOWGLI = Setting(
    "mowgli",
    "Mowgli's setting: FCC and 3G, round trips of 40, 100 and 160 ms",
    ((GOODPUT, ">= 1.15"), (STALLED, "<= 0.4")),
    "[agarwal2025]. The 3G links are mahimahi's UMTS, since the paper's Norwegian ones are not shipped; freezes are "
    "the share of time stalled; the queue holds 300 ms at the link's mean rate.",
    "foreman",
    {},
    60.0,
    (40.0, 100.0, 160.0),
)
SETTINGS = (VIDAPTIVE, MOWGLI)


def links_of(setting: Setting, count: int) -> list[Link]:
    """At most so many of each of a setting's two families."""
    if setting is VIDAPTIVE:
        families = {name: files(name) for name in ("nyc-lte", "mahimahi")}
    else:
        families = {"fcc": files("fcc"), "UMTS": [path for path in files("mahimahi") if "UMTS" in path.name]}
    return [Link(family, path) for family, paths in families.items() for path in middles(paths, count)]


def play(
    folder: Path,
    setting: Setting,
    controllers: Sequence[str],
    *,
    count: int,
    duration_s: float | None = None,
    threads: int = 0,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Calls:
    """Every controller on the links of a setting; a run folder for each round trip."""
    found: list[Call] = []
    for round_trip_ms in setting.round_trips_ms:
        one_way_ms = round_trip_ms / 2
        found += calls.play(
            folder / f"{round_trip_ms:g}ms",
            links_of(setting, count),
            controllers,
            clips=[setting.clip],
            setting=f"{round_trip_ms:g} ms",
            options={
                **setting.options,
                "duration_s": duration_s or setting.duration_s,
                "forward.propagation_ms": one_way_ms,
                "reverse.propagation_ms": one_way_ms,
            },
            threads=threads,
            resume=resume,
            on_progress=on_progress,
        ).calls
    return Calls(found)
