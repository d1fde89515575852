"""``legato gap``: how far a simulation is from a call."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from legato.cli import terminal
from legato.cli.call import picture_size
from legato.cli.run import next_free

HELP = """
Simulate a scenario's call and make it for real, several times each, and say how far the one is from the other:
a table of differences with intervals, and gap.html with every call's target, rate and delay over each other.

Examples:

```sh
legato gap steady --repeats 5
legato gap cellular --controller gcc -o duration_s=30
```
"""


def gap(
    scenario: Annotated[str, typer.Argument(help="A TOML file, or a shipped scenario's name.", show_default=False)],
    option: Annotated[
        list[str] | None,
        typer.Option("-o", "--option", metavar="KEY=VALUE", help="Change a value of the scenario."),
    ] = None,
    controller: Annotated[list[str] | None, typer.Option(help="Instead of the scenario's; one.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Calls each way.")] = 3,
    clip: Annotated[
        Path | None, typer.Option(help="A Y4M file to send, 8-bit 4:2:0. [default: a generated scene]")
    ] = None,
    size: Annotated[str, typer.Option(help="Of the generated scene.", metavar="WxH")] = "1280x720",
    fps: Annotated[int, typer.Option(help="Of the generated scene.", min=1, max=60)] = 30,
    out: Annotated[
        Path | None, typer.Option(help="The folder. [default: the next free of runs/NAME-gap, runs/NAME-gap-2, ...]")
    ] = None,
) -> None:
    from legato import gap as gaps
    from legato import overrides
    from legato.call import Pictures

    width, height = picture_size(size)
    folder = out or next_free(Path("runs") / f"{Path(scenario).stem}-gap")
    with terminal.watch("call") as watch:
        found = gaps.measure(
            scenario,
            folder,
            repeats=repeats,
            options=overrides.parse(option or []),
            controllers=controller or [],
            pictures=Pictures(clip=clip, width=width, height=height, fps=fps),
            on_progress=watch.real_call,
        )
    columns = ("", "simulated", "called", "difference")
    terminal.table(columns, gaps.text_rows(found), right=columns[1:])
    terminal.out().print(f"\ngap: {folder / 'gap.html'}")
