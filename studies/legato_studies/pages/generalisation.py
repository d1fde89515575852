"""Writes docs/measured/generalisation.md: how every shipped policy does against GCC on every family of recorded links.

    python -m legato_studies.pages generalisation [--links N] [--duration SECONDS]

Calls of a minute use an H.264 model, and for policies that were trained with the loss-tolerant stand-in that one as
well. Figures are over every captured frame (docs/reference/metrics.md), each policy minus GCC link by link, intervals
over links, on all links and on live ones alone. The page says which families a policy was trained on: there its figures
are no generalisation.
"""

from __future__ import annotations

import tempfile
import textwrap
from pathlib import Path
from typing import Any

from legato.links import FAMILIES, Link
from legato.plan import Choice, shipped
from legato.report.pages import Section
from legato.results.figures import METRICS, Shown
from legato.results.stats import Estimate
from legato.runs.sweep import sweep
from legato_studies.page import Found, Options, Page
from legato_studies.papers.nvc_cc.sessions import Sessions

RIVAL = "gcc"
POLICIES = (
    "nvc-cc", "aurora", "onrl", "r3net", "hrcc", "clcc", "concerto", "rl-v", "mmsys24-baseline", "ten-tms",
)  # fmt: skip
TRAINED_ON = {
    "r3net": ("Ethernet", "cellular"),
    "concerto": ("cellular", "mahimahi", "wifi-zhuge"),
    "rl-v": ("cellular", "mahimahi", "wifi-zhuge"),
}
"""Families whose other files were in a training."""
TOLERANT = ("nvc-cc", "aurora", "onrl")
CODECS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "H.264": ("steady", {}, POLICIES),
    "the loss-tolerant stand-in": ("nvc_cc", {}, TOLERANT),
}
CLIPS = ("foreman",)
"""In no training."""
SCORES = (
    METRICS["on_time_150ms_ratio"].named("on time, 150 ms (points)", digits=1),
    METRICS["viewed_delay_p95_ms"].named("p95 delay as viewed (ms)", digits=0),
    METRICS["viewed_qoe_p"].named("QoE_p as viewed", digits=2),
    METRICS["viewed_qoe_d"].named("QoE_d as viewed", digits=2),
)


def play(options: Options) -> Found:
    """Every policy with every codec on every family."""
    scales = ", ".join(f"{one.name} {one.scale:g}" for one in FAMILIES.values())
    facts = {"links": options.links, "duration_s": options.duration, "scales": textwrap.fill(scales, 119)}
    sections = []
    for codec, (scenario, changes, policies) in CODECS.items():
        rows = []
        for setting, family in FAMILIES.items():
            links = family.links(options.links)
            if not links:
                continue
            trained = [setting in TRAINED_ON.get(name, ()) for name in policies]
            found = called(scenario, {**changes, "duration_s": options.duration}, policies, links)
            for which, sessions in found.items():
                for score in SCORES:
                    less = [sessions.difference(scenario, name, RIVAL, score.column) for name in policies]
                    cells = map(cell, [score] * len(policies), less, trained)
                    rows.append([setting, which, score.title, *cells])
            print(f"{codec}, {setting}: done", flush=True)
        sections.append(Section(f"With {codec}", columns=["family", "links", "figure", *policies], rows=rows))
    return Found({**facts, "sections": sections})


def called(
    scenario: str, changes: dict[str, object], policies: tuple[str, ...], links: list[Link]
) -> dict[str, Sessions]:
    """Every policy and the rival, on all links and, where they are fewer, on the live ones."""
    made = Choice(
        scenario,
        options=changes,
        controllers=[RIVAL, *(f"{name}@label={name}" for name in policies)],
        traces=[link.spec for link in links],
        clips=[str(shipped.profile(clip)) for clip in CLIPS],
        log="summary",
    ).plan()
    with tempfile.TemporaryDirectory() as folder:
        run = [(scenario, sweep(made, Path(folder) / "run").folder)]
        every, live = Sessions.read(run), Sessions.read(run, live_only=True)
    number, alive = every.networks(scenario), live.networks(scenario)
    if alive == number:
        return {f"{number}, all live": every}
    return {f"all {number}": every, **({f"{alive} live": live} if alive else {})}


def cell(score: Shown, less: Estimate, trained: bool) -> str:
    """A difference with its interval, in the unit of display; bold where it is worse."""
    text = score.interval(less, sign=True) or "–"
    if less.mean is not None and less.excludes_zero() and (less.mean > 0) != score.more_is_better:
        text = f"**{text}**"
    return text + (" *trained*" if trained else "")


PAGE = Page(
    "generalisation",
    play,
    {
        "--links": {"default": 10, "help": "of each family"},
        "--duration": {"default": 60.0, "help": "of a call, in seconds"},
    },
)
