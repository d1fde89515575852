"""The trainings of Concerto's Tables 3 and 4: each differs from the whole in one thing, and all are equally short.
Those of its Fig. 23 and 24, and of other networks, are made with them (:mod:`legato_studies.papers.concerto.design`).

Five seeds of each learn from a quarter of the calls that the shipped policy learned from, on links by the second. They
are compared with the whole after an equally short training, not with the shipped policy, and intervals are over seeds:
they predict another training on the same test links.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from legato.links.access_networks import ACCESSES
from legato.results.stats import NO_FIGURE, Estimate, of_separate_groups
from legato_studies.papers import trainings
from legato_studies.papers.concerto import design as concerto_design
from legato_studies.papers.concerto.calls import CONSTANT, Call
from legato_studies.papers.concerto.design import WHOLE, Rewards
from legato_studies.papers.concerto.estimates import shifted
from legato_studies.papers.concerto.setups import PRINTED
from legato_studies.papers.reproduction import Row
from legato_studies.papers.trainings import OnTraining, Training
from legato_studies.papers.verdict import Lead

ENVS = 16
"""Calls per round."""
SEEDS = 5
NOT_SMOOTH = "not smooth"

PUBLISHED_STEP_KBPS = {"with": 116.0, "without": 136.0}
# [concerto] Table 3, QoE_p over that of the whole.
PUBLISHED_TABLE_3 = {"2-state": 0.82, "loss 1": 0.87, "loss 2": 0.85, "loss 3": 0.82}
# [concerto] Table 4. In its text the columns are the training sets.
PUBLISHED_TABLE_4 = {
    ("4G", "3G"): 0.84, ("Wi-Fi", "3G"): 0.91, ("3G", "4G"): 0.94, ("Wi-Fi", "4G"): 0.99, ("3G", "Wi-Fi"): 0.82,
    ("4G", "Wi-Fi"): 0.81,
}  # fmt: skip


@dataclass(frozen=True)
class Variants:
    """The trainings: controllers by label, and how long they took."""

    specs: tuple[str, ...]
    """Those of Tables 3 and 4, which are tested in calls."""
    rewards_qoe: Rewards
    """What the trainings of Fig. 23 and 24, and the whole, ended with on held-out calls."""
    wall_s: float


def table() -> Mapping[str, Mapping[str, Any]]:
    """Names of the variants, and how each one's recipe differs."""
    from legato.train.recipes.concerto import SETTINGS
    from legato_studies.recipes.concerto import SHARE_RATIO

    short = replace(SETTINGS, envs=ENVS)
    rows: dict[str, dict[str, Any]] = {
        WHOLE: {},
        # [concerto] section 5.3: without the codec's bitrate and the throughput.
        "2-state": {"kinds": ("loss_ratio", "packet_interval")},
        # [concerto] section 5.3: eq. (3) alone; eq. (4) with C = 0; with C = 100.
        "loss 1": {"settings": replace(short, weighted=False)},
        "loss 2": {"settings": replace(short, overshoot_weight=0.0)},
        "loss 3": {"settings": replace(short, overshoot_weight=100.0)},
        NOT_SMOOTH: {"settings": replace(short, smooth_weight=0.0)},
        **{f"only {access}": {"accesses": (access,)} for access in ACCESSES},
    }
    rows |= {name: dict(changes) for name, changes in concerto_design.table(short).items()}
    alike = {"settings": short, "by_second": True, "share_ratio": SHARE_RATIO}
    return {name: {**alike, **changes} for name, changes in rows.items()}


def label(name: str, seed: int) -> str:
    """A training's name among the controllers."""
    return f"{name} {seed}"


def train_all(folder: Path, on_training: OnTraining | None = None) -> Variants:
    """Train every seed of every variant that has no policy yet, one after the other."""
    places: dict[tuple[str, int], Path] = {}

    def plan() -> list[Training]:
        from legato.train.recipes import concerto

        made = []
        for seed in range(1, SEEDS + 1):
            for name, changes in table().items():
                place = places[name, seed] = folder / f"{name.replace(' ', '-')}-{seed}"
                made.append(Training(place, concerto.recipe(name, **changes), seed))
        return made

    wall_s = trainings.make(plan, "Tables 3 and 4, Fig. 23 and 24", on_training)
    design = concerto_design.table(table()[WHOLE]["settings"])
    specs: list[str] = []
    rewards: dict[str, list[float]] = {name: [] for name in (WHOLE, *design)}
    for (name, seed), place in places.items():
        if name in rewards:
            rewards[name].append(concerto_design.held_out(place))
        if name not in design:
            specs.append(f"concerto@policy={(place / 'policy' / 'last').resolve()},label={label(name, seed)}")
    return Variants(tuple(specs), rewards, wall_s)


def judge_variants(calls: Sequence[Call]) -> list[Row]:
    """Table 3, smoothness and Table 4, of variants that were all trained alike; intervals over their seeds."""
    rows = []
    for name, printed in PUBLISHED_TABLE_3.items():
        ours = _over(calls, "qoe_p", name, WHOLE, CONSTANT["qoe_p"])
        rows.append(_row("Table 3", f"{name} over 4-state, loss 4", printed, ours))
    for of, name in (("with", WHOLE), ("without", NOT_SMOOTH)):
        step = of_separate_groups([_of_seeds(calls, "smoothness_mbps", name)], lambda means: 1e3 * means[0])
        why, figure = "other networks", f"mean step {of} the regulariser (kbit/s)"
        printed = PUBLISHED_STEP_KBPS[of]
        rows.append(Row.of("5.3 trained", figure, printed, step, "not comparable", why, setup=PRINTED.name))
    printed = PUBLISHED_STEP_KBPS["with"] / PUBLISHED_STEP_KBPS["without"]
    rows.append(_row("5.3 trained", "with over without", printed, _over(calls, "smoothness_mbps", WHOLE, NOT_SMOOTH)))
    for (trained, tested), printed in PUBLISHED_TABLE_4.items():
        here = [call for call in calls if call.access == tested]
        ours = _over(here, "qoe_p", f"only {trained}", f"only {tested}", CONSTANT["qoe_p"])
        name = f"trained on {trained}, tested on {tested}, over trained on the same"
        rows.append(_row("Table 4", name, printed, ours))
    return rows + _exchanged(calls)


def _exchanged(calls: Sequence[Call]) -> list[Row]:
    """The summary of Table 4 in section 5.3: 11.5 % lost on average, and less by the policy trained on Wi-Fi."""
    kinds = [(trained, tested) for tested in ACCESSES for trained in ACCESSES]
    samples = []
    for trained, tested in kinds:
        own = _of_seeds([call for call in calls if call.access == tested], "qoe_p", f"only {trained}")
        samples.append([value - CONSTANT["qoe_p"] for value in own])
    if not all(samples):
        return []
    printed = PUBLISHED_TABLE_4
    of_wifi = [printed[pair] for pair in printed if pair[0] == "Wi-Fi"]
    of_others = [printed[pair] for pair in printed if pair[0] != "Wi-Fi"]

    def over_same(means: Sequence[Any], wanted: Callable[[str], bool]) -> Any:
        of = dict(zip(kinds, means, strict=True))
        return np.mean([of[pair] / of[pair[1], pair[1]] for pair in printed if wanted(pair[0])], axis=0)

    every = of_separate_groups(samples, lambda means: over_same(means, lambda trained: True))
    name = "trained on another kind, over trained on the same, mean of the six"
    rows = [_row("Table 4", name, float(np.mean(list(printed.values()))), every)]
    wifi = of_separate_groups(
        samples,
        lambda means: (
            over_same(means, lambda trained: trained == "Wi-Fi") / over_same(means, lambda trained: trained != "Wi-Fi")
        ),
    )
    most = float(np.mean(of_wifi) / np.mean(of_others))
    name = "trained on Wi-Fi, mean of its two, over the mean of the other four"
    rows.append(Row.judged("Table 4", name, most, wifi, Lead(most, no_effect=1.0), setup=PRINTED.name))
    return rows


def _row(figures: str, name: str, printed: float, ours: Estimate) -> Row:
    claim = Lead(printed, no_effect=1.0, more_is_better=False)
    return Row.judged(figures, name, printed, ours, claim, setup=PRINTED.name)


def _over(calls: Sequence[Call], figure: str, above: str, below: str, base_qoe: float = 0.0) -> Estimate:
    """The mean over seeds of one variant over another's, each without the constant of its score."""
    samples = [[value - base_qoe for value in _of_seeds(calls, figure, name)] for name in (above, below)]
    if not all(samples):
        return NO_FIGURE
    if min(value for sample in samples for value in sample) <= 0:
        return of_separate_groups(samples, lambda means: means[0] / means[1])
    # On a logarithmic scale, as every ratio here: a half is as far from 1 as a double.
    return shifted(of_separate_groups(samples, lambda means: np.log(means[0] / means[1])), np.exp)


def _of_seeds(calls: Sequence[Call], figure: str, name: str) -> list[float]:
    """A figure of each training of a variant: the mean over kinds of access of the means over calls."""
    found = []
    for seed in range(1, SEEDS + 1):
        of_access: dict[str, list[float]] = {}
        for call in calls:
            if call.scheme == label(name, seed):
                of_access.setdefault(call.access, []).append(getattr(call, figure))
        if of_access:
            found.append(float(np.mean([np.mean(values) for values in of_access.values()])))
    return found
