"""CLCC trained as nearly as in its paper as can be had: Table III alone, talking heads of 720 rows, WebRTC's cap.

What :mod:`legato.train.recipes.clcc` trains is used beyond the paper's networks, and so is trained on wider ones. The
algorithm's settings are that recipe's; Table II's own are :mod:`legato_studies.recipes.clcc_printed`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from legato.train.recipes import clcc

CLIPS = ("asl-again", "foreman-720")
"""Talking heads that have 720 rows, both upscaled; reproductions are measured with another one."""
FULL_HEIGHT = 720
OPTIONS = {"limits.max_bps": 2_500_000}
"""WebRTC's cap for 720 rows: AlphaRTC, webrtc_video_engine.cc, GetMaxDefaultVideoBitrateKbps."""


def calls(envs: int) -> Any:
    """Networks of Table III; the original picture's size is known, as in [clcc] eq. (1) and eq. (3)."""
    from legato.envs import CallVectorEnv
    from legato.envs.clcc_reward import ClccReward

    reward = ClccReward(full_height=FULL_HEIGHT)
    return CallVectorEnv(envs, "clcc", clcc.CONTROLLER, reward, options=OPTIONS, clips=CLIPS, threads=1)


RECIPE = replace(
    clcc.RECIPE,
    name="clcc-table-iii",
    summary="CLCC on its Table III alone, 720 rows, 2.5 Mbit/s at most, with reward eq. (2) to (4): 648,000 decisions",
    settings=replace(clcc.RECIPE.settings, steps=648_000),
    make_env=calls,
    make_evaluation=lambda: calls(120),
)
