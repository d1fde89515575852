"""Writes docs/measured/sharing.md: how `legato` shares a link with its like, with `gcc` and with CUBIC, at three link
rates.

python -m legato_studies.pages sharing [--seeds N]
"""

from __future__ import annotations

import tempfile
import tomllib
from pathlib import Path

from legato.conformance.flows import read
from legato.plan import Choice
from legato.report.pages import Section
from legato.results.stats import grouped_mean
from legato.runs.sweep import sweep
from legato_studies.leaderboard.company import FROM_S, SHARINGS, TO_S, Sharing
from legato_studies.page import Found, Options, Page

CONTROLLERS = ("gcc", "legato", "pudica", "scream-v2")
SCALES = (0.5, 1.0, 2.0)
CAPACITY = "forward.capacity.constant_bps"


def play(options: Options) -> Found:
    """Every scenario at every link rate."""
    facts = {"begin": FROM_S, "end": TO_S, "seeds": options.seeds}
    columns = ["case", "asked", "link, Mbit/s", *(f"`{name}`" for name in CONTROLLERS)]
    rows = [row(sharing, scale, options.seeds) for sharing in SHARINGS for scale in SCALES]
    return Found({**facts, "shares": Section("", columns=columns, rows=rows)})


def row(sharing: Sharing, scale: float, seeds: int) -> list[str]:
    """A scenario at one link rate."""
    scenario = f"fairness/{sharing.key}"
    own_bps = tomllib.loads(Choice(scenario).plan().scenario)["forward"]["capacity"]["constant_bps"]
    capacity_bps = round(scale * own_bps)
    made = Choice(
        scenario,
        options={CAPACITY: capacity_bps},
        controllers=CONTROLLERS,
        seeds=seeds,
        log="series",
    ).plan()
    found: dict[str, list[float]] = {name: [] for name in CONTROLLERS}
    with tempfile.TemporaryDirectory() as place:
        sweep(made, Path(place) / "run")
        for session in read(Path(place) / "run"):
            found[session.controller].append(sharing.figure(session))
    return [sharing.title, sharing.mark, f"{capacity_bps / 1e6:g}", *map(cell, found.values())]


def cell(values: list[float]) -> str:
    """Mean, interval, extremes."""
    mean = grouped_mean(enumerate(values))
    interval = "" if mean.low is None else f" ({mean.low:.2f} to {mean.high:.2f})"
    return f"{mean.mean:.2f}{interval}, {min(values):.2f} … {max(values):.2f}"


PAGE = Page("sharing", play, {"--seeds": {"default": 10, "help": "of each session"}})
