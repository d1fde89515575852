"""R3Net on the networks that its paper describes: audio beside video, TCP flows, delay and loss replayed ([r3net])."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from legato.envs.rewards import R3NET_LOSS_WEIGHT, R3Net
from legato.links import TUNED, VALIDATION, Part
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
        from legato import replayed
        from legato.envs import ReplayedVectorEnv

        # Calls of 15 s have room for the whole flow.
        whole = replayed.available(replayed.AS_PRINTED)
        beside = replace(whole, tcp_start_s=5.0) if part == TUNED else whole
        return ReplayedVectorEnv(envs, part, beside=beside, duration_s=duration_s, reward=R3Net(loss_weight), **choice)

    return make


RECIPE = recipe()
