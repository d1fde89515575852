"""``legato reproduce``: published tables, made again."""

from __future__ import annotations

import importlib
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from legato.cli import options, terminal
from legato.errors import Error

if TYPE_CHECKING:
    from legato_studies.papers.reproduction import Reproduction

HELP = """
Make a published table again: the figure as printed, ours with an interval, and a verdict by one rule for all papers:
met, in reach, not met, undecidable or not comparable, and none where a paper claims nothing
(docs/concepts/verdicts.md). Where the paper's set-up and ours differ, both are run.

Writes reproduction.json, reproduction.html and the run folders they were made of. Exits with status 0 whatever
the verdicts: a figure that is not met is a result.

Papers: `vtfrc` (Video TFRC, ICC 2008: Tables II and III, Figures 5 to 8); `concerto` (MobiCom 2019: Figures 7 to 24,
Tables 3 and 4, whose variants it trains); `nvc-cc` (2024: Table 3, Figures 4 to 12; it trains for Figures 4 and 7, the
rest is of the shipped policies' trainings);
`r3net` (2019: Table 1 and Figure 2 on 1,150 networks in two set-ups, what loss buys, costs);
`clcc` (2022: Figures 3 to 7).

All five play with what `make build` installs. Trainings need `pip install 'legato-rtc[train]'`, unless `--quick` or
`--no-trainings`; `nvc-cc` has its rewards by each reading of eq. (3) where `legato-rtc[gym]` is installed.

Examples:

```sh
legato reproduce vtfrc --quick --out runs/vtfrc
legato reproduce vtfrc --clips qcif-foreman --seeds 2 --out runs/foreman
legato reproduce concerto --quick --out runs/concerto
legato reproduce nvc-cc --out runs/nvc-cc
legato reproduce r3net --seeds 1 --out runs/r3net
legato reproduce clcc --out runs/clcc
legato reproduce r3net --real --calls 5 --out runs/r3net-real
```

`--real` makes calls instead: the papers' controllers and those they were compared with, over recorded 3G, 4G and Wi-Fi
links in real time, both ends ours (`legato call --peers legato`).
"""


class Paper(StrEnum):
    """The papers there are."""

    CLCC = "clcc"
    CONCERTO = "concerto"
    NVC_CC = "nvc-cc"
    R3NET = "r3net"
    VTFRC = "vtfrc"


_OF = {
    "clips": (Paper.VTFRC,),
    "duration_s": (Paper.VTFRC,),
    "no_trainings": (Paper.CONCERTO, Paper.NVC_CC),
    "quick": tuple(Paper),
    "real": tuple(paper for paper in Paper if paper is not Paper.VTFRC),
    "seeds": tuple(paper for paper in Paper if paper is not Paper.NVC_CC),
}
"""The papers that an option is for, where it is not for all."""


def reproduce(
    paper: Annotated[Paper, typer.Argument(help="Whose tables.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The folder for run, figures and page.", show_default=False)],
    clips: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB", help="vtfrc: clips instead of the paper's kind. [default: all of it]"),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="How many, seeds 1 to N; not of nvc-cc. [default: 5]")
    ] = None,
    duration_s: Annotated[
        float | None, typer.Option(help="vtfrc, --real: length of a call, instead of the scenario's, or 30 s.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small part of it, for a first look.")] = False,
    trainings: Annotated[
        bool,
        typer.Option(
            help="concerto: train and test variants (Tables 3, 4, Fig. 23, 24); nvc-cc: train for Figures 4 and 7.",
            show_default=False,
        ),
    ] = True,
    real: Annotated[bool, typer.Option("--real", help="Not vtfrc: real calls, in real time.")] = False,
    calls: Annotated[
        int | None, typer.Option(min=1, help="--real: windows of each kind of link, 30 s each. [default: 10]")
    ] = None,
    threads: options.Threads = 0,
    resume: options.Resume = False,
    as_json: options.Json = False,
) -> None:
    if calls is not None and not real:
        raise Error("--calls: is for --real")
    asked = {
        "clips": clips,
        "duration_s": duration_s,
        "no_trainings": None if trainings else True,
        "quick": quick or None,
        "seeds": seeds,
    }
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    for name in (*given, *(["real"] if real else [])):
        option = f"--{name.replace('_', '-')}"
        if paper not in _OF[name] and not (real and name == "duration_s"):
            raise Error(f"{option}: {paper} has no such option", hint=f"it is for {' and '.join(_OF[name])}")
        if real and name not in ("real", "duration_s"):
            raise Error(f"{option}: is not for --real", hint="--calls 1 is a first look")
    if real:
        _in_real_calls(paper, out, calls, duration_s, resume=resume, as_json=as_json)
        return
    if paper in _OF["no_trainings"]:
        given |= {"trainings": not given.pop("no_trainings", False), "on_training": _say_training}
    module = importlib.import_module(f"legato_studies.papers.{paper.replace('-', '_')}.study")
    with terminal.watch(f"reproduce {paper}") as watch:
        done = module.reproduce(out, threads=threads, resume=resume, on_progress=watch.calls, **given)
    _show(done, as_json=as_json)


def _say_training(name: str, number: int, of: int) -> None:
    terminal.say(f"training {number} of {of}: {name}")


def _in_real_calls(
    paper: Paper, out: Path, calls: int | None, duration_s: float | None, *, resume: bool, as_json: bool
) -> None:
    from legato_studies.papers import real_calls

    with terminal.watch(f"reproduce {paper}") as watch:
        done = real_calls.reproduce(
            str(paper),
            out,
            calls=calls or real_calls.CALLS,
            duration_s=duration_s or real_calls.DURATION_S,
            resume=resume,
            on_progress=watch.real_call,
        )
    late = sum(not call.valid for call in done.calls)
    if late:
        terminal.say(f"{late} of {len(done.calls)} calls do not count: their emulated link was more than 2 ms late")
    _show(done, as_json=as_json)


def _show(done: Reproduction, *, as_json: bool) -> None:
    if as_json:
        typer.echo((done.folder / "reproduction.json").read_text(encoding="utf-8"), nl=False)
        return
    from legato_studies.papers.reproduction import SETUPS

    paper = done.paper
    for title, rows in done.tables():
        terminal.out().print(f"\n{title}")
        setups = [setup for setup in (*SETUPS, None) if any(row.setup == setup for row in rows)]
        for setup in setups:
            if setup:
                terminal.out().print(f"{setup}:")
            here = [row for row in rows if row.setup == setup]
            cells = []
            for row in here:
                interval = f"{paper.interval(row)} {row.unit or ''}".rstrip()
                cells.append((row.name, paper.published(row), paper.number(row.mean), interval, paper.verdict(row)))
            terminal.table(["figure", "published", "ours", "interval", "verdict"], cells)
            if note := paper.note(here):
                terminal.out().print(note)
    terminal.out().print(f"\nfigures: {done.folder / 'reproduction.json'}")
    terminal.out().print(f"page: {done.folder / 'reproduction.html'}")
