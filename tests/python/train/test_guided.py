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
    ahead_bps = torch.tensor([[8e6, 1.6e6, math.nan, 0.0]])
    labels = learner(guide_ratio=0.5).labels(ahead_bps, torch.zeros(1, 4))
    # Half of 8 Mbit/s is an action of 1/2, whose logit is 0; of 1.6 Mbit/s 1/10, whose logit is ln(1/9).
    assert labels[0, 0].item() == pytest.approx(0.0)
    assert labels[0, 1].item() == pytest.approx(math.log(1 / 9), rel=1e-5)
    assert math.isnan(labels[0, 2].item())
    assert labels[0, 3].item() == pytest.approx(math.log(0.005 / 0.995), rel=1e-5)


def test_what_waits_in_queues_takes_its_share_of_the_capacity_to_come():
    ahead_bps, delay_s = torch.full((1, 3), 1.6e6), torch.tensor([[0.0, 0.2, 2.0]])
    labels = learner(guide_ratio=0.9, drain_per_s=2.0).labels(ahead_bps, delay_s)
    # 0.9, 0.9 - 2 · 0.2 and no less than 0.1 of a fifth of 8 Mbit/s.
    assert torch.allclose(labels.sigmoid(), torch.tensor([[0.18, 0.1, 0.02]]))


def test_the_slope_is_that_of_a_smooth_quantile_and_an_unknown_capacity_has_none():
    made = learner(over_weight=4.0)
    made._weight, made._guides = 20.0, torch.tensor([[0.0, 0.0, math.nan]])
    slope = made.further_slope(torch.tensor([[[0.4], [-0.4], [1.0]]]))
    # 0.4 / (0.4 + 0.1), four times as much above, 20 times the mean over three.
    assert torch.allclose(slope.flatten(), torch.tensor([20 * 4 * 0.8 / 3, -20 * 0.8 / 3, 0.0]))


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
