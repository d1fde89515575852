"""NVC-CC: a rate controller for codecs that tolerate loss, trained on their pictures' quality ([nvc-cc]).

Aurora and OnRL, its rivals, are trained on the same networks for as long (recipes aurora, onrl and onrl-free).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from legato.train.ppo import Settings
from legato.train.recipe import Recipe, dense

CONTROLLER = "nvc-cc"
SCENARIO = "nvc_cc"
TRAINING_CLIPS = ("asl-again",)
"""Never among those of ``legato reproduce nvc-cc``. One is enough: the stand-in codec knows a clip's frame rate and
shape, not its pictures."""


def calls(envs: int, controller: str, reward: str, safeguard: Mapping[str, Any] | None = None) -> Any:
    """The networks of [nvc-cc] Table 2, each call on one of its own."""
    from legato.envs import CallVectorEnv

    return CallVectorEnv(
        envs, scenario=SCENARIO, controller=controller, reward=reward, clips=TRAINING_CLIPS, safeguard=safeguard
    )


RECIPE = Recipe(
    name="nvc-cc",
    summary="NVC-CC on networks drawn from its Table 2, with reward eq. (3): 720,000 decisions",
    cites=("nvc-cc",),
    manifest={
        "controller": CONTROLLER,
        "observation": {"features": ["latency_gradient", "latency_ratio", "sending_ratio"], "history": 10},
        "action": {"map": CONTROLLER, "decide": "value", "range": [-1.0, 1.0]},
    },
    layers=(
        dense("hidden1", "observation", 30, 32, "tanh"),
        dense("hidden2", "hidden1", 32, 16, "tanh"),
        dense("out", "hidden2", 16, 1, "linear"),
    ),
    # What the paper states: 720,000 decisions of 50 ms in calls of 30 s, the network. Algorithm and numbers are ours.
    # A round is whole calls of 600 decisions: rounds of 60 in 240 calls, all of one age, ended 0.02 to 0.04 lower.
    settings=Settings(
        steps=720_000,
        envs=24,
        rollout=600,
        minibatch=1440,
        epochs=8,
        learning_rate=((0, 3e-3), (1, 0)),
        discount=0.97,
    ),
    make_env=lambda envs: calls(envs, CONTROLLER, "nvc-cc"),
    make_evaluation=lambda: calls(50, CONTROLLER, "nvc-cc"),
    evaluate_every=3,
)
