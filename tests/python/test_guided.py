"""Guided PPO: the label, and the slope of the term that draws the actor to it."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from legato.envs import ReplayedVectorEnv  # noqa: E402
from legato.errors import TrainingError  # noqa: E402
from legato.train import recipe  # noqa: E402
from legato.train.guided import GuidedPpo, GuidedSettings  # noqa: E402


def learner(**changes: object) -> GuidedPpo:
    settings = GuidedSettings(
        steps=240, envs=6, rollout=20, minibatch=60, epochs=1, explore_in_logits=True, shared_until="memory", **changes
    )
    env = ReplayedVectorEnv(6, "train", paths=3, traces_each=2, lte_traces_each=1, duration_s=(0.5, 1.2))
    return GuidedPpo(env, recipe.load("r3net").layers, settings, 1)


def test_a_label_is_a_share_of_the_capacity_to_come_as_the_sigmoid_s_input():
    labels = learner(guide_ratio=0.5).labels(torch.tensor([[8e6, 1.6e6, math.nan, 0.0]]))
    # Half of 8 Mbit/s is an action of 1/2, whose logit is 0; of 1.6 Mbit/s 1/10, whose logit is ln(1/9).
    assert labels[0, 0].item() == pytest.approx(0.0)
    assert labels[0, 1].item() == pytest.approx(math.log(1 / 9), rel=1e-5)
    assert math.isnan(labels[0, 2].item())
    assert labels[0, 3].item() == pytest.approx(math.log(0.005 / 0.995), rel=1e-5)


def test_the_slope_is_that_of_an_expectile_and_an_unknown_capacity_has_none():
    made = learner(over_weight=4.0)
    made._weight, made._guides = 20.0, torch.tensor([[0.0, 0.0, math.nan]])
    out = torch.tensor([[[0.5], [-0.5], [1.0]]], requires_grad=True)
    above, below = out[0, 0, 0], out[0, 1, 0]
    (20.0 * 0.5 * (4.0 * above.square() + below.square()) / 3).backward()
    assert torch.allclose(made.further_slope(out.detach()), out.grad)


def test_a_round_is_guided_while_there_is_weight_and_learns_without():
    made = learner(guide_weight=((0.0, 1.0), (0.5, 0.0)))
    made.begin(1)
    assert math.isfinite(made.iterate()["policy_loss"])
    assert made._weight == 1.0
    assert math.isfinite(made.iterate()["policy_loss"])
    assert made._weight == 0.0


def test_guidance_is_for_recurrent_networks_that_explore_before_the_sigmoid():
    settings = GuidedSettings(steps=120, envs=6, rollout=20)
    env = ReplayedVectorEnv(6, "train", paths=3, traces_each=2, lte_traces_each=1)
    with pytest.raises(TrainingError, match="explore_in_logits"):
        GuidedPpo(env, recipe.load("r3net").layers, settings, 1)
