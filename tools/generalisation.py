"""Writes docs/generalisation.md: how every shipped policy does against GCC on every family of recorded links.

    python tools/generalisation.py [--links N] [--duration SECONDS]

Calls of a minute over an H.264 model, and for policies that were trained with the loss-tolerant stand-in over that one
as well; QoE of [concerto] eq. (8), each policy minus GCC link by link, intervals over links. The page says which
families a policy was trained on: there its figures are no generalisation.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from legato import plan, shipped
from legato.eval.stats import Estimate
from legato.published.nvc_cc_sessions import Sessions
from legato.published.nvc_cc_sweeps import FAMILIES, recorded_links
from legato.sweep import sweep

PAGE = Path(__file__).resolve().parents[1] / "docs" / "generalisation.md"
RIVAL = "gcc"
POLICIES = ("nvc-cc", "aurora", "onrl", "r3net", "hrcc", "clcc", "concerto", "rl-v")
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
SCORES = ("qoe_p", "qoe_d")
HEAD = """# How well policies generalise

Written by `python tools/generalisation.py`. Each cell is the QoE of [concerto] eq. (8) of a shipped policy minus GCC's
(`qoe_p` weights the picture, `qoe_d` delay): the mean over at most {links} links per family, with a clip that is in no
training, {duration_s:g} s per call, and 95 % intervals over links; fewer than five links have none. Rates are scaled to
what a call can use ({scales}). **Bold**: behind GCC by more than the interval. *Trained*: other files of the family
were in the policy's training.

No training was tuned to this page, but two decisions were taken with its figures known: Concerto was not replaced by
a newer training (see its card), and `clcc`, `hrcc` and `r3net` are trained on the wider networks of the generator
`broad`. Those networks were designed before any policy trained on them was played here.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=10, help="of each family")
    parser.add_argument("--duration", type=float, default=60.0, help="of a call, in seconds")
    options = parser.parse_args()
    text = HEAD.format(
        links=options.links,
        duration_s=options.duration,
        scales=", ".join(f"{name} {scale:g}" for name, (_, scale) in FAMILIES.items()),
    )
    for codec, (scenario, changes, policies) in CODECS.items():
        text += f"\n## With {codec}\n\n| family | score | " + " | ".join(policies) + " |\n"
        text += "|---|---|" + "---|" * len(policies) + "\n"
        for setting, (family, scale) in FAMILIES.items():
            links = recorded_links(family, options.links)
            if not links:
                continue
            found = play(scenario, {**changes, "duration_s": options.duration}, policies, links, scale)
            for score in SCORES:
                cells = [cell(found[name][score], setting in TRAINED_ON.get(name, ())) for name in policies]
                text += f"| {setting} | `{score}` | " + " | ".join(cells) + " |\n"
            print(f"{codec}, {setting}: done", flush=True)
    PAGE.write_text(text, encoding="utf-8")


def play(
    scenario: str, changes: dict[str, object], policies: tuple[str, ...], links: list[Path], scale: float
) -> dict[str, dict[str, Estimate]]:
    """Every policy minus the rival, by score."""
    made = plan.make(
        scenario,
        options=changes,
        controller_specs=[RIVAL, *(f"{name}@label={name}" for name in policies)],
        trace_specs=[f"{path}@scale={scale}" for path in links],
        clip_specs=[str(shipped.profile(clip)) for clip in CLIPS],
        log="summary",
    )
    with tempfile.TemporaryDirectory() as folder:
        sessions = Sessions.read([(scenario, sweep(made, Path(folder) / "run").folder)])
    return {name: {score: sessions.difference(scenario, name, RIVAL, score) for score in SCORES} for name in policies}


def cell(less: Estimate, trained: bool) -> str:
    """A figure with its interval."""
    text = f"{less.mean:+.2f}"
    if less.low is not None and less.high is not None:
        text += f" ({less.low:.2f} to {less.high:.2f})"
        if less.high < 0:
            text = f"**{text}**"
    return text + (" *trained*" if trained else "")


if __name__ == "__main__":
    main()
