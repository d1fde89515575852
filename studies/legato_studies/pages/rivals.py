"""Writes docs/rivals.md: the newest published controllers beside those that were here, over the shipped families.

    python -m legato_studies.pages rivals [--links N] [--duration SECONDS]

Every controller plays every live link (without a second below 50 kbit/s) of every family, with one clip and seed 1.
The tables are those of `legato leaderboard`, which has more controllers, clips, encoders and questions.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from legato.plan import shipped
from legato_studies.leaderboard import FAMILIES, Calls, Link, untuned_links
from legato_studies.leaderboard.calls import play
from legato_studies.leaderboard.measures import MEASURES, P95, PICTURE, STALLED
from legato_studies.leaderboard.page import markdown
from legato_studies.leaderboard.tables import by_family, differences, live, means

PAGE = Path(__file__).resolve().parents[3] / "docs" / "rivals.md"
BASE = "gcc"
NEW = ("vidaptive", "ndtc", "camel", "pudica", "burst-rtc", "mmsys24-baseline", "ten-tms")
LOW_DELAY = "gcc@profile=low-delay,label=gcc-low-delay"
BESIDE = ("legato", LOW_DELAY, "r3net", "sqp", "salsify", "scream-v2", "clairvoyant")
AUDIBLE = (BASE, "r3net", "mmsys24-baseline", "ten-tms")
AUDIO = {"audio.bitrate_bps": 20_000}
CLIP = "foreman"

HEAD = """# The newest rivals beside the others

Written by `python -m legato_studies.pages rivals`.
`vidaptive` ([karimi2023]), `ndtc` ([draft-ageneau-ccwg-ndtc]), `camel`
([liu2026]), `pudica` ([wang2024]) and `burst-rtc` ([burstrtc2024]) are controllers published since 2023, implemented
from what of their texts was at hand; `mmsys24-baseline` and `ten-tms` are two published networks as they are
([khairy2024]). Parameters are those their texts print (`burst-rtc`'s are ours), and nothing was tuned to these links or
any other; so are those of the others, but for `gcc-low-delay`, a tuned profile ([gcc-profiles](gcc-profiles.md)), and
for `r3net`, whose training saw other links of the families Ethernet and cellular. [`legato`](legato.md), our own, was
tuned on every second file of each family; the links of this page are of the other files. All controllers, more clips
and encoders, and how they share a link: [the leaderboard](leaderboard.md).

Means over the live links of at most {links} per family, with 95 % intervals over links; the clip `{clip}`,
{duration_s:g} s per call, seed 1, every call alone on its link. *Live*: no second below 50 kbit/s. Delays are those of
every captured frame until something as new is shown, *on time* is of all captured frames ([metrics](metrics.md)).
`clairvoyant` knows the link: [the ceiling](ceiling.md).
"""
WITH_AUDIO = """The challenge's two networks were trained on calls with audio: 42 % of the packets of an interval, by
the baseline's own means. Without audio `mmsys24-baseline` takes a low rate for a narrow link and sinks to its floor.
Here every call has RFC 8867's audio beside the video."""


def main() -> None:
    """Play, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--links", type=int, default=10, help="of each family")
    parser.add_argument("--duration", type=float, default=60.0, help="of a call, in seconds")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page [default: docs/rivals.md]")
    options = parser.parse_args()
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
    head = HEAD.format(links=options.links, clip=CLIP, duration_s=options.duration)
    options.page.write_text(head + markdown(sections), encoding="utf-8")


def played(controllers: Sequence[str], count: int, options: Mapping[str, object]) -> Calls:
    """Every controller on the links of every family; the live ones."""
    links = [
        Link(family, path, scale)
        for family, (folder, scale) in FAMILIES.items()
        for path in untuned_links(folder, count)
    ]
    with tempfile.TemporaryDirectory() as place:
        clips = [str(shipped.profile(CLIP))]
        return live(play(Path(place) / "run", links, controllers, clip_specs=clips, options=options))


if __name__ == "__main__":
    main()
