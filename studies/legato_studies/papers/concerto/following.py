"""Fig. 22 of [concerto]: how closely a target follows the bandwidth, drawn for one session and measured for many.

The paper shows 200 s of one session, in which Concerto follows the bandwidth, WebRTC stays far below it after each
fall, and RL-V often exceeds it. Drawn are 200 s of the first 4G test recording; the rows are over a window of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legato.links import HELD_OUT, access_networks
from legato.plan import Choice, Plan
from legato.report import chart
from legato.report.pages import Section
from legato.results.query import query
from legato_studies.papers.concerto.calls import schemes
from legato_studies.papers.concerto.estimates import direction, mean, percent, ratio
from legato_studies.papers.concerto.setups import CONCERTO, RL_V, SALSIFY, WEBRTC, OnNetwork, Setup
from legato_studies.papers.reproduction import Row
from legato_studies.papers.verdict import Lead

DRAWN = (WEBRTC, SALSIFY, RL_V, CONCERTO)
DRAWN_S = 200.0
LIMIT_BPS = 2.5e6
"""The highest target of the scenario: more bandwidth than that cannot be followed."""


@dataclass(frozen=True)
class Followed(OnNetwork):
    """How a scheme follows the bandwidth of one network."""

    off_bps: float
    """Mean distance of the target from the bandwidth."""
    above_ratio: float
    """Share of the time in which it is above it."""


def one_each(setup: Setup, folder: Path, quick: bool) -> list[str]:
    """A window of every test recording, those of 4G first."""
    most, order = 1 if quick else None, sorted(access_networks.ACCESSES, key=lambda access: access != "4G")
    return [spec for access in order for spec in setup.one_each(access, (HELD_OUT,), folder, most)]


def following_plans(setup: Setup, specs: Sequence[str]) -> Iterator[tuple[str, Plan]]:
    """By name, for each encoder."""
    for prompt in (False, True):
        controllers = [spec for spec in schemes(setup, prompt) if any(spec.endswith(f"label={s}") for s in DRAWN)]
        yield (
            f"following-{'prompt' if prompt else '1s'}",
            Choice(
                setup.scenario,
                options={**setup.encoder(prompt), "duration_s": setup.duration_s},
                controllers=controllers,
                traces=specs,
                clips=access_networks.TEST_CLIPS[:1],
                log="series",
            ).plan(),
        )


def read_followed(folder: Path, plan: Plan, specs: Sequence[str]) -> tuple[list[Followed], dict[str, Any]]:
    """The figures of every call; and of the first network the lines to draw: bandwidth and targets, in kbit/s."""
    found, lines = [], {}
    for row in query(folder, "select call, session, controller from summary order by call"):
        sql = (
            f"select time_ms, capacity_bps, target_bitrate_bps from series where call = {row['call']} order by time_ms"
        )
        table = np.array([list(each.values()) for each in query(folder, sql)], dtype=np.float64)
        place = plan.places(row["session"])[1]
        network = Path(specs[place]).name
        found.append(Followed(row["controller"], network, *distance(table[:, 1], table[:, 2])))
        if place == 0:
            seconds = table[: round(DRAWN_S * 10) : 10]
            lines["bandwidth"] = [(t / 1e3, min(bps, LIMIT_BPS) / 1e3) for t, bps, _ in seconds]
            lines[row["controller"]] = [(t / 1e3, bps / 1e3) for t, _, bps in seconds]
    return found, lines


def distance(capacity_bps: NDArray[np.float64], target_bps: NDArray[np.float64]) -> tuple[float, float]:
    """The mean distance of a target from the bandwidth, and the share of the time in which it is above it."""
    goal = np.minimum(capacity_bps, LIMIT_BPS)
    return float(np.abs(target_bps - goal).mean()), float((target_bps > goal).mean())


def judge_following(followed: Sequence[Followed], setup: Setup) -> list[Row]:
    """Concerto's distance over each rival's; and how often each is above the bandwidth."""
    of = {"setup": setup.name}
    rows = []
    for rival in DRAWN[:-1]:
        closer = ratio(followed, "off_bps", CONCERTO, rival)
        claim = Lead(no_effect=1.0, more_is_better=False)
        name = f"distance from the bandwidth, concerto's over {rival}'s"
        rows.append(Row.judged("Fig. 22", name, direction(claim), closer, claim, **of))
    fewer = ratio(followed, "above_ratio", CONCERTO, RL_V)
    claim = Lead(no_effect=1.0, more_is_better=False)
    name = f"time above the bandwidth, concerto's over {RL_V}'s"
    rows.append(Row.judged("Fig. 22", name, direction(claim), fewer, claim, **of))
    for scheme in DRAWN:
        found = percent(mean(followed, "above_ratio", scheme))
        name = f"time above the bandwidth, {scheme} (%)"
        rows.append(Row.of("Fig. 22", name, None, found, "not comparable", "the figure itself", **of))
    return rows


def section(lines: dict[str, Sequence[chart.Point]]) -> Section:
    """The drawing."""
    names = [name for name in ("bandwidth", *DRAWN) if name in lines]
    kinds = dict(zip(names, ("available", "c0", "c1", "c2", "c3"), strict=False))
    title = f"Target bitrate over {DRAWN_S:g} s of a 4G recording, kbit/s (as Figure 22)"
    drawn = chart.draw([chart.Axes([chart.Line(kinds[name], list(lines[name])) for name in names])], title, unit=" s")
    return Section("Figure 22", title + ".", legend=[(kinds[name], name) for name in names], charts=[("", drawn)])
