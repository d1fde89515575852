"""CLCC trained as nearly as in its paper as can be had: Table III alone, talking heads of 720 rows, WebRTC's cap.

What :mod:`legato.train.recipes.clcc` trains is used beyond the paper's networks, and so is trained on wider ones. The
algorithm's settings are that recipe's, or Table II's: 180 updates of 15 epochs over 18,000 decisions each, a quarter of
an hour to half an hour of one core. Only the noise is held for a second, as in that recipe, which says why.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from legato.train.recipes import clcc

CLIPS = ("asl-again", "foreman-720")
"""Talking heads that have 720 rows, both upscaled; reproductions are measured with another one."""
FULL_HEIGHT = 720
UPDATES, DECISIONS = 180, 18_000
SECOND, THIRD = 51 / UPDATES, 111 / UPDATES
"""The shares of the training after which Table II has other numbers; it counts updates from 0 to 180."""
OPTIONS = {"limits.max_bps": 2_500_000}
"""WebRTC's cap for 720 rows: AlphaRTC, webrtc_video_engine.cc, GetMaxDefaultVideoBitrateKbps."""


def calls(envs: int) -> Any:
    """Networks of Table III; the original picture's size is given, as in [clcc] eq. (1) and eq. (3)."""
    from legato.envs import CallVectorEnv
    from legato.envs.clcc_reward import ClccReward

    reward = ClccReward(full_height=FULL_HEIGHT)
    return CallVectorEnv(envs, "clcc", clcc.CONTROLLER, reward, options=OPTIONS, clips=CLIPS, threads=1)


TABLE_III = replace(
    clcc.RECIPE,
    name="clcc-table-iii",
    summary="CLCC on its Table III alone, 720 rows, 2.5 Mbit/s at most, with reward eq. (2) to (4): 648,000 decisions",
    settings=replace(clcc.RECIPE.settings, steps=648_000),
    make_env=calls,
    make_evaluation=lambda: calls(120),
)
# [clcc] Table II: exploration 0.25 to 0.15, 0.15 to 0.1, 0.1 to 0.01, learning rate 3e-3, 3e-4, 3e-5, for updates 0 to
# 50, 51 to 110, 111 to 180; 15 epochs; clip 0.1; Adam betas 0.9 and 0.999; 18,000 samples per update.
PRINTED = replace(
    TABLE_III,
    name="clcc-printed",
    summary="CLCC with Table II's numbers on Table III alone, 720 rows: 3,240,000 decisions, 15 epochs",
    settings=replace(
        TABLE_III.settings,
        steps=UPDATES * DECISIONS,
        envs=80,
        rollout=DECISIONS // 80,  # whole calls of 45 s
        minibatch=2250,
        epochs=15,
        action_std=((0, 0.25), (SECOND, 0.15), (THIRD, 0.1), (1, 0.01)),
        learning_rate=((0, 3e-3), (SECOND, 3e-3), (SECOND, 3e-4), (THIRD, 3e-4), (THIRD, 3e-5), (1, 3e-5)),
        clip=0.1,
    ),
)
RECIPES = (TABLE_III, PRINTED)
