"""R3Net on the networks that its paper describes: audio with video, TCP flows, delay and loss replayed ([r3net]). It is
guided as ours is, towards other quantiles of the coming capacity (points of its frontier), or by PPO alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from legato.envs.rewards import R3NET_LOSS_WEIGHT, R3Net
from legato.links import TUNED, VALIDATION, Part
from legato.train import ppo
from legato.train.recipe import Recipe
from legato.train.recipes import r3net

_OVER_WEIGHT = r3net.RECIPE.settings.over_weight


def recipe(loss_weight: float = R3NET_LOSS_WEIGHT, over_weight: float = _OVER_WEIGHT) -> Recipe:
    """The recipe, with another weight of loss in the reward, or guided towards another quantile of the capacity.

    Args:
        loss_weight: of L in the reward.
        over_weight: of the guidance: the quantile of the coming capacity that it draws to is 1 / (1 + this).
    """
    name = "r3net-as-printed" + ("" if loss_weight == R3NET_LOSS_WEIGHT else f"-loss-{loss_weight:g}")
    name += "" if over_weight == _OVER_WEIGHT else f"-over-{over_weight:g}"
    return replace(
        r3net.RECIPE,
        name=name,
        settings=replace(r3net.RECIPE.settings, over_weight=over_weight),
        summary="R3Net on networks as printed: synthetic audio and video, TCP beside it, delay and loss replayed",
        make_env=_calls(TUNED, (15.0, 45.0), loss_weight, paths=12, lte_ratio=0.34, lte_traces_each=6),
        make_evaluation=lambda: _calls(VALIDATION, (30.0, 30.0), loss_weight, paths=16)(96),
    )


def _calls(part: Part, duration_s: tuple[float, float], loss_weight: float, **choice: Any) -> Callable[[int], Any]:
    def make(envs: int) -> Any:
        from legato.envs import ReplayedVectorEnv
        from legato.links import replayed

        # Calls of 15 s have room for the whole flow.
        whole = replayed.available(replayed.AS_PRINTED)
        beside = replace(whole, tcp_start_s=5.0) if part == TUNED else whole
        return ReplayedVectorEnv(envs, part, beside=beside, duration_s=duration_s, reward=R3Net(loss_weight), **choice)

    return make


def unguided(guided: Recipe) -> Recipe:
    """By PPO alone, as the paper trains: no guidance, Adam at 3e-5, thirty million decisions.

    Nothing follows a schedule, so a training that is stopped early is a shorter one and not an unfinished one.
    """
    ours = {field.name: getattr(guided.settings, field.name) for field in fields(ppo.Settings)}
    printed = {
        "steps": 30_240_000,
        # [r3net] §2.3: Adam with 3e-5. The width of exploration is learned, as in the library that it names.
        "learning_rate": 3e-5,
        "action_std": None,
        "initial_action_std": 0.3,
    }
    return replace(
        guided,
        name="r3net-unguided",
        summary="R3Net on networks as printed, by PPO alone at the printed learning rate: 30,240,000 decisions",
        settings=ppo.Settings(**ours | printed),
        # An evaluation plays as much as eight rounds.
        evaluate_every=60,
    )


AS_PRINTED = recipe()
RECIPES = (AS_PRINTED, *(recipe(over_weight=weight) for weight in (1.0, 3.0, 40.0)), unguided(AS_PRINTED))
