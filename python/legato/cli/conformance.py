"""``legato conformance``: the RMCAT cases, with verdicts."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from legato.cli import options, terminal
from legato.errors import Error
from legato.plan import specs

if TYPE_CHECKING:
    from legato.conformance.suite import Suite

HELP = """
Run the test cases of RFC 8867 for controllers, with a verdict for each case.

The page has a table of controllers by cases, each case's plots in the RFC's manner, and every figure with its mark.
Cases are named by section or by one way of running it. Exits with status 0 whatever the
verdicts: a failed case is a result.

Examples:

```sh
legato conformance --out runs/rfc8867
legato conformance --controllers gcc,nada,scream --cases 5.1,5.4 --out runs/some
```
"""


def conformance(
    out: Annotated[
        Path | None, typer.Option(help="The folder; the page is conformance.html in it.", show_default=False)
    ] = None,
    controllers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Names: gcc,nada or one per option. [default: every one that adapts]",
            show_default=False,
        ),
    ] = None,
    cases: Annotated[
        list[str] | None,
        typer.Option(
            help="Sections or keys: 5.1 or 5.1a-50. [default: all but the encouraged, 4.2]", show_default=False
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many; the worst is the verdict.")] = 1,
    threads: options.Threads = 0,
    resume: options.Resume = False,
    list_cases: Annotated[bool, typer.Option("--list", help="List the cases and leave.")] = False,
    as_json: options.Json = False,
) -> None:
    from legato.conformance import CASES, ENCOURAGED, page, suite
    from legato.report.pages import counted

    if list_cases:
        every = (*CASES, *ENCOURAGED)
        terminal.table(
            ["case", "what", "scenario"], [(case.key, case.title, f"{case.scenario}.toml") for case in every]
        )
        return
    if out is None:
        raise Error(
            "--out is missing: the folder for runs, verdicts and page", hint="legato conformance --out runs/rfc8867"
        )
    wanted = specs.names(cases or [], "cases")
    specs.once(zip(wanted, wanted, strict=True), "cases")
    started = time.monotonic()
    with terminal.watch("conformance") as watch:
        done = suite.conformance(
            controllers or [],
            out=out,
            cases=wanted,
            seeds=seeds,
            threads=threads,
            resume=resume,
            on_progress=lambda key, progress: watch.calls(progress, key),
        )
    written = page.write(done, out / "conformance.html")
    if as_json:
        print(json.dumps(json.loads((out / "verdicts.json").read_text(encoding="utf-8")), indent=1))
        return
    _show(done)
    crossed = f"{counted(len(done.cases), 'case')} x {counted(len(done.controllers), 'controller')}"
    terminal.say(f"{crossed} in {time.monotonic() - started:.1f} s")
    terminal.out().print(f"verdicts: {out / 'verdicts.json'}")
    terminal.out().print(f"page: {written}")


def _show(done: Suite) -> None:
    """Cases down, controllers across: there are more cases than a terminal is wide."""
    rows = []
    for case in done.judged:
        verdicts = [done.verdicts[name, case.key] for name in done.controllers]
        cells = ["pass" if v.passed else f"fail {len(v.failed)}/{len(v.checks)}" for v in verdicts]
        rows.append((case.key, *cells))
    rows.append(("passes", *(f"{done.passes(name)}/{len(done.judged)}" for name in done.controllers)))
    terminal.table(["case", *done.controllers], rows)
    for name, why in done.left_out:
        terminal.say(f"left out: {name}: {why}")
