"""Guided PPO: the label, and the term of the loss that draws the actor towards it."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from legato.envs import ReplayedVectorEnv  # noqa: E402
from legato.errors import TrainingError  # noqa: E402
from legato.links import TUNED  # noqa: E402
from legato.train import recipe  # noqa: E402
from legato.train.guided import GuidedPpo, GuidedSettings, quantile_distance  # noqa: E402


def learner(**changes: object) -> GuidedPpo:
    settings = GuidedSettings(
        steps=240, envs=6, rollout=20, minibatch=60, epochs=1, explore_in_logits=True, shared_until="memory", **changes
    )
    env = ReplayedVectorEnv(6, TUNED, paths=3, traces_each=2, lte_traces_each=1, duration_s=(0.5, 1.2))
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


def test_the_distance_is_a_smooth_quantiles_and_an_unknown_capacity_has_none():
    out = torch.tensor([[0.4, -0.4, 1.0]], requires_grad=True)
    distance = quantile_distance(out, torch.tensor([[0.0, 0.0, math.nan]]), over_weight=4.0)
    distance.backward()
    # 0.4 - 0.1 ln(1 + 0.4 / 0.1) = 0.23906, four times as much above; the mean over three.
    assert distance.item() == pytest.approx(5 * 0.23906 / 3, abs=1e-5)
    # Its slope: 0.4 / (0.4 + 0.1), four times as much above.
    assert torch.allclose(out.grad, torch.tensor([[4 * 0.8 / 3, -0.8 / 3, 0.0]]))


def test_a_round_is_guided_while_there_is_weight_and_learns_without():
    made = learner(guide_weight=((0.0, 1.0), (0.5, 0.0)))
    made.begin(1)
    assert math.isfinite(made.iterate()["policy_loss"])
    assert made._guide_weight == 1.0
    assert math.isfinite(made.iterate()["policy_loss"])
    assert made._guide_weight == 0.0


def test_guidance_is_for_recurrent_networks_that_explore_before_the_sigmoid():
    settings = GuidedSettings(steps=120, envs=6, rollout=20)
    env = ReplayedVectorEnv(6, TUNED, paths=3, traces_each=2, lte_traces_each=1)
    with pytest.raises(TrainingError, match="explore_in_logits"):
        GuidedPpo(env, recipe.load("r3net").layers, settings, 1)
