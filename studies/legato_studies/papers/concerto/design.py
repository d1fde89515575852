"""The statements of Concerto's paper on its choices: other networks, Fig. 23 and 24; and the open points.

Trainings like those of Tables 3 and 4, each different from the whole in one thing. They are judged by what every
training measures of itself at its end: the mean reward, QoE_p per second with waiting charged, of 96 calls on windows
of training files that are not trained on. The paper's own are scores on test traces.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from legato.results.stats import NO_FIGURE, Estimate, of_separate_groups
from legato_studies.papers.concerto.calls import CONSTANT
from legato_studies.papers.concerto.estimates import direction
from legato_studies.papers.concerto.setups import PRINTED
from legato_studies.papers.reproduction import Row
from legato_studies.papers.verdict import Lead, Unchanged

Rewards = Mapping[str, Sequence[float]]
"""QoE_p per second that the trainings of a variant ended with, one for each seed."""

WHOLE, SMILE = "whole", "smile"
FORMS = ("fully connected", "1D-CNN")
BETAS_RATIO, LOOPS, EPOCHS = (0.25, 0.75), (2, 5), (8, 40)
"""Of Fig. 23 and 24, in addition to 0.5, 4 loops and 20 epochs in all; the points of its axes are not legible."""
EXPERT_SHARES_RATIO = (0.65, 0.95)
"""Of the coming second's capacity, in addition to 0.8."""
VARIATION_RATIO = 0.1
"""[concerto] section 5.3: "the QoE variation <= 10%" over beta, L and epochs."""


def table(short: Any) -> Mapping[str, Mapping[str, Any]]:
    """Names of the variants, and how each one's recipe differs. A training has as many states and epochs whatever its
    number of loops.

    Args:
        short: the settings of the whole.
    """
    from legato_studies.recipes import concerto

    tables = (concerto.fully_connected(), concerto.along_time())
    rows: dict[str, dict[str, Any]] = {name: {"layer_table": made} for name, made in zip(FORMS, tables, strict=True)}
    rows |= {f"expert {ratio:g}": {"share_ratio": ratio} for ratio in EXPERT_SHARES_RATIO}
    rows |= {f"beta {ratio:g}": {"settings": replace(short, beta=ratio)} for ratio in BETAS_RATIO}
    rows |= {f"epochs {n}": {"settings": replace(short, epochs=n // short.loops)} for n in EPOCHS}
    for loops in LOOPS:
        envs, epochs = short.envs * short.loops // loops, short.loops * short.epochs // loops
        rows[f"loops {loops}"] = {"settings": replace(short, loops=loops, envs=envs, epochs=epochs)}
    return rows | {SMILE: {"settings": replace(short, smile=True)}}


def held_out(place: Path) -> float:
    """The reward that a training ended with."""
    rows = [json.loads(line) for line in (place / "progress.jsonl").read_text(encoding="utf-8").splitlines()]
    return float([row["evaluation_reward"] for row in rows if "evaluation_reward" in row][-1])


def judge_design(rewards_qoe: Rewards) -> list[Row]:
    """Every row; intervals over trainings.

    Args:
        rewards_qoe: that trainings ended with, by variant.
    """
    of = {"setup": PRINTED.name}
    below = Lead(no_effect=1.0, more_is_better=False)
    rows = [
        Row.judged("3.2", f"{name} over 2D-CNN", direction(below), _over_whole(rewards_qoe, name), below, **of)
        for name in FORMS
    ]  # fmt: skip
    figures = {f"beta {ratio:g}": "Fig. 23" for ratio in BETAS_RATIO} | {f"loops {n}": "Fig. 23" for n in LOOPS}
    within = Unchanged(1.0, VARIATION_RATIO)
    for name, figure in (figures | {f"epochs {n}": "Fig. 24" for n in EPOCHS}).items():
        rows.append(
            Row.judged(figure, f"{name} over the default", "0.9 to 1.1", _over_whole(rewards_qoe, name), within, **of)
        )
    why = "the paper leaves it open"
    for name in [*(f"expert {ratio:g}" for ratio in EXPERT_SHARES_RATIO), SMILE]:
        ours = _over_whole(rewards_qoe, name)
        rows.append(Row.of("open", f"{name} over the default", None, ours, "not comparable", why, **of))
    for name, of_seeds in rewards_qoe.items():
        ours = of_separate_groups([list(of_seeds)], lambda means: means[0])
        rows.append(Row.of("open", f"{name}: held-out reward", None, ours, "not comparable", "the score itself", **of))
    return [row for row in rows if row.mean is not None]


def _over_whole(rewards_qoe: Rewards, name: str) -> Estimate:
    """The mean over trainings of a variant over the whole's, each without the constant of its score."""
    samples = [[value - CONSTANT["qoe_p"] for value in rewards_qoe.get(of, ())] for of in (name, WHOLE)]
    return of_separate_groups(samples, lambda means: means[0] / means[1]) if all(samples) else NO_FIGURE
