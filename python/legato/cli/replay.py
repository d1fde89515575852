"""``legato replay``: one call again, with every packet."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

import legato
from legato.cli import terminal
from legato.cli.run import next_free
from legato.errors import Error

HELP = """
Make one call again, log every packet, and check that all figures are the same.

WHAT is a run folder, followed by the number of a call in it; or a scenario, with --seed.
Exits with status 1 if a figure differs from the recorded one (another version of Legato may do that).

Examples:

```sh
legato replay runs/demo 17
legato replay cellular --seed 7
```
"""


def replay(
    what: Annotated[str, typer.Argument(help="A run folder, or a scenario.", show_default=False)],
    call: Annotated[int | None, typer.Argument(help="The call's number in the run folder.", show_default=False)] = None,
    seed: Annotated[int | None, typer.Option(help="The seed, for a scenario.")] = None,
    out: Annotated[Path | None, typer.Option(help="The new run folder. [default: runs/replay-...]")] = None,
) -> int:
    from legato.runs.replay import differences

    if Path(what).is_dir():
        if call is None or seed is not None:
            raise Error(f"{what}: is a run folder, so a call is named by number", hint=f"legato replay {what} 0")
        made = legato.replay(what, call, out=out or next_free(Path("runs") / f"replay-{Path(what).name}-{call}"))
        folder, different = made.run.folder, made.differences
    else:
        if seed is None or call is not None:
            raise Error(f"{what}: is not a run folder; a scenario needs a seed", hint=f"legato replay {what} --seed 1")
        folder = out or next_free(Path("runs") / f"replay-{Path(what).stem}-{seed}")
        first = legato.run(what, out=folder, seeds=[seed], log="packets", threads=1)
        with tempfile.TemporaryDirectory(prefix="legato-replay-") as scratch:
            again = legato.run(what, out=Path(scratch) / "run", seeds=[seed], log="summary", threads=1)
            different = differences(first.summary()[0], again.summary()[0])
    terminal.out().print(f"run: {folder}")
    if not different:
        terminal.out().print("same: every figure is as before")
        return 0
    for column, (before, now) in different.items():
        terminal.out().print(f"different: {column} was {before}, is {now}")
    return 1
