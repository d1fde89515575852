"""Concerto's training: its losses by hand, and that it learns what the expert does."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)

from legato.errors import TrainingError  # noqa: E402
from legato.train.evaluation import evaluate  # noqa: E402
from legato.train.imitation import Imitation, Settings, error_weight, unsmoothness  # noqa: E402
from toy_link import MOVES, ToyLink, remembering_network, small_network  # noqa: E402

SMALL = Settings(
    rates_mbps=tuple(float(x) for x in MOVES + 0.5), envs=32, rollout=60, loops=3, epochs=3, smooth_weight=0.01
)


def test_too_much_weighs_more_than_too_little() -> None:
    """[concerto] eq. (4), C = 8: 0.5 below 0.25; 0.5 above 8.25; equal 0."""
    # [concerto] eq. (4)
    weights = error_weight(torch.tensor([1.0, 2.0, 1.5]), torch.tensor([1.5, 1.5, 1.5]), 8.0)
    assert weights.tolist() == [0.25, 8.25, 0.0]


def test_the_loss_is_the_weighted_cross_entropy() -> None:
    """[concerto] eq. (3) and eq. (5): logits 0 over 5 choices, so H = ln 5 = 1.609.

    The argmax of equals is the first, 0 Mbit/s; the expert chose 0.5: w = 0.25, l = 0.4024. Against 0: w = 0.
    """
    # [concerto] eq. (3), [concerto] eq. (5)
    one = Imitation(ToyLink(32, choices=True), small_network(5), SMALL, 1)
    loss = one.imitation_loss(torch.zeros(2, 5), torch.tensor([2, 0]))
    assert float(loss) == pytest.approx((0.4024 + 0) / 2, abs=1e-4)


def test_a_rate_is_compared_with_those_before_it_nearest_most() -> None:
    """[concerto] eq. (6) and eq. (7), k = 3: (1/2*1 + 1/4*2 + 1/8*4) / (7/8) = 12/7, off 2 by 2/7; one alone: 1."""
    # [concerto] eq. (6), [concerto] eq. (7)
    before = torch.tensor([[1.0, 2.0, 4.0], [1.0, 9.0, 9.0]])
    has = torch.tensor([[True, True, True], [True, False, False]])
    both = unsmoothness(torch.tensor([2.0, 2.0]), before, has)
    assert float(both) == pytest.approx((2 / 7 + 1) / 2)
    assert float(unsmoothness(torch.ones(2), before, torch.zeros_like(has))) == 0


def test_decisions_before_are_of_the_same_environment_and_episode() -> None:
    one = Imitation(ToyLink(32, choices=True), small_network(5), SMALL, 1)
    one.begin(5)
    obs, age = one.seen["obs"].view(60, 32, -1), one.seen["age"].view(60, 32)
    time, env = 20, 7
    before, has = one.rates_before(torch.tensor([time * 32 + env]), None)
    with torch.no_grad():
        expected = [one.mean_rate(one.agent(obs[time - i, env].unsqueeze(0))).item() for i in (1, 2, 3)]
    assert before[0].tolist() == pytest.approx(expected, rel=1e-5)
    first = int((age[:, env] == 1).nonzero()[0])
    _, has = one.rates_before(torch.tensor([first * 32 + env]), None)
    assert has.tolist() == [[True, False, False]]


def test_it_learns_what_the_expert_does() -> None:
    torch.set_num_threads(1)
    one = Imitation(ToyLink(32, choices=True), small_network(5, "softmax"), SMALL, 1)
    before = evaluate(one.agent, ToyLink(50, choices=True), 3)["reward"]
    for _ in range(SMALL.loops):
        one.begin(one.rounds_done)
        for _ in range(SMALL.epochs):
            figures = one.iterate()
    after = evaluate(one.agent, ToyLink(50, choices=True), 3)["reward"]
    assert figures["states"] == 3 * 32 * 60
    assert figures["overshoot_ratio"] < 0.5 * (1 - figures["correct_ratio"]) + 0.02
    assert after > 0.85 > before + 0.1


def test_networks_with_memory_and_environments_without_an_expert_are_refused() -> None:
    layers = remembering_network()
    layers[-1] = {**layers[-1], "outputs": 5}
    with pytest.raises(TrainingError, match="imitation trains networks without memory"):
        Imitation(ToyLink(32, choices=True), layers, SMALL, 1)
    env = ToyLink(32, choices=True)
    env._expert = dict
    with pytest.raises(TrainingError, match="info has no expert_action"):
        Imitation(env, small_network(5), SMALL, 1).begin(1)


def test_smile_plays_all_learners_and_ever_less_of_the_expert() -> None:
    """[ross2010], alpha = 1 - beta = 0.5: in the third loop the expert has 1/4, the learners 1/2 and 1/4."""
    one = Imitation(ToyLink(32, choices=True), small_network(5), replace(SMALL, smile=True), 1)
    for loop in range(3):
        one.begin(loop)
        one.rounds_done += SMALL.epochs
        bias = one.agent.actor.tensors()[f"{one.agent.actor.last}.bias"]
        with torch.no_grad():
            bias.fill_(0.0)[loop] = 100.0
    assert len(one.learners) == 2
    shares = (
        torch.bincount(one._mixture(torch.zeros(30_000, 1).expand(-1, one.seen["obs"].shape[1])), minlength=5) / 3e4
    )
    # In addition to the expert's: 1/2 and 1/4 of 3/4.
    assert shares.tolist() == pytest.approx([2 / 3, 1 / 3, 0, 0, 0], abs=0.02)
    assert float(one.agent(torch.zeros(1, one.seen["obs"].shape[1])).argmax()) == 2, "the newest is trained on"
    again = Imitation(ToyLink(32, choices=True), small_network(5), replace(SMALL, smile=True), 1)
    again.restore(one.tensors(), {"rounds_done": one.rounds_done})
    assert [of.keys() for of in again.learners] == [of.keys() for of in one.learners]
