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
"""Not used by ``legato reproduce nvc-cc``. One is enough: the stand-in codec depends on a clip's frame rate and shape,
not on its pictures."""


def calls(
    envs: int, controller: str, reward: str, safeguard: Mapping[str, Any] | None = None, *, staggered: bool = True,
    options: Mapping[str, Any] | None = None, config: Mapping[str, Any] | None = None,
) -> Any:  # fmt: skip
    """Calls on networks of [nvc-cc] Table 2, one each, or on the ones that ``options`` give. ``staggered``: of every
    age, for training; ``config``: parameters of the controller.
    """
    from legato.envs import CallVectorEnv

    return CallVectorEnv(
        envs, SCENARIO, controller, reward,
        options=options, clips=TRAINING_CLIPS, safeguard=safeguard, staggered=staggered, config=config,
    )  # fmt: skip


def held_out(controller: str, safeguard: Mapping[str, Any] | None = None) -> Any:
    """Fifty networks that are not trained on. [nvc-cc] Fig. 10 judges all by eq. (3): so do we."""
    return calls(50, controller, "nvc-cc", safeguard, staggered=False)


RECIPE = Recipe(
    name="nvc-cc",
    summary="NVC-CC on networks drawn from its Table 2, with reward eq. (3): 720,000 decisions",
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
    # What the paper states: 720,000 decisions of 50 ms in calls of 30 s, the network. Algorithm and numbers are ours;
    # docs/papers/nvc-cc.md has what else was tried.
    settings=Settings(
        steps=720_000,
        envs=240,
        rollout=60,
        minibatch=1440,
        epochs=8,
        learning_rate=((0, 1e-2), (1, 0)),
        discount=0.95,
        gae_lambda=0.9,
        initial_action_std=0.25,
    ),
    # In dB, quality keeps rising where SSIM is nearly one: a policy trained so is better by either measure.
    make_env=lambda envs: calls(envs, CONTROLLER, "nvc-cc-db"),
    make_evaluation=lambda: held_out(CONTROLLER),
    evaluate_every=3,
)
