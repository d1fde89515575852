"""The trainings that NVC-CC's figures need and no shipped policy comes of: OnRL for H.264 (Fig. 4), and OnRL on one
network under safeguards of several sensitivities (Fig. 7).

A safeguard takes over while delay jitters more than ``n_std`` standard deviations above its mean: the fewer, the more
sensitive. Under one, the agent earns more while it learns, since GCC decides where things go wrong, and learns less
from it, since what it answers meanwhile is not obeyed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import Error

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
    """What was trained."""

    convergences: tuple[Convergence, ...]
    h264: str
    """OnRL for H.264, as a controller of a plan."""
    wall_s: float


def train_all(
    folder: Path, network: dict[str, Any], on_training: Callable[[str, int, int], None] | None = None
) -> Made:
    """Train everything that is not there yet, one after the other.

    Args:
        folder: a run folder each below it.
        network: that of Fig. 7, as changes of the scenario.
        on_training: called before each with what it is, which it is, and of how many.
    """
    try:
        from ..train import run
        from ..train.recipes import onrl
    except ImportError as error:
        raise Error(
            f"Figures 4 and 7 are trained anew, and {error.name} is not installed",
            hint="pip install 'legato-rtc[train]', or --no-trainings to leave Figure 7 out",
        ) from None
    started = time.monotonic()
    of_fig_7 = [
        (folder / f"fig-7-{'free' if n_std is None else n_std}-{seed}", n_std, seed)
        for n_std in SENSITIVITIES
        for seed in SEEDS
    ]
    todo = [(place, _on_one_network(onrl.RECIPE, network, n_std), seed, STEPS) for place, n_std, seed in of_fig_7]
    place = folder / "onrl-h264"
    for number, (path, recipe, seed, steps) in enumerate([*todo, (place, _for_h264(onrl.RECIPE), SEEDS[0], None)], 1):
        if on_training is not None:
            on_training(f"{recipe.name}, seed {seed}", number, len(todo) + 1)
        if not _is_done(path):
            run.train(recipe, path, seed=seed, steps=steps, resume=path.exists())
    found = [convergence(_rounds(path), n_std, seed) for path, n_std, seed in of_fig_7]
    policy = (place / "policy" / "best").resolve()
    spec = f"safeguard@inner=onrl,inner_config.policy={policy},label={H264_LABEL}"
    return Made(tuple(found), spec, time.monotonic() - started)


def convergence(rounds: Sequence[dict[str, Any]], n_std: float | None, seed: int) -> Convergence:
    """Where a training converged: at the first of its tests from which on none is further than a tenth from the
    last."""
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
    safeguard = None if n_std is None else {"n_std": n_std}
    # Eq. (2) alone: the penalty for a takeover is no part of what Fig. 7 draws.
    return replace(
        recipe,
        name=f"onrl on one network, {'no safeguard' if n_std is None else f'n_std {n_std:g}'}",
        make_env=lambda envs: _calls(envs, network, safeguard, staggered=True),
        make_evaluation=lambda: _calls(TESTS, network, safeguard, staggered=False),
        evaluate_every=1,
    )


def _for_h264(recipe: Any) -> Any:
    return replace(
        recipe,
        name="onrl for H.264",
        make_env=lambda envs: _calls(envs, H264, {}, staggered=True, reward="onrl"),
        make_evaluation=lambda: _calls(50, H264, {}, staggered=False),
    )


def _calls(
    envs: int, options: dict[str, Any], safeguard: dict[str, Any] | None, *, staggered: bool, reward: str = "aurora"
) -> Any:
    from ..envs import CallVectorEnv
    from ..train.recipes import nvc_cc, onrl

    return CallVectorEnv(
        envs,
        scenario=nvc_cc.SCENARIO,
        controller=onrl.CONTROLLER,
        reward=reward,
        options=options,
        clips=nvc_cc.TRAINING_CLIPS,
        safeguard=safeguard,
        staggered=staggered,
    )


def _rounds(place: Path) -> list[dict[str, Any]]:
    lines = (place / "progress.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _is_done(place: Path) -> bool:
    return (place / "policy" / "last" / "policy.toml").is_file()
