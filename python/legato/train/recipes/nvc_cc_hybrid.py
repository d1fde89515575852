"""NVC-CC trained on the hybrid codec as it was measured (docs/concepts/hybrid-codec.md), in place of the published
codec.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from legato.train.recipes import nvc_cc

SCENARIO = "nvc_cc_hybrid"
TRAINING_CLIPS = ("asl-again-hybrid", "camera-hybrid")
"""An easy and a hard one; neither is among the clips that ``legato reproduce nvc-cc`` uses."""
ENVS, TESTS = 240, 50


def calls(envs: int, reward: str, *, staggered: bool = True, options: Mapping[str, Any] | None = None) -> Any:
    """Calls on networks of [nvc-cc] Table 2, half by uniform laws and half by its authors', which lose less."""
    from legato.envs import CallVectorEnv, JoinedVectorEnv

    def part(generator: str, number: int) -> Any:
        changes = {"forward.capacity": {"generator": generator}, **(options or {})}
        return CallVectorEnv(
            number, SCENARIO, nvc_cc.CONTROLLER, reward, options=changes, clips=TRAINING_CLIPS, staggered=staggered
        )

    return JoinedVectorEnv([part("nvc-cc", envs - envs // 2), part("nvc-cc-authors", envs // 2)])


RECIPE = replace(
    nvc_cc.RECIPE,
    name="nvc-cc-hybrid",
    summary="NVC-CC on the hybrid codec, networks of its Table 2 by both laws: 720,000 decisions",
    make_env=lambda envs: calls(envs, "nvc-cc-hybrid-db"),
    make_evaluation=lambda: calls(TESTS, "nvc-cc-hybrid-db", staggered=False),
)
