"""The trainings that NVC-CC's figures need in addition to those of shipped policies: OnRL for H.264 (Fig. 4), and OnRL
on one network under safeguards of several sensitivities (Fig. 7).

A safeguard takes over while delay jitters more than ``n_std`` standard deviations above its mean: the fewer, the more
sensitive. Under one, the agent earns more while it learns, since GCC decides where things go wrong, and learns less
from it, since its actions are not obeyed meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from legato.errors import Error
from legato_studies.papers import trainings
from legato_studies.papers.trainings import OnTraining, Training

SENSITIVITIES = (None, 4.0, 2.0, 1.0, 0.5)
"""``n_std``, from no safeguard to the most sensitive."""
SEEDS = (1, 2, 3)
STEPS = 240_000
"""Decisions of a training of Fig. 7: one network needs less than all of Table 2."""
CONVERGED_WITHIN = 0.1
"""[nvc-cc] Fig. 7: a training has converged once the reward of its tests varies no more than this."""
TESTS = 8
"""Calls of a test, each from another picture."""
H264 = {"video.encoder": "x264", "video.decoder": "strict"}
H264_LABEL = "onrl for H.264 + safeguard"


@dataclass(frozen=True)
class Convergence:
    """A training of Fig. 7."""

    n_std: float | None
    """The safeguard's; ``None``: without one."""
    seed: int
    reward: float
    """A decision in the training, until it converged, by eq. (2)."""
    steps: int
    """Until it converged."""
    wall_s: float
    """The same."""
    last_reward: float
    """Of its last test."""


@dataclass(frozen=True)
class Made:
    """The trained policies."""

    convergences: tuple[Convergence, ...]
    h264: str
    """OnRL for H.264, as a controller of a plan."""


def train_all(folder: Path, network: dict[str, Any], on_training: OnTraining | None = None) -> Made:
    """Train everything that has no policy yet, one after the other.

    Args:
        folder: holds a run folder for each.
        network: that of Fig. 7, as changes of the scenario.
        on_training: called before each.
    """
    of_fig_7 = {
        (n_std, seed): folder / f"fig-7-{'free' if n_std is None else n_std}-{seed}"
        for n_std in SENSITIVITIES
        for seed in SEEDS
    }
    of_h264 = folder / "onrl-h264"

    def plan() -> list[Training]:
        from legato.train.recipes import onrl

        todo = [
            Training(place, _on_one_network(onrl.RECIPE, network, n_std), seed, STEPS)
            for (n_std, seed), place in of_fig_7.items()
        ]
        return [*todo, Training(of_h264, _for_h264(onrl.RECIPE), SEEDS[0])]

    trainings.make(plan, "Figures 4 and 7", on_training)
    found = (convergence(_rounds(place), n_std, seed) for (n_std, seed), place in of_fig_7.items())
    policy = (of_h264 / "policy" / "best").resolve()
    return Made(tuple(found), f"safeguard@inner=onrl,inner_config.policy={policy},label={H264_LABEL}")


def convergence(rounds: Sequence[dict[str, Any]], n_std: float | None, seed: int) -> Convergence:
    """Where a training converged: at the first test from which no later one differs from the last by more than a
    tenth."""
    tests = [each for each in rounds if each.get("evaluation_reward") is not None]
    if not tests:
        raise Error("a training without tests: nothing says where it converged")
    final = float(tests[-1]["evaluation_reward"])
    first = len(tests)
    while first > 0 and abs(float(tests[first - 1]["evaluation_reward"]) - final) <= CONVERGED_WITHIN * abs(final):
        first -= 1
    at = tests[min(first, len(tests) - 1)]
    before = [float(each["reward"]) for each in rounds if each["steps"] <= at["steps"]]
    return Convergence(n_std, seed, sum(before) / len(before), int(at["steps"]), float(at["wall_s"]), final)


def _on_one_network(recipe: Any, network: dict[str, Any], n_std: float | None) -> Any:
    from legato.train.recipes import nvc_cc

    how: dict[str, Any] = {"safeguard": None if n_std is None else {"n_std": n_std}, "options": network}
    # Eq. (2) alone: Fig. 7 does not include the penalty for a takeover.
    return replace(
        recipe,
        name=f"onrl on one network, {'no safeguard' if n_std is None else f'n_std {n_std:g}'}",
        make_env=lambda envs: nvc_cc.calls(envs, "onrl", "aurora", **how),
        make_evaluation=lambda: nvc_cc.calls(TESTS, "onrl", "aurora", staggered=False, **how),
        evaluate_every=1,
    )


def _for_h264(recipe: Any) -> Any:
    from legato.train.recipes import nvc_cc

    return replace(
        recipe,
        name="onrl for H.264",
        make_env=lambda envs: nvc_cc.calls(envs, "onrl", "onrl", {}, options=H264),
        make_evaluation=lambda: nvc_cc.calls(50, "onrl", "aurora", {}, options=H264, staggered=False),
    )


def _rounds(place: Path) -> list[dict[str, Any]]:
    lines = (place / "progress.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
