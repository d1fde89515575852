"""Writes docs/measured/rivals.md: the newest published controllers and the earlier ones, over the shipped families.

    python -m legato_studies.pages rivals [--links N] [--duration SECONDS]

Every controller plays every live link (without a second below 50 kbit/s) of every family, with one clip and seed 1.
The tables are those of `legato leaderboard`, which has more controllers, clips, encoders and questions.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from legato.plan import shipped
from legato_studies.leaderboard import NAMES, Calls, held_out
from legato_studies.leaderboard.calls import play
from legato_studies.leaderboard.measures import MEASURES, P95, PICTURE, STALLED
from legato_studies.leaderboard.page import marked
from legato_studies.leaderboard.tables import by_family, differences, live, means
from legato_studies.page import Found, Options, Page

BASE = "gcc"
NEW = ("vidaptive", "ndtc", "camel", "pudica", "burst-rtc", "mmsys24-baseline", "ten-tms")
LOW_DELAY = "gcc@profile=low-delay,label=gcc-low-delay"
BESIDE = ("legato", LOW_DELAY, "r3net", "sqp", "salsify", "scream-v2", "clairvoyant")
AUDIBLE = (BASE, "r3net", "mmsys24-baseline", "ten-tms")
AUDIO = {"audio.bitrate_bps": 20_000}
CLIP = "foreman"
WITH_AUDIO = """The challenge's two networks were trained on calls with audio: 42 % of the packets of an interval, by
the baseline's own means. Without audio `mmsys24-baseline` takes a low rate for a narrow link and sinks to its floor.
Here every call has RFC 8867's audio with the video."""


def play_all(options: Options) -> Found:
    """Every controller over every family, and some with audio."""
    calls = played((BASE, *NEW, *BESIDE), options.links, {"duration_s": options.duration})
    audible = played(AUDIBLE, options.links, {"duration_s": options.duration, **AUDIO})
    shown = ", ".join(f"{family} {count}" for family, count in calls.networks().items())
    names = calls.controllers
    sections = [
        means(f"All {len(calls)} live links", calls, names, MEASURES, f"{shown}."),
        means("The same links, with audio", audible, audible.controllers, MEASURES, WITH_AUDIO),
        differences(calls, names),
        *(by_family(calls, measure, names) for measure in (P95, STALLED, PICTURE)),
    ]
    facts = {"links": options.links, "clip": CLIP, "duration_s": options.duration}
    return Found({**facts, "sections": marked(sections)})


def played(controllers: Sequence[str], count: int, options: Mapping[str, object]) -> Calls:
    """Every controller on the links of every family; the live ones."""
    links = [link for family in held_out(NAMES, count) for link in family]
    with tempfile.TemporaryDirectory() as place:
        clips = [str(shipped.profile(CLIP))]
        return live(play(Path(place) / "run", links, controllers, clips=clips, options=options))


PAGE = Page(
    "rivals",
    play_all,
    {
        "--links": {"default": 10, "help": "of each family"},
        "--duration": {"default": 60.0, "help": "of a call, in seconds"},
    },
)
