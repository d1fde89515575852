"""``legato compare``: controllers crossed with traces, clips and seeds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import legato
from legato.cli import options, results, terminal
from legato.plan import Choice, overrides

HELP = """
Compare controllers: play every one on every trace, clip and seed, then write one report.

Patterns go in quotes. They name a file, a folder, a glob (** includes subfolders) or shipped data: fcc is all traces of
that family, fcc/12 one of them. Separate several by commas, or repeat the option. An @ begins the options of an item:
without @scale, LTE traces are often too fast for a call. A clip is a profile, or any video file, which is profiled
first (minutes, once) and kept. Without --traces or --clips the scenario's values apply.

Examples:

```sh
legato compare --controllers fixed,gcc --traces 'traces/*.txt@scale=0.25' --clips 'clips/*.mp4' --seeds 3 --out runs/lte
legato compare --controllers gcc --controllers nada --traces fcc --clips foreman --out runs/fcc
legato compare --controllers 'gcc,fixed@target_bitrate_bps=800000' --traces my.csv --clips me.mp4 --out runs/mine
```
"""


def compare(
    controllers: options.ControllerNames,
    out: Annotated[Path, typer.Option(help="The run folder; its report is report.html in it.", show_default=False)],
    traces: options.Traces = None,
    clips: options.Clips = None,
    seeds: options.SeedCountOrList = None,
    scenario: Annotated[
        str, typer.Option(metavar="FILE", help="Everything else: a file or a shipped name.")
    ] = "cellular",
    duration_s: options.DurationS = None,
    option: options.Changes = None,
    log: options.Log = "series",
    strict: options.Strict = False,
    calls_per_part: options.CallsPerPart = None,
    threads: options.Threads = 0,
    resume: options.Resume = False,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write OUT/report.html as well.")] = True,
    as_json: options.Json = False,
) -> None:
    changes, chosen = overrides.parse(option or []), options.seeds(seeds, "--seeds", counted=True)
    choice = Choice(scenario, changes, controllers, traces or [], clips or [], chosen, log, duration_s, strict)
    with terminal.watch("compare") as watch:
        made = legato.run(
            choice,
            out=out,
            calls_per_part=calls_per_part,
            threads=threads,
            resume=resume,
            on_progress=watch.calls,
            on_clip_progress=watch.clip,
        )
    page = legato.write_report([made.folder], made.folder / "report.html") if report else None
    if as_json:
        document = {
            "run": str(made.folder),
            "report": page and str(page),
            "means": results.means(made.folder),
        }
        print(json.dumps(document, indent=2))
        return
    results.show(made.folder)
    terminal.out().print(f"\nrun: {made.folder}")
    if page:
        terminal.out().print(f"report: {page}")
