"""``legato reproduce``: published tables, made again."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from legato.cli import terminal

HELP = """
Make a published table again: the figure as printed, ours with an interval, and met, not met or not comparable.

Writes reproduction.json, reproduction.html and the run folder they were made of. Leaves with status 0 whatever
comes out: a figure that is not met is a result.

Papers: `vtfrc` (Video TFRC, ICC 2008: Tables II and III, Figures 5 to 8).

Examples:

```sh
legato reproduce vtfrc --out runs/vtfrc
legato reproduce vtfrc --clips qcif-foreman --seeds 2 --out runs/foreman
```
"""


class Paper(StrEnum):
    """The papers there are."""

    VTFRC = "vtfrc"


def reproduce(
    paper: Annotated[Paper, typer.Argument(help="Whose tables.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The folder for run, figures and page.", show_default=False)],
    clips: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Clips instead of the paper's kind. [default: all of it]")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many: seeds 1 to N.")] = 5,
    duration_s: Annotated[float | None, typer.Option(help="Length of a call, instead of the scenario's.")] = None,
    threads: Annotated[int, typer.Option(min=0, help="Threads to use; 0 is one a core.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the folder.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print reproduction.json.")] = False,
) -> None:
    from legato.published import vtfrc, vtfrc_page

    assert paper is Paper.VTFRC  # the only one yet
    with terminal.watch(f"reproduce {paper}") as watch:
        done = vtfrc.reproduce(
            out,
            clips=clips or (),
            seeds=seeds,
            duration_s=duration_s,
            threads=threads,
            resume=resume,
            on_progress=watch.calls,
        )
    page = vtfrc_page.write(done, out / "reproduction.html")
    if as_json:
        typer.echo((out / "reproduction.json").read_text(encoding="utf-8"), nl=False)
        return
    for table, title in (("II", "Table II: friendliness F"), ("III", "Table III: gain over jm-tfrc")):
        terminal.out().print(f"\n{title}")
        rows = [
            (
                row.name,
                "–" if row.published is None else f"{row.published:.2f}",
                f"{row.mean:.2f}",
                vtfrc_page.interval(row),
                row.verdict,
            )
            for row in done.rows
            if row.table == table
        ]
        terminal.table(["figure", "published", "ours", "interval", "verdict"], rows)
    terminal.out().print(f"\nfigures: {out / 'reproduction.json'}")
    terminal.out().print(f"page: {page}")
