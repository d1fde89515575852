"""``legato run``: the calls of one scenario."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from legato.cli import results, terminal

HELP = """
Simulate the call of one scenario and write it to a run folder.

SCENARIO is a TOML file (docs/scenario.md), or the name of one that comes with Legato.
What it says can be changed with -o, by dotted key.

Examples:

```sh
legato run cellular --controller gcc --seed 7
legato run my.toml -o duration_s=30 --out runs/short
```
"""


def run(
    scenario: Annotated[str, typer.Argument(help="A TOML file, or a shipped scenario's name.", show_default=False)],
    option: Annotated[
        list[str] | None,
        typer.Option("-o", "--option", metavar="KEY=VALUE", help="Change a value of the scenario."),
    ] = None,
    seed: Annotated[list[int] | None, typer.Option(help="A seed; give it again for more calls. [default: 1]")] = None,
    controller: Annotated[
        list[str] | None,
        typer.Option(help="Instead of the scenario's: gcc, or fixed@target_bitrate_bps=800000."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The run folder. [default: the next free of runs/NAME, runs/NAME-2, ...]"),
    ] = None,
    log: Annotated[str, typer.Option(help="summary, series (each 100 ms and each frame) or packets.")] = "series",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    threads: Annotated[int, typer.Option(min=0, help="Threads to use; 0 is one a core.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the folder and the summary as JSON.")] = False,
) -> None:
    import legato
    from legato import overrides

    folder = out or next_free(Path("runs") / Path(scenario).stem)
    with terminal.watch("run") as watch:
        made = legato.run(
            scenario,
            out=folder,
            options=overrides.parse(option or []),
            controllers=controller or [],
            seeds=seed or 1,
            log=log,
            threads=threads,
            resume=resume,
            on_progress=watch.calls,
        )
    if as_json:
        print(json.dumps({"run": str(made.folder), "calls": made.summary()}, indent=2))
        return
    results.show(made.folder)
    terminal.out().print(f"\nrun: {made.folder}")
    terminal.say(f"a report of it: legato report {made.folder}")


def next_free(folder: Path) -> Path:
    """``folder``, or the first of folder-2, folder-3, ... that does not exist."""
    candidate, number = folder, 1
    while candidate.exists():
        number += 1
        candidate = folder.with_name(f"{folder.name}-{number}")
    return candidate
