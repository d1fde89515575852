"""Writes docs/generalisation.md: how every shipped policy does against GCC on every family of recorded links.

    python -m legato_studies.pages generalisation [--links N] [--duration SECONDS]

Calls of a minute over an H.264 model, and for policies that were trained with the loss-tolerant stand-in over that one
as well; figures over every captured frame (docs/metrics.md), each policy minus GCC link by link, intervals over links,
on all links and on live ones alone. The page says which families a policy was trained on: there its figures are no
generalisation.
"""

from __future__ import annotations

import argparse
import tempfile
import textwrap
from pathlib import Path

from legato.plan import make, shipped
from legato.results.stats import Estimate
from legato.runs.sweep import sweep
from legato_studies.papers.nvc_cc.sessions import Sessions
from legato_studies.papers.nvc_cc.sweeps import FAMILIES as RECORDED
from legato_studies.papers.nvc_cc.sweeps import recorded_links

PAGE = Path(__file__).resolve().parents[3] / "docs" / "generalisation.md"
FAMILIES = {**RECORDED, "hairpin": ("hairpin", 0.25), "ibox": ("ibox", 1.0)}
"""The two more are whole paths: delay and loss over time, and buffers, delays and cross traffic."""
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
HEAD = """# How well policies generalise

Written by `python -m legato_studies.pages generalisation`.
Each cell is a figure of a shipped policy minus GCC's: the mean over at
most {links} links per family, with a clip that is in no training, {duration_s:g} s per call, and 95 % intervals over
links; fewer than five links have none. All figures are over every captured frame ([metrics.md](metrics.md)): the share
that was on the screen within 150 ms, the 95th percentile of the frame delay as viewed, and the two scores of [concerto]
eq. (8) over delay and SSIM as viewed (QoE_p weights the picture, QoE_d delay), which are not the published scores.
The links of `hairpin` have their own delay and loss over time, those of `ibox` their own delay, buffer and cross
traffic ([scenario.md](scenario.md#recorded-paths)); the others have the scenario's. *Live* links have no second below
50 kbit/s; where a family has others, rows over its live links follow. **Bold**: worse than GCC by more than the
interval. A controller is *for study* (`legato controllers list`) where any figure is bold with the codec that it is
for: `nvc-cc`, `aurora` and `onrl` are for the loss-tolerant stand-in, the others for H.264. *Trained*: other files of
the family were in the policy's training. Rates are scaled to what a call can use:
{scales}.

No training was tuned to this page, but two decisions were taken with its figures known: Concerto was not replaced by
a newer training (see its card), and `clcc`, `hrcc` and `r3net` are trained on the wider networks of the generator
`broad`. Those networks were designed before any policy trained on them was played here. `mmsys24-baseline` and
`ten-tms` were trained elsewhere, on calls with audio, which these have not.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=10, help="of each family")
    parser.add_argument("--duration", type=float, default=60.0, help="of a call, in seconds")
    options = parser.parse_args()
    text = HEAD.format(
        links=options.links,
        duration_s=options.duration,
        scales=textwrap.fill(", ".join(f"{name} {scale:g}" for name, (_, scale) in FAMILIES.items()), 119),
    )
    for codec, (scenario, changes, policies) in CODECS.items():
        text += f"\n## With {codec}\n\n| family | links | figure | " + " | ".join(policies) + " |\n"
        text += "|---|---|---|" + "---|" * len(policies) + "\n"
        for setting, (family, scale) in FAMILIES.items():
            links = recorded_links(family, options.links)
            if not links:
                continue
            found = play(scenario, {**changes, "duration_s": options.duration}, policies, links, scale)
            for which, sessions in found.items():
                for score in SCORES:
                    trained = [setting in TRAINED_ON.get(name, ()) for name in policies]
                    less = [sessions.difference(scenario, name, RIVAL, score) for name in policies]
                    cells = map(cell, [score] * len(policies), less, trained)
                    text += f"| {setting} | {which} | {SCORES[score][0]} | " + " | ".join(cells) + " |\n"
            print(f"{codec}, {setting}: done", flush=True)
    PAGE.write_text(text, encoding="utf-8")


def play(
    scenario: str, changes: dict[str, object], policies: tuple[str, ...], links: list[Path], scale: float
) -> dict[str, Sessions]:
    """Every policy and the rival, on all links and, where they are fewer, on the live ones."""
    made = make(
        scenario,
        options=changes,
        controller_specs=[RIVAL, *(f"{name}@label={name}" for name in policies)],
        trace_specs=[f"{path}@scale={scale}" for path in links],
        clip_specs=[str(shipped.profile(clip)) for clip in CLIPS],
        log="summary",
    )
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


if __name__ == "__main__":
    main()
