"""Writes docs/sharing.md: how `legato` shares a link with its like, with `gcc` and with CUBIC, at three link rates.

python -m legato_studies.pages sharing [--seeds N]
"""

from __future__ import annotations

import argparse
import tempfile
import tomllib
from pathlib import Path

from legato import plan as plans
from legato.conformance.flows import read
from legato.results.stats import grouped_mean
from legato.runs.sweep import sweep
from legato_studies.leaderboard.company import FROM_S, SHARINGS, TO_S, Sharing

PAGE = Path(__file__).resolve().parents[3] / "docs" / "sharing.md"
CONTROLLERS = ("gcc", "legato", "pudica", "scream-v2")
SCALES = (0.5, 1.0, 2.0)
CAPACITY = "forward.capacity.constant_bps"
HEAD = """# Sharing a link

Written by `python -m legato_studies.pages sharing`,
in some six minutes: the scenarios of `scenarios/fairness` at half, once and twice
their link rate. Each figure is of what arrives from {begin:g} to {end:g} s: the mean over {seeds} seeds, its 95 %
interval, and the worst and best seed. A seed draws where the clip begins; cameras tick together. Jain's index is 1
where all have the same; a share of 0.5 is half of what arrives. All controllers: [the
leaderboard](leaderboard.md#fairness).

| case | asked | link, Mbit/s | {names} |
|---|---|---|{rule}
"""


def main() -> None:
    """Play, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="of each session")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page [default: docs/sharing.md]")
    options = parser.parse_args()
    names, rule = " | ".join(f"`{name}`" for name in CONTROLLERS), "---|" * len(CONTROLLERS)
    text = HEAD.format(begin=FROM_S, end=TO_S, seeds=options.seeds, names=names, rule=rule)
    for sharing in SHARINGS:
        text += "".join(row(sharing, scale, options.seeds) for scale in SCALES)
    options.page.write_text(text, encoding="utf-8")


def row(sharing: Sharing, scale: float, seeds: int) -> str:
    """A scenario at one link rate."""
    scenario = f"fairness/{sharing.key}"
    own_bps = tomllib.loads(plans.make(scenario).scenario)["forward"]["capacity"]["constant_bps"]
    capacity_bps = round(scale * own_bps)
    made = plans.make(
        scenario,
        options={CAPACITY: capacity_bps},
        controller_specs=CONTROLLERS,
        seed_spec=seeds,
        log="series",
    )
    found: dict[str, list[float]] = {name: [] for name in CONTROLLERS}
    with tempfile.TemporaryDirectory() as place:
        sweep(made, Path(place) / "run")
        for session in read(Path(place) / "run"):
            found[session.controller].append(sharing.figure(session))
    cells = " | ".join(cell(values) for values in found.values())
    return f"| {sharing.title} | {sharing.mark} | {capacity_bps / 1e6:g} | {cells} |\n"


def cell(values: list[float]) -> str:
    """Mean, interval, extremes."""
    mean = grouped_mean(enumerate(values))
    interval = "" if mean.low is None else f" ({mean.low:.2f} to {mean.high:.2f})"
    return f"{mean.mean:.2f}{interval}, {min(values):.2f} … {max(values):.2f}"


if __name__ == "__main__":
    main()
