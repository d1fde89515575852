"""``legato report``: the HTML page of one or more runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import legato
from legato.cli import terminal

HELP = """
Write the report of one or more run folders: one self-contained HTML file.

It opens without a network and prints well. It has time lines of each call, quality against delay, distributions, and a
table of means with 95 % intervals.

Examples:

```sh
legato report runs/lte
legato report runs/before runs/after --out difference.html
legato report runs/lte --baseline fixed --time-lines 200
```
"""


def report(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Run folders.", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="The file. [default: report.html in the first folder]")] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What the others are compared with. [default: gcc, else the first]"),
    ] = None,
    time_lines: Annotated[
        int | None,
        typer.Option(min=0, help="Calls whose time line the file holds, about 15 kB each. [default: 60]"),
    ] = None,
    late_calls: Annotated[
        bool,
        typer.Option("--late-calls", help="Count real calls whose emulated link was late, too."),
    ] = False,
) -> None:
    page = legato.write_report(
        folders,
        out or folders[0] / "report.html",
        baseline=baseline,
        max_timelines=time_lines,
        late_calls=late_calls,
    )
    said = f"report: {page}"
    # Where the page itself may be on standard output, nothing else is.
    terminal.out().print(said) if page.is_file() else terminal.say(said)
