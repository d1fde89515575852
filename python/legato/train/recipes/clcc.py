"""CLCC: a receiver that observes packets and frames, trained on networks of its Table III and wider ones ([clcc])."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from legato.train.ppo import Settings
from legato.train.recipe import Recipe, dense

CONTROLLER = "clcc"
CLIPS = ("asl-night", "asl-please", "asl-sister", "bunny", "camera", "grid-bbaf2n", "grid-lrwp9a")
"""For training; reproductions are measured with another one."""


_WIDER = {"forward.capacity.generator": "broad"}
_FAST_START = {"limits.start_bps": 2_500_000}
"""A call that starts at 300 kbit/s and climbs by factors of 0.7 to 1.1 rarely gets to high rates."""


def _calls(envs: int, *, training: bool) -> Any:
    """Half on Table III, half on wider networks: those of Table III alone never leave room for more than a second."""
    from legato.envs import CallVectorEnv, JoinedVectorEnv

    def part(count: int, options: Mapping[str, Any]) -> CallVectorEnv:
        return CallVectorEnv(count, "clcc", CONTROLLER, "clcc", options=options, clips=CLIPS, threads=1)

    half, quarter = envs - envs // 2, envs // 4
    fast = {**_WIDER, **_FAST_START} if training else _WIDER
    return JoinedVectorEnv([part(half, {}), part(quarter, _WIDER), part(envs - half - quarter, fast)])


RECIPE = Recipe(
    name="clcc",
    summary="CLCC on random networks of its Table III and wider, with reward eq. (2) to (4): 2,592,000 decisions",
    manifest={
        "controller": CONTROLLER,
        "observation": {
            "features": [
                "packet_delay",
                "packet_delay_change",
                "burst_loss_ratio",
                "frame_quality",
                "frame_resolution",
                "frame_delay",
                "frame_delay_change",
                "last_action",
            ],
            "history": 1,
        },
        "action": {"map": CONTROLLER, "decide": "value", "range": [0.0, 1.0]},
    },
    # [r3net] Fig. 1, as [clcc] §III takes it: FC 64, GRU 64, FC 64; the critic shares the memory.
    layers=(
        dense("hidden1", "observation", 8, 64, "leaky_relu"),
        {"name": "memory", "kind": "gru", "from": ["hidden1"], "inputs": 64, "outputs": 64},
        dense("hidden2", "memory", 64, 64, "leaky_relu"),
        dense("out", "hidden2", 64, 1, "sigmoid"),
    ),
    # [clcc] Table II: the Adam betas, exploration that only falls. Ours: the rest. Its exploration, 0.25 to 0.01, is
    # lopsided under gains of 0.7 to 1.1. The rate of a policy that holds falls by a tenth per decision, and a policy
    # that compensates for it runs away when evaluated without noise. So noise is held for five decisions, a second, in
    # which the sender's slow way up gets as far as its quick way down. Its 15 epochs of 18,000 decisions, 180 times,
    # would take hours here.
    settings=Settings(
        steps=2_592_000,
        envs=60,
        rollout=225,  # whole calls of 45 s
        minibatch=2250,
        epochs=3,
        action_std=((0, 0.12), (1, 0.04)),
        hold_noise=5,
        initial_output=-0.32,  # an action of 0.42: the rate hardly moves
        # Delays are in seconds, and hundredths of one matter: without this, braking is learned last.
        input_gain=(20.0, 50.0, 10.0, 1.0, 1.0, 10.0, 30.0, 1.0),
        learning_rate=((0, 2e-3), (1, 1e-4)),
        clip=0.2,
        adam_betas=(0.9, 0.999),
        discount=0.93,
        gae_lambda=0.92,
        shared_until="memory",
    ),
    make_env=lambda envs: _calls(envs, training=True),
    make_evaluation=lambda: _calls(120, training=False),
    evaluation_seed=1,
    evaluate_every=8,
    leg_rounds=4,
)
