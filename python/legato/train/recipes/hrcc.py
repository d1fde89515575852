"""HRCC: a factor on what Google congestion control estimates at the receiver ([hrcc]), on CLCC's networks and wider."""

from __future__ import annotations

from typing import Any

from legato.train.ppo import Settings
from legato.train.recipe import Recipe, dense
from legato.train.recipes.clcc import CLIPS

CONTROLLER = "hrcc"
FEATURES = ("receiver_rate", "delay", "loss_ratio", "estimate", "since_overuse", "overuse_rate")
ROWS = 10
"""Number of intervals of 200 ms in an observation."""
_FILTERS, _KERNEL = 32, 4
NETWORKS = {"forward.capacity.generator": "clcc+broad"}
"""Trained on Table III alone it learns that all links lose and jump: on wider ones its QoE_p was 0.06 below GCC's."""


def _calls(envs: int) -> Any:
    from legato.envs import CallVectorEnv

    return CallVectorEnv(envs, "clcc", CONTROLLER, reward="hrcc", options=NETWORKS, clips=CLIPS, threads=1)


RECIPE = Recipe(
    name="hrcc",
    summary="HRCC's factor on GCC, on random networks of CLCC's Table III and wider, with the challenge's score",
    manifest={
        "controller": CONTROLLER,
        "observation": {"features": list(FEATURES), "width": ROWS, "history": 1},
        "action": {"map": CONTROLLER, "decide": "value", "range": [0.0, 1.0]},
    },
    # [hrcc]'s network is convolutional, by the name of a module in its public code; its sizes are not published.
    layers=(
        {
            "name": "rows",
            "kind": "conv1d",
            "from": ["observation"],
            "channels": len(FEATURES),
            "length": ROWS,
            "filters": _FILTERS,
            "kernel": _KERNEL,
            "activation": "leaky_relu",
        },
        dense("hidden", "rows", _FILTERS * (ROWS - _KERNEL + 1), 64, "leaky_relu"),
        dense("out", "hidden", 64, 1, "sigmoid"),
    ),
    # Of [hrcc]'s public code: PPO, the standard deviation, the Adam betas. Its rate of 3e-5 and 37 epochs a round are
    # for far longer trainings than ours.
    settings=Settings(
        steps=430_080,
        envs=48,
        rollout=56,  # whole calls of 45 s
        minibatch=448,
        epochs=6,
        action_std=((0, 0.1), (0.5, 0.1), (1, 0.04)),
        # Rates are in 6 Mbit/s and delays in seconds: values are about 0.1, and changes of 0.01 matter.
        input_gain=(5.0, 10.0, 10.0, 5.0, 2.0, 5.0),
        learning_rate=((0, 1e-3), (1, 1e-4)),
        clip=0.2,
        adam_betas=(0.9, 0.999),
        discount=0.95,
        gae_lambda=0.9,
    ),
    make_env=_calls,
    make_evaluation=lambda: _calls(100),
    evaluation_seed=1,
    evaluate_every=10,
    leg_rounds=10,
)
