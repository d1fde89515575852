"""Writes docs/ceiling.md: what `clairvoyant` reaches on every shipped family of links, and the best of all others.

    python -m legato_studies.pages ceiling [--links N] [--duration SECONDS]

Every controller of the registry plays every link, with one clip; figures are means over links. A bold figure of another
controller is better than the ceiling's.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from legato.conformance.contestants import playable
from legato.plan import make, shipped
from legato.runs.sweep import sweep
from legato_studies.papers.nvc_cc.sweeps import FAMILIES, recorded_links

PAGE = Path(__file__).resolve().parents[3] / "docs" / "ceiling.md"
CEILING = "clairvoyant"
KNOWS_THE_CAPACITY = "oracle"
CLIP = "foreman"
WORST_PICTURE_DB = 2.0
"""A rival's picture is at most so much below that of the controller that knows the capacity."""


@dataclass(frozen=True)
class Measure:
    """A figure of the summary and how it is shown."""

    column: str
    title: str
    larger_is_better: bool
    scale: float
    digits: int

    def text(self, value: float) -> str:
        """With its digits."""
        return f"{value * self.scale:.{self.digits}f}"


MEASURES = (
    Measure("viewed_delay_p95_ms", "p95 delay, ms", False, 1, 0),
    Measure("viewed_delay_p98_ms", "p98 delay, ms", False, 1, 0),
    Measure("on_time_150ms_ratio", "on time, 150 ms, %", True, 100, 1),
    Measure("on_time_400ms_ratio", "on time, 400 ms, %", True, 100, 1),
    Measure("stall_ratio", "stalled, %", False, 100, 2),
)
PICTURE = Measure("viewed_ssim_db_mean", "SSIM, dB", True, 1, 2)
FLOOR = Measure("stall_floor_ratio", "stall floor, %", False, 100, 2)

HEAD = """# The ceiling: how far from it the others are

Written by `python -m legato_studies.pages ceiling`.
`clairvoyant` knows when each byte will cross the link
(`crates/controllers/src/clairvoyant.rs`): it fits each frame into what the link passes within
50 ms of its capture, skips what would come too late, and sends nothing into a dead link. It does not know random
losses. `oracle`, which papers call the upper bound, knows the capacity alone.

Each cell is `clairvoyant`'s figure, then the best of the {controllers} other controllers that show a picture at most
2 dB below `oracle`'s, with its name (one that sends next to nothing waits for nothing, and is no rival): means over at
most {links} recorded links per family, the clip `{clip}`, {duration_s:g} s per call, seed 1. Delays are those of every
captured frame until something as new is shown, *on time* is of all captured frames ([metrics](metrics.md)). *Live* are
links without a second below 50 kbit/s. **Bold**: another controller is better.

One kind of sender can be below it: frames that arrive seconds late make the receiver's playout buffer so long that it
bridges outages, as `salsify`'s on `mahimahi`, whose slowest links pass a packet every half second. The stall floor
counts no such buffer.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=10, help="of each family")
    parser.add_argument("--duration", type=float, default=60.0, help="of a call, in seconds")
    options = parser.parse_args()
    names = [name for name in playable() if name not in ("fixed", "opennetlab", "remote")]
    text = HEAD.format(controllers=len(names) - 1, links=options.links, clip=CLIP, duration_s=options.duration)
    calls = {}
    for family, (folder, scale) in FAMILIES.items():
        links = recorded_links(folder, options.links)
        if links:
            calls[family] = play(links, scale, names, options.duration)
            print(f"{family}: done", flush=True)
    for title, live in (("Live links", True), ("All links", False)):
        text += f"## {title}\n\n" + table({family: means(rows, live) for family, rows in calls.items()}) + "\n"
    PAGE.write_text(text, encoding="utf-8")


Calls = Mapping[tuple[str, str], Mapping[str, float]]
"""Figures by (controller, link)."""


def play(links: list[Path], scale: float, names: list[str], duration_s: float) -> Calls:
    """Every controller on every link."""
    import duckdb

    made = make(
        "steady",
        options={"duration_s": duration_s},
        controller_specs=names,
        trace_specs=[f"{path}@scale={scale}" for path in links],
        clip_specs=[str(shipped.profile(CLIP))],
        log="summary",
    )
    columns = [measure.column for measure in (*MEASURES, PICTURE, FLOOR)] + ["dead_link_s"]
    with tempfile.TemporaryDirectory() as place, duckdb.connect() as database:
        folder = sweep(made, Path(place) / "run").folder
        sql = f"SELECT controller, trace, {', '.join(columns)} FROM read_parquet('{folder}/summary/*.parquet')"
        rows = database.execute(sql).fetchall()
    return {(controller, trace): dict(zip(columns, row, strict=True)) for controller, trace, *row in rows}


def means(calls: Calls, live: bool) -> dict[str, dict[str, float]] | None:
    """The mean of each figure over the links, by controller; a call that has no figure counts as the worst one."""
    chosen = {key: row for key, row in calls.items() if not live or row["dead_link_s"] == 0}
    if not chosen:
        return None
    found: dict[str, dict[str, float]] = {}
    for name in {controller for controller, _ in chosen}:
        rows = [row for (controller, _), row in chosen.items() if controller == name]
        found[name] = {
            column: sum(row[column] for row in rows) / len(rows)
            for column in rows[0]
            if all(row[column] is not None for row in rows)
        }
        found[name]["links"] = len(rows)
    return found


def table(families: Mapping[str, dict[str, dict[str, float]] | None]) -> str:
    """The page's table of one kind of links."""
    titles = [measure.title for measure in MEASURES]
    lines = [
        "| family | links | " + " | ".join([*titles, FLOOR.title, f"{PICTURE.title} (`{KNOWS_THE_CAPACITY}`)"]) + " |",
        "|---|---|" + "---|" * (len(titles) + 2),
    ]
    for family, found in families.items():
        if found is None:
            lines.append(f"| {family} | 0 |" + " |" * (len(titles) + 2))
            continue
        own, oracle = found[CEILING], found[KNOWS_THE_CAPACITY]
        cells = [cell(measure, found) for measure in MEASURES]
        picture = f"{PICTURE.text(own[PICTURE.column])} ({PICTURE.text(oracle[PICTURE.column])})"
        floor = FLOOR.text(own[FLOOR.column])
        lines.append(f"| {family} | {own['links']:.0f} | " + " | ".join([*cells, floor, picture]) + " |")
    return "\n".join(lines) + "\n"


def cell(measure: Measure, found: Mapping[str, Mapping[str, float]]) -> str:
    """The ceiling's figure, and the best of the others."""
    own = found[CEILING][measure.column]
    sign = -1 if measure.larger_is_better else 1
    seen = found[KNOWS_THE_CAPACITY][PICTURE.column] - WORST_PICTURE_DB
    others = {
        name: row[measure.column]
        for name, row in found.items()
        if name != CEILING and measure.column in row and row.get(PICTURE.column, seen - 1) >= seen
    }
    best = min(others, key=lambda name: sign * others[name])
    text = f"{measure.text(others[best])} `{best}`"
    if sign * others[best] < sign * own:
        text = f"**{text}**"
    return f"{measure.text(own)}; {text}"


if __name__ == "__main__":
    main()
