"""NVC-CC trained on what its paper tests on: networks by its authors' laws, pictures of every size, 25 a second, all
controllers padded ([nvc-cc] sections 4 and 5.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from legato.train.recipes import nvc_cc

HEIGHTS = tuple(range(360, 1081, 40))
"""Rows of the pictures that the reproduction tests on."""
PICTURES_PER_S = 25
GENERATOR = "nvc-cc-authors"
ENVS = 12 * len(HEIGHTS)
TESTS = 3 * len(HEIGHTS)
"""Calls of an evaluation: as many as the paper has videos."""


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
        how = {"staggered": staggered, "options": changes, "config": config}
        return nvc_cc.calls(number, controller, reward, safeguard, **how)

    return JoinedVectorEnv([part(height, number) for height, number in zip(HEIGHTS, numbers, strict=True) if number])


def held_out(controller: str, safeguard: Mapping[str, Any] | None = None, **how: Any) -> Any:
    """Networks that are not trained on, judged by eq. (3) as [nvc-cc] Fig. 10 judges all."""
    return calls(TESTS, controller, "nvc-cc", safeguard, staggered=False, **how)


RECIPE = replace(
    nvc_cc.RECIPE,
    name="nvc-cc-as-printed",
    summary="NVC-CC on its authors' networks, pictures of 360 to 1080 rows, all padded: 720,000 decisions",
    # The learning rate of its rivals, since the paper compares how soon they converge.
    settings=replace(nvc_cc.RECIPE.settings, envs=ENVS, learning_rate=((0, 3e-3), (1, 0))),
    make_env=lambda envs: calls(envs, nvc_cc.CONTROLLER, "nvc-cc-db"),
    make_evaluation=lambda: held_out(nvc_cc.CONTROLLER),
)
