"""``legato leaderboard``: every controller on one page."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from legato.cli import options, terminal
from legato.errors import Error
from legato.plan import specs

HELP = """
Put controllers on one page: a sorted table, two pictures, and every figure behind them.

Five parts, each a folder of runs below OUT/runs:

- `networks`: recorded links of every shipped family, with an easy and a hard clip and two encoders; how much each
  controller closes of the way from gcc to clairvoyant, which knows the link;
- `company`: 2, 4 and 8 alike, round trips of 10 to 150 ms, beside gcc, beside CUBIC with a queue of 300 ms;
- `edges`: policer, token bucket, clumps, reordering, loss: what is left of the rate;
- `conformance`: the cases of RFC 8867 and 8869, passed and failed;
- `papers`: the settings of Vidaptive and Mowgli, with their published figures.

Writes leaderboard.html and leaderboard.md. All controllers take about 300 CPU seconds, some three minutes on two
idle cores, and 2 GB of runs; a stopped run goes on with `--resume`.

Examples:

```sh
legato leaderboard --out runs/leaderboard
legato leaderboard --controllers legato,scream-v2 --parts networks --links 3 --out runs/three
legato leaderboard --controllers 'legato,legato@max_skips=0,label=no skips' --families cellular --out runs/skips
```
"""


def leaderboard(
    out: Annotated[Path, typer.Option(help="The folder for runs and pages.", show_default=False)],
    controllers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Names: legato,nada or one per option; gcc and clairvoyant always play. [default: every one]",
            show_default=False,
        ),
    ] = None,
    families: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Families of links. [default: all]", show_default=False)
    ] = None,
    clips: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Clips. [default: asl-night,foreman]", show_default=False),
    ] = None,
    encoder: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Encoders. [default: openh264,x264]", show_default=False),
    ] = None,
    parts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="networks, company, edges, conformance, papers. [default: all]", show_default=False
        ),
    ] = None,
    cases: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Cases of conformance. [default: all but 8869-3.2g]", show_default=False),
    ] = None,
    links: Annotated[int, typer.Option(min=1, help="How many of each family, at most.")] = 10,
    duration_s: Annotated[float, typer.Option(min=1.0, help="Of a call that has its link to itself.")] = 60.0,
    seeds: Annotated[int, typer.Option(min=1, help="Of each session in company and each edge case.")] = 5,
    markdown: Annotated[
        Path | None,
        typer.Option(help="Where the Markdown goes. [default: OUT/leaderboard.md]", show_default=False),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "--threads", min=0, help="Threads; 0 is one per core.")] = 0,
    resume: options.Resume = False,
    as_json: options.Json = False,
) -> None:
    from legato_studies import leaderboard as board

    started = time.monotonic()
    size = board.Size(links=links, duration_s=duration_s, seeds=seeds)
    chosen = {
        "families": _listed(families, "families", ()),
        "clips": _listed(clips, "clips", board.CLIPS),
        "encoders": _listed(encoder, "encoder", board.ENCODERS),
        "parts": _listed(parts, "parts", board.PARTS),
        "cases": _listed(cases, "cases", ()),
    }
    if cases and "conformance" not in chosen["parts"]:
        raise Error("--cases: is for the part conformance", hint="--parts conformance")
    with terminal.watch("leaderboard") as watch:
        done = board.leaderboard(
            controllers or [],
            out=out,
            size=size,
            threads=jobs,
            resume=resume,
            on_progress=lambda part, progress: watch.calls(progress, part),
            **chosen,
        )
    page = board.write_page(done, out / "leaderboard.html")
    command = "legato leaderboard" + (f" --out FOLDER --markdown {markdown}" if markdown else "")
    text = board.write_markdown(done, markdown or out / "leaderboard.md", command)
    from legato_studies.leaderboard import tables

    table = tables.first(done, list(tables.standing(done)))
    if as_json:
        rows = [dict(zip(map(str, table.columns), map(str, row), strict=True)) for row in table.rows]
        print(json.dumps({"page": str(page), "markdown": str(text), "standing": rows}, indent=2))
        return
    terminal.table([str(column) for column in table.columns], table.rows)
    terminal.say(f"{len(done.controllers)} controllers in {time.monotonic() - started:.1f} s")
    terminal.out().print(f"page: {page}")
    terminal.out().print(f"tables: {text}")


def _listed(given: list[str] | None, what: str, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    """A list as typed, each item once."""
    if given is None:
        return otherwise
    found = specs.names(given, what)
    specs.once(zip(found, found, strict=True), what)
    return tuple(found)
