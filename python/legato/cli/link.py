"""``legato link``: other people's programs over a scenario's link."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import legato
from legato.cli import options, results, terminal
from legato.cli.call import records, say_what_the_machine_did
from legato.cli.run import next_free
from legato.plan import Choice, overrides

HELP = """
Run two programs over the link that a scenario describes, with any protocol. Each runs in a network namespace whose only
way out is the link. Writes a run folder of the link's records: packets, delays, losses, rates, lateness. All packets of
the near program count as media, all packets of the far one as feedback.

The programs find their addresses in LEGATO_OWN and LEGATO_PEER (and LEGATO_NEAR, LEGATO_FAR). They run for the
scenario's duration: a program that still runs then is ended. Their output goes to standard error. For the superuser, on
Linux; `legato call --check` names anything missing.

Status 0: done. 1: a program failed by itself, or the link was late. 2: something to put right.

Examples:

```sh
legato link steady --near 'ping -c 10 $LEGATO_PEER' --far 'sleep 11'
legato link cellular --near './sender $LEGATO_PEER' --far './receiver' --name mine --out runs/mine
```
"""


def link(
    scenario: options.Scenario,
    near: Annotated[str, typer.Option(metavar="COMMAND", help="Sends the media; a command line for the shell.")],
    far: Annotated[str, typer.Option(metavar="COMMAND", help="Receives them.")],
    option: options.Changes = None,
    seed: options.Seeds = None,
    traces: options.Traces = None,
    strict: options.Strict = False,
    name: Annotated[str, typer.Option(help="What tables call the two, in place of a controller.")] = "others",
    out: Annotated[
        Path | None,
        typer.Option(help="The run folder. [default: the next free of runs/NAME-link, runs/NAME-link-2, ...]"),
    ] = None,
    log: options.Log = "series",
    duration_s: options.DurationS = None,
    resume: options.Resume = False,
    as_json: options.Json = False,
) -> int:
    folder = out or next_free(Path("runs") / f"{Path(scenario).stem}-link")
    changes, seeds = overrides.parse(option or []), options.seeds(seed, "--seed")
    choice = Choice(scenario, changes, (), traces or [], (), seeds, log, duration_s, strict)
    with terminal.watch("link") as watch:
        made = legato.link(
            choice, near=near, far=far, name=name, out=folder, resume=resume, on_progress=watch.real_call
        )
    failed = _say_what_the_programs_did(made.folder)
    invalid = say_what_the_machine_did(made.folder)
    results.finish(made, results.OF_LINKS, as_json=as_json)
    return 1 if invalid or failed else 0


def _say_what_the_programs_did(folder: Path) -> int:
    """Reports how each of them ended; returns how many failed by themselves."""
    failed = 0
    for record in records(folder):
        for where in ("near", "far"):
            status = record[f"{where}_status"]
            failed += bool(status)
            how = "was ended with the scenario" if status is None else f"ended with status {status}"
            if status is not None and status < 0:
                how = f"was ended by signal {-status}"
            terminal.say(f"call {record['call']}: the {where} program {how}")
    return failed
