"""OnRL as [nvc-cc] runs it: one of 60 bitrates, learned with GCC taking over whenever delay jitters ([zhang2020]).

The agent's actions while GCC decides are learned from as if they had been applied, which makes learning under a
safeguard slow; each time that GCC takes over costs a penalty.
"""

from __future__ import annotations

from dataclasses import replace

from legato.train.recipe import Recipe, dense
from legato.train.recipes import nvc_cc

CONTROLLER = "onrl"
ACTIONS = 60

RECIPE = Recipe(
    name="onrl",
    summary="OnRL on NVC-CC's networks under its safeguard, with reward eq. (2): 720,000 decisions",
    manifest={
        "controller": CONTROLLER,
        "observation": {"features": ["loss_ratio", "delay", "delay_gradient", "receiver_rate"], "history": 10},
        "action": {"map": CONTROLLER, "decide": "argmax"},
    },
    layers=(
        dense("hidden1", "observation", 40, 32, "tanh"),
        dense("hidden2", "hidden1", 32, 16, "tanh"),
        dense("out", "hidden2", 16, ACTIONS, "linear"),
    ),
    # A higher learning rate or a lower discount gave a lower reward.
    settings=replace(
        nvc_cc.RECIPE.settings,
        entropy_weight=((0, 0.01), (1, 0)),
        discount=0.97,
        learning_rate=((0, 3e-3), (1, 0)),
    ),
    # As in the paper: the methodology of OnRL, with the reward of eq. (2).
    make_env=lambda envs: nvc_cc.calls(envs, CONTROLLER, "onrl", safeguard={}),
    # It runs as it learns: with the safeguard.
    make_evaluation=lambda: nvc_cc.held_out(CONTROLLER, safeguard={}),
    evaluate_every=3,
)
