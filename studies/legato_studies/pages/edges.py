"""Writes docs/measured/edges.md: `legato` and `gcc` in the edge cases of scenarios/edges.

python -m legato_studies.pages edges [--seeds N]
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from legato.plan import shipped
from legato.report.pages import Section
from legato.results.figures import Shown
from legato_studies.leaderboard import edges
from legato_studies.leaderboard.edges import CLEAN, EDGES, SHOWN, Ask, Edges
from legato_studies.page import Found, Options, Page, table

CONTROLLERS = ("gcc", "legato")


def play(options: Options) -> Found:
    """Every case, and the goal of `legato` there."""
    with tempfile.TemporaryDirectory() as place:
        found = edges.play(Path(place), CONTROLLERS, seeds=options.seeds)
    shown = [figures(found, measure) for measure in SHOWN]
    return Found({"seeds": options.seeds, "verdicts": verdicts(found), "figures": shown})


def titles() -> dict[str, str]:
    """What each case is, from the head of its file."""
    found = {}
    for key in (CLEAN, *(edge.key for edge in EDGES)):
        first = shipped.scenario(f"edges/{key}").read_text(encoding="utf-8").splitlines()[0]
        found[key] = first.removeprefix("# ")
    return found


def verdicts(found: Edges) -> Section:
    """Case by case: goal and result."""
    what = titles()
    columns = {
        "case": lambda edge: f"`{edge.key}`",
        "what": lambda edge: what[edge.key],
        "asked and reached": lambda edge: "; ".join(map(said, found.asks("legato", edge))),
    }
    return table(columns, EDGES)


def said(ask: Ask) -> str:
    """Goal and result; bold if it was missed."""
    scale, digits = (1, 0) if ask.what == "p95 delay" else (1, 2) if ask.what == "rate" else (100, 2)
    unit = {"p95 delay": " ms", "rate": ""}.get(ask.what, " %")
    text = f"{ask.what} {scale * ask.value:.{digits}f}{unit}"
    text += f" ({'>=' if ask.at_least else '<='} {scale * ask.mark:.{digits}f}{ask.why})"
    return text if ask.met else f"**not met: {text}**"


def figures(found: Edges, measure: Shown) -> Section:
    """One figure of all controllers."""
    keys = (CLEAN, *(edge.key for edge in EDGES))
    rows = [
        [f"`{key}`", *(measure.interval(found.estimate(name, key, measure)) for name in CONTROLLERS)] for key in keys
    ]
    title = f"{measure.title[0].upper()}{measure.title[1:]}"
    return Section(title, columns=["case", *(f"`{name}`" for name in CONTROLLERS)], rows=rows)


PAGE = Page("edges", play, {"--seeds": {"default": 10, "help": "of each call"}})
