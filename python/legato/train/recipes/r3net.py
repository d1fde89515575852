"""R3Net: a recurrent network that estimates what a path carries, at the receiver ([r3net])."""

from __future__ import annotations

from typing import Any

from legato.train.ppo import Settings
from legato.train.recipe import Recipe, dense

CONTROLLER = "r3net"


def _calls(envs: int, *, staggered: bool = False) -> Any:
    from legato.envs import CallVectorEnv

    return CallVectorEnv(
        envs, scenario="drawn", controller=CONTROLLER, reward="r3net", duration_s=30.0, staggered=staggered
    )


RECIPE = Recipe(
    name="r3net",
    summary="R3Net's recurrent network on drawn networks, with its reward: 720,000 decisions",
    cites=("r3net",),
    manifest={
        "controller": CONTROLLER,
        "observation": {"features": ["receiver_rate", "packet_interval", "loss_ratio", "rtt"], "history": 1},
        "action": {"map": CONTROLLER, "decide": "value", "range": [0.0, 1.0]},
    },
    layers=(
        dense("hidden1", "observation", 4, 64, "leaky_relu"),
        {"name": "memory", "kind": "gru", "from": ["hidden1"], "inputs": 64, "outputs": 64, "activation": "linear"},
        dense("hidden2", "memory", 64, 64, "leaky_relu"),
        dense("out", "hidden2", 64, 1, "sigmoid"),
    ),
    # What the paper states: the network and that actor and critic share its first layers, PPO, Adam. Its learning rate
    # of 3e-5 is for millions of decisions more than ours. The rest is ours.
    settings=Settings(
        steps=720_000,
        envs=240,
        rollout=60,
        minibatch=2880,
        epochs=6,
        learning_rate=((0, 2e-3), (1, 0)),
        discount=0.97,
        initial_action_std=0.15,
        shared_until="memory",
    ),
    make_env=lambda envs: _calls(envs, staggered=True),
    make_evaluation=lambda: _calls(50),
    evaluate_every=5,
)
