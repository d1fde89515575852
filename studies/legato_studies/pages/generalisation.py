"""Writes docs/generalisation.md: how every shipped policy does against GCC on every family of recorded links.

    python -m legato_studies.pages generalisation [--links N] [--duration SECONDS]

Calls of a minute over an H.264 model, and for policies that were trained with the loss-tolerant stand-in over that one
as well; figures over every captured frame (docs/metrics.md), each policy minus GCC link by link, intervals over links,
on all links and on live ones alone. The page says which families a policy was trained on: there its figures are no
generalisation.
"""

from __future__ import annotations

import tempfile
import textwrap
from pathlib import Path

from legato.links import FAMILIES, Link
from legato.plan import Choice, shipped
from legato.report.pages import Section
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
CODECS = {
    "H.264": ("steady", {}, POLICIES),
    "the loss-tolerant stand-in": ("nvc_cc", {}, TOLERANT),
}
CLIPS = ("foreman",)
"""In no training."""
SCORES = {
    "on_time_150ms_ratio": ("on time, 150 ms (points)", 100.0, 1),
    "viewed_delay_p95_ms": ("p95 delay as viewed (ms)", -1.0, 0),
    "viewed_qoe_p": ("QoE_p as viewed", 1.0, 2),
    "viewed_qoe_d": ("QoE_d as viewed", 1.0, 2),
}
"""Column: label, factor (negative where less is better), digits."""


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
                    less = [sessions.difference(scenario, name, RIVAL, score) for name in policies]
                    cells = map(cell, [score] * len(policies), less, trained)
                    rows.append([setting, which, SCORES[score][0], *cells])
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


def cell(score: str, less: Estimate, trained: bool) -> str:
    """A difference with its interval, in the unit of display."""
    _, factor, digits = SCORES[score]
    shown = [None if value is None else value * abs(factor) for value in (less.mean, less.low, less.high)]
    if shown[0] is None:
        return "–"
    text = f"{shown[0]:+.{digits}f}"
    if shown[1] is not None and shown[2] is not None:
        text += f" ({shown[1]:.{digits}f} to {shown[2]:.{digits}f})"
        if shown[2] < 0 < factor or shown[1] > 0 > factor:
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
