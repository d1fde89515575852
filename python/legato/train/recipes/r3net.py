"""R3Net: a recurrent network that finds the bandwidth at the receiver, trained by PPO ([r3net])."""

from __future__ import annotations

from typing import Any

from legato.links import TUNED, VALIDATION, Part
from legato.train.guided import GuidedSettings
from legato.train.recipe import Recipe, dense
from legato.train.recipes.clcc import CLIPS

CONTROLLER = "r3net"
_WIDER = {"forward.capacity": {"generator": "broad"}}


def _calls(envs: int, part: Part, duration_s: tuple[float, float], *, paths: int, **cellular: Any) -> Any:
    """Two thirds are over recordings, a third over wider networks. Half of each sends the paper's synthetic packets,
    half the frames of clips: a policy that has only met smooth packets takes the frames of a real encoder for a queue.
    """
    from legato.envs import CallVectorEnv, JoinedVectorEnv, ReplayedVectorEnv

    sixth = envs // 6
    of_r3net: dict[str, Any] = {"scenario": "r3net", "controller": CONTROLLER, "reward": "r3net"}
    recorded = ReplayedVectorEnv(
        envs - 2 * sixth, part, paths=paths, clips=CLIPS, duration_s=duration_s, **of_r3net, **cellular
    )
    # A round should see calls of all ages, as it does where lengths differ.
    wider: dict[str, Any] = {"options": _WIDER, "duration_s": 30.0, "threads": 1, "staggered": part == TUNED}
    filmed = CallVectorEnv(sixth, **of_r3net, **wider, clips=CLIPS)
    synthetic = CallVectorEnv(sixth, **of_r3net, **wider)
    return JoinedVectorEnv([recorded, filmed, synthetic])


RECIPE = Recipe(
    name="r3net",
    summary="R3Net's recurrent network on recorded capacities and wider networks, with its reward: 518,400 decisions",
    manifest={
        "controller": CONTROLLER,
        "observation": {"features": ["receiver_rate", "packet_interval", "loss_ratio", "rtt"], "history": 1},
        "action": {"map": CONTROLLER, "decide": "value", "range": [0.0, 1.0]},
    },
    # [r3net] Figure 1: fully connected, GRU, fully connected. Its sizes are lost to us; 64 is ours.
    layers=(
        dense("hidden1", "observation", 4, 64, "leaky_relu"),
        {"name": "memory", "kind": "gru", "from": ["hidden1"], "inputs": 64, "outputs": 64, "activation": "linear"},
        dense("hidden2", "memory", 64, 64, "leaky_relu"),
        dense("out", "hidden2", 64, 1, "sigmoid"),
    ),
    # What the paper states: the network, that actor and critic share its first layers, PPO, Adam, the reward. Its
    # learning rate of 3e-5 is for far more decisions than ours. PPO alone, by other settings, was at -0.37 on the
    # networks of evaluation after 288,000 decisions: hence the guidance, which fades. A receiver reports a lower
    # estimate at once and a higher one five times a second: the sender gets the minimum of four, and noise is held for
    # four decisions.
    settings=GuidedSettings(
        steps=518_400,
        envs=144,
        rollout=50,
        minibatch=2_400,
        epochs=5,
        learning_rate=((0, 3e-3), (0.5, 1.5e-3), (0.65, 3e-4), (1, 5e-5)),
        discount=0.99,
        action_std=((0, 0.15), (0.6, 0.12), (1, 0.06)),
        hold_noise=4,
        explore_in_logits=True,
        # Rates are in 8 Mbit/s and delays in seconds: values are about 0.1, and changes of 0.01 matter.
        input_gain=(8.0, 2.0, 10.0, 10.0),
        initial_output=-2.0,
        shared_until="memory",
    ),
    # Calls of several lengths, so that ages differ. Cellular paths are twice as many as in tests: they are harder.
    make_env=lambda envs: _calls(envs, TUNED, (15.0, 45.0), paths=12, lte_ratio=0.34, lte_traces_each=6),
    make_evaluation=lambda: _calls(96, VALIDATION, (30.0, 30.0), paths=16),
    evaluate_every=8,
    leg_rounds=12,
)
