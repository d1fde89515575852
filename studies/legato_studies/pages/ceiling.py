"""Writes docs/measured/ceiling.md: what `clairvoyant` reaches on every shipped family of links, and the best of all
others.

    python -m legato_studies.pages ceiling [--links N] [--duration SECONDS]

Every controller of the registry plays every link, with one clip; figures are means over links. A bold figure of another
controller is better than the ceiling's.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from legato.conformance.contestants import playable
from legato.links import CAPACITIES, FAMILIES, Link
from legato.plan import Choice, shipped
from legato.report.pages import Section
from legato.results.figures import METRICS, Shown
from legato.results.query import summary_rows
from legato.runs.sweep import sweep
from legato_studies.leaderboard.measures import FLOOR, ON_TIME, P95, P98, PICTURE, STALLED
from legato_studies.page import Found, Options, Page

CEILING = "clairvoyant"
KNOWS_THE_CAPACITY = "oracle"
CLIP = "foreman"
WORST_PICTURE_DB = 2.0
"""A rival's picture is at most so much below that of the controller that knows the capacity."""


ON_TIME_400 = METRICS["on_time_400ms_ratio"].named("on time, 400 ms, %", digits=1)
SHOWN = (P95, P98, ON_TIME, ON_TIME_400, STALLED)


def play(options: Options) -> Found:
    """Every controller on the links of every family."""
    names = [name for name in playable() if name not in ("fixed", "opennetlab", "remote")]
    calls = {}
    for family in CAPACITIES:
        if links := FAMILIES[family].links(options.links):
            calls[family] = called(links, names, options.duration)
            print(f"{family}: done", flush=True)
    facts = {"controllers": len(names) - 1, "links": options.links, "clip": CLIP, "duration_s": options.duration}
    live, every = (shown({f: means(rows, live) for f, rows in calls.items()}) for live in (True, False))
    return Found({**facts, "live": live, "every": every})


Calls = Mapping[tuple[str, str], Mapping[str, float]]
"""Figures by (controller, link)."""


def called(links: list[Link], names: list[str], duration_s: float) -> Calls:
    """Every controller on every link."""
    made = Choice(
        "steady",
        options={"duration_s": duration_s},
        controllers=names,
        traces=[link.spec for link in links],
        clips=[str(shipped.profile(CLIP))],
        log="summary",
    ).plan()
    columns = [measure.column for measure in (*SHOWN, PICTURE, FLOOR)] + ["dead_link_s"]
    with tempfile.TemporaryDirectory() as place:
        rows = summary_rows(sweep(made, Path(place) / "run").folder)
    return {(row["controller"], row["trace"]): {column: row[column] for column in columns} for row in rows}


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


def shown(families: Mapping[str, dict[str, dict[str, float]] | None]) -> Section:
    """The page's table of one kind of links."""
    columns = ["family", "links", *(m.title for m in SHOWN), FLOOR.title, f"SSIM, dB (`{KNOWS_THE_CAPACITY}`)"]
    rows = []
    for family, found in families.items():
        if found is None:
            rows.append([family, "0", *[""] * (len(columns) - 2)])
            continue
        own, oracle = found[CEILING], found[KNOWS_THE_CAPACITY]
        picture = f"{PICTURE.text(own[PICTURE.column])} ({PICTURE.text(oracle[PICTURE.column])})"
        cells = [*(cell(measure, found) for measure in SHOWN), FLOOR.text(own[FLOOR.column]), picture]
        rows.append([family, f"{own['links']:.0f}", *cells])
    return Section("", columns=columns, rows=rows)


def cell(measure: Shown, found: Mapping[str, Mapping[str, float]]) -> str:
    """The ceiling's figure, and the best of the others."""
    own = found[CEILING][measure.column]
    sign = -1 if measure.more_is_better else 1
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


PAGE = Page(
    "ceiling",
    play,
    {
        "--links": {"default": 10, "help": "of each family"},
        "--duration": {"default": 60.0, "help": "of a call, in seconds"},
    },
)
