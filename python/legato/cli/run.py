"""``legato run``: the calls of one scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import legato
from legato.cli import options, results, terminal
from legato.plan import Choice, overrides

HELP = """
Simulate the call of one scenario and write it to a run folder.

SCENARIO is a TOML file (docs/reference/scenario.md), or the name of a shipped one. Change its values with -o, by dotted
key.

Examples:

```sh
legato run cellular --controller gcc --seed 7
legato run my.toml -o duration_s=30 --out runs/short
```
"""


def run(
    scenario: options.Scenario,
    option: options.Changes = None,
    seed: options.Seeds = None,
    controller: options.Controllers = None,
    traces: options.Traces = None,
    clips: options.Clips = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The run folder. [default: the next free of runs/NAME, runs/NAME-2, ...]"),
    ] = None,
    log: options.Log = "series",
    duration_s: options.DurationS = None,
    strict: options.Strict = False,
    calls_per_part: options.CallsPerPart = None,
    resume: options.Resume = False,
    threads: options.Threads = 0,
    as_json: options.Json = False,
) -> None:
    folder = out or next_free(Path("runs") / Path(scenario).stem)
    changes, seeds = overrides.parse(option or []), options.seeds(seed, "--seed")
    choice = Choice(scenario, changes, controller or [], traces or [], clips or [], seeds, log, duration_s, strict)
    with terminal.watch("run") as watch:
        made = legato.run(
            choice,
            out=folder,
            calls_per_part=calls_per_part,
            threads=threads,
            resume=resume,
            on_progress=watch.calls,
            on_clip_progress=watch.clip,
        )
    results.finish(made, as_json=as_json)


def next_free(folder: Path) -> Path:
    """``folder``, or the first of folder-2, folder-3, ... that does not exist."""
    candidate, number = folder, 1
    while candidate.exists():
        number += 1
        candidate = folder.with_name(f"{folder.name}-{number}")
    return candidate
