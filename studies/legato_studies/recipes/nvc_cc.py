"""NVC-CC and its rivals trained on the test conditions of its paper: networks by its authors' laws, pictures of every
size, 25 a second, all controllers padded ([nvc-cc] sections 4 and 5.1). Also OnRL without its safeguard (Fig. 5 and 7).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from legato.train.recipes import aurora, nvc_cc, onrl

HEIGHTS = tuple(range(360, 1081, 40))
"""Rows of the pictures that the reproduction tests on."""
PICTURES_PER_S = 25
GENERATOR = "nvc-cc-authors"
ENVS = 12 * len(HEIGHTS)
TESTS = 3 * len(HEIGHTS)
"""Calls of an evaluation: as many as the paper has videos."""
START = {"limits.start_bps": 2_400_000}
"""Of Aurora: ten packets of 1,500 bytes in 50 ms, as its authors' public simulator begins."""
INTERVAL = {"interval_rtt_factor": 1.0}
"""One decision a round trip: a sixth of those of 50 ms on these networks, as many as fit 10 hours of calls."""
SAFEGUARD = {
    "jitter": "packets",
    "n_std": 0.5,
    "window_s": 0.2,
    "min_threshold_ms": 0.1,
    "interval_ms": 20,
    "until_drained": False,
}
"""Takes over as often as [nvc-cc] Fig. 6 shows."""


def calls(
    envs: int, controller: str, reward: Any, safeguard: Mapping[str, Any] | None = None, *, staggered: bool = True,
    options: Mapping[str, Any] | None = None, config: Mapping[str, Any] | None = None,
) -> Any:  # fmt: skip
    """As many calls of each height; ``options`` change the scenario further, ``config`` the controller."""
    from legato.envs import JoinedVectorEnv

    each, rest = divmod(envs, len(HEIGHTS))
    numbers = [each + (place < rest) for place in range(len(HEIGHTS))]

    def part(height: int, number: int) -> Any:
        changes = {
            "forward.capacity": {"generator": GENERATOR},
            "sender.pad_to_target": True,
            "video.standin_height": height,
            "video.clip_fps": PICTURES_PER_S,
            **(options or {}),
        }
        return nvc_cc.calls(number, controller, reward, safeguard, staggered=staggered, options=changes, config=config)

    return JoinedVectorEnv([part(height, number) for height, number in zip(HEIGHTS, numbers, strict=True) if number])


def held_out(controller: str, safeguard: Mapping[str, Any] | None = None, **how: Any) -> Any:
    """Networks that are not trained on, judged by eq. (3) as [nvc-cc] Fig. 10 judges all."""
    return calls(TESTS, controller, "nvc-cc", safeguard, staggered=False, **how)


NVC_CC = replace(
    nvc_cc.RECIPE,
    name="nvc-cc-as-printed",
    summary="NVC-CC on its authors' networks, pictures of 360 to 1080 rows, all padded: 720,000 decisions",
    # The learning rate of its rivals, since the paper compares how soon they converge.
    settings=replace(nvc_cc.RECIPE.settings, envs=ENVS, learning_rate=((0, 3e-3), (1, 0))),
    make_env=lambda envs: calls(envs, nvc_cc.CONTROLLER, "nvc-cc-db"),
    make_evaluation=lambda: held_out(nvc_cc.CONTROLLER),
)
AURORA = replace(
    aurora.RECIPE,
    name="aurora-as-printed",
    summary="Aurora on NVC-CC's networks, a decision each round trip, with its own reward: 120,000 decisions",
    manifest={
        **aurora.RECIPE.manifest,
        "observation": {**aurora.RECIPE.manifest["observation"], **INTERVAL},
    },
    # Their public code applies an action unscaled: a deviation of 8 here moves the rate by a fifth.
    settings=replace(
        aurora.RECIPE.settings, steps=120_000, envs=ENVS, rollout=24, minibatch=912, initial_action_std=8.0
    ),
    make_env=lambda envs: calls(envs, aurora.CONTROLLER, "aurora-relative", options=START, config=INTERVAL),
    make_evaluation=lambda: held_out(aurora.CONTROLLER, options=START, config=INTERVAL),
    evaluate_every=2,
)
ONRL = replace(
    onrl.RECIPE,
    name="onrl-as-printed",
    summary="OnRL on NVC-CC's networks with its own reward, under a safeguard that fires often: 720,000 decisions",
    settings=replace(onrl.RECIPE.settings, envs=ENVS),
    make_env=lambda envs: calls(envs, onrl.CONTROLLER, "onrl-own", SAFEGUARD),
    make_evaluation=lambda: held_out(onrl.CONTROLLER, SAFEGUARD),
)
ONRL_FREE = replace(
    onrl.RECIPE,
    name="onrl-free",
    summary="OnRL on NVC-CC's networks without its safeguard, with reward eq. (2): 720,000 decisions",
    make_env=lambda envs: nvc_cc.calls(envs, onrl.CONTROLLER, "aurora"),
    make_evaluation=lambda: nvc_cc.held_out(onrl.CONTROLLER),
)
RECIPES = (NVC_CC, AURORA, ONRL, ONRL_FREE)
