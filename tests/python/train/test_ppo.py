"""Proximal policy optimisation: its equations by hand, and that it learns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)

from legato.errors import TrainingError  # noqa: E402
from legato.train import a2c, actor_critic, ppo  # noqa: E402
from legato.train.actor_critic import NO_STATE, ActorCritic  # noqa: E402
from legato.train.distributions import Categorical, Gaussian  # noqa: E402
from legato.train.evaluation import evaluate  # noqa: E402
from legato.train.schedule import at  # noqa: E402
from toy_link import MOVES, ToyLink, dense, remembering_network, small_network  # noqa: E402

SMALL = ppo.Settings(
    steps=61_440, envs=64, rollout=32, minibatch=512, epochs=6, discount=0.9, learning_rate=((0, 5e-3), (1, 0))
)


def trained(env: ToyLink, layers: Any, settings: Any = SMALL, seed: int = 1, learner: Any = ppo.Ppo) -> Any:
    torch.set_num_threads(1)
    one = learner(env, layers, settings, seed)
    one.begin(seed)
    for _ in range(settings.rounds):
        one.iterate()
    return one


def weights_of(one: Any) -> np.ndarray:
    return torch.cat([weight.detach().flatten() for weight in one.agent.parameters()]).numpy()


# --- arithmetic -------------------------------------------------------------------------------------------------------


def advantages(done: list[bool], final_values: list[float]) -> list[float]:
    column = lambda values: torch.tensor(values, dtype=torch.float64).unsqueeze(1)  # noqa: E731
    result = ppo.generalized_advantages(
        rewards=column([1.0, 2.0, 3.0]),
        values=column([0.5, 1.0, 1.5]),
        done=torch.tensor(done).unsqueeze(1),
        final_values=column(final_values),
        last_value=torch.tensor([2.0], dtype=torch.float64),
        discount=0.5,
        gae_lambda=0.5,
    )
    return result.squeeze(1).tolist()


def test_advantages_of_three_steps_by_hand() -> None:
    """[schulman2017] eq. (12) and [schulman2016] eq. (16), gamma = lambda = 0.5.

    delta_2 = 3 + 0.5*2.0 - 1.5 = 2.5; delta_1 = 2 + 0.5*1.5 - 1.0 = 1.75; delta_0 = 1 + 0.5*1.0 - 0.5 = 1.0;
    A_2 = 2.5; A_1 = 1.75 + 0.25*2.5 = 2.375; A_0 = 1 + 0.25*2.375 = 1.59375.
    """
    # [schulman2017] eq. (12), [schulman2016] eq. (16)
    assert advantages([False, False, False], [0, 0, 0]) == pytest.approx([1.59375, 2.375, 2.5])


def test_a_truncated_step_goes_on_with_its_final_observation() -> None:
    """Truncated after step 1, final observation worth 4: delta_1 = 2 + 0.5*4 - 1 = 3 = A_1; A_0 = 1 + 0.25*3."""
    assert advantages([False, True, False], [0, 4.0, 0]) == pytest.approx([1.75, 3.0, 2.5])


def test_a_terminated_step_is_worth_its_reward() -> None:
    """Terminated after step 1: delta_1 = 2 - 1 = 1 = A_1; A_0 = 1 + 0.25*1."""
    assert advantages([False, True, False], [0, 0.0, 0]) == pytest.approx([1.25, 1.0, 2.5])


def test_the_final_observation_bootstraps_and_the_next_episode_does_not() -> None:
    """The rollout holds V(final_obs) where truncated, though the environment returns the next episode's first."""
    env = ToyLink(4, length=5)
    one = ppo.Ppo(env, small_network(), replace(SMALL, envs=4, rollout=8), 1)
    one.begin(3)
    finals: list[np.ndarray] = []
    step = env.step

    def watched(actions: np.ndarray) -> Any:
        result = step(actions)
        finals.append(np.where(result[3][:, None], result[4].get("final_obs", np.nan), np.nan))
        return result

    env.step = watched
    one.play()
    r = one.rollout
    assert r.done.sum() >= 4
    for t, final in enumerate(finals):
        for n in range(4):
            expected = 0.0
            if r.done[t, n]:
                expected = one.agent.value(torch.from_numpy(final[n : n + 1]).float(), NO_STATE).item()
                assert not np.array_equal(final[n], r.obs[t + 1, n] if t + 1 < 8 else one._obs[n])
            assert float(r.final_values[t, n]) == pytest.approx(expected, abs=1e-6)


def test_gains_count_within_the_clip_and_losses_always() -> None:
    """[schulman2017] eq. (7) with clip 0.2, by hand.

    Ratios 1.5, 1.5, 0.5, 0.5 and advantages 1, -1, 1, -1: min(1.5, 1.2) = 1.2; min(-1.5, -1.2) = -1.5;
    min(0.5, 0.8) = 0.5; min(-0.5, -0.8) = -0.8. Sum -0.6, mean -0.15.
    """
    # [schulman2017] eq. (7)
    ratio = torch.tensor([1.5, 1.5, 0.5, 0.5], requires_grad=True)
    objective = ppo.clipped_objective(ratio, torch.tensor([1.0, -1.0, 1.0, -1.0]), 0.2)
    objective.backward()
    assert objective.item() == pytest.approx(-0.15)
    # Where the clipped one is smaller it is a constant.
    assert ratio.grad.tolist() == pytest.approx([0.0, -1 / 4, 1 / 4, 0.0])


def test_the_critics_loss_by_hand() -> None:
    """Values 1 and -1, targets 0 and 1: errors 1 and -2, half their mean square is 1.25.

    Held to 0.5 from before, 0: errors 0.5 and -1.5 are smaller, so that the free ones count. Moved past its target, 2
    from 0 to 2, and held at 0.5 the error is 1.5: half its square is 1.125, and it has no slope.
    """
    values, targets, before = torch.tensor([1.0, -1.0]), torch.tensor([0.0, 1.0]), torch.zeros(2)
    assert ppo.squared_error(values, targets, before, None).item() == pytest.approx(1.25)
    assert ppo.squared_error(values, targets, before, 0.5).item() == pytest.approx(1.25)
    moved = torch.tensor([2.0], requires_grad=True)
    loss = ppo.squared_error(moved, torch.tensor([2.0]), torch.zeros(1), 0.5)
    loss.backward()
    assert (loss.item(), moved.grad.item()) == (pytest.approx(1.125), 0.0)


def test_the_loss_is_the_policys_the_critics_and_the_entropys() -> None:
    """[schulman2017] eq. (9) on one decision, by hand: outputs 0, standard deviation 1, action 1, c1 = 2, c2 = 0.1.

    log p = -1/2 - ln sqrt(2 pi) = -1.41894, played at -1.6: ratio exp(0.18106) = 1.19849, below 1.2. Advantage 2:
    L_CLIP = 2.39698. Value 0, target 3: half the squared error is 4.5. Entropy 1/2 + ln sqrt(2 pi) = 1.41894.
    Loss: -2.39698 + 2 * 4.5 - 0.141894 = 6.46113.
    """
    # [schulman2017] eq. (9)
    settings = replace(SMALL, initial_action_std=1.0, value_weight=2.0)
    one = ppo.Ppo(ToyLink(64), small_network(), settings, 1)
    one.agent.load_state_dict({name: tensor * 0 for name, tensor in one.agent.state_dict().items()})
    number = lambda value: torch.tensor([value])  # noqa: E731
    batch = ppo.Batch(
        obs=torch.zeros(1, 2),
        actions=torch.ones(1, 1),
        log_probs=number(-1.6),
        advantages=number(2.0),
        values=number(0.0),
        targets=number(3.0),
        starts=number(True),
        labels=number(float("nan")),
    )
    loss, figures = one.loss(batch, 0.2, 0.1)
    assert loss.item() == pytest.approx(6.46113, abs=1e-4)
    # The KL divergence is estimated by r - 1 - ln r.
    assert figures.tolist() == pytest.approx([-2.39698, 4.5, 1.41894, 0.19849 - 0.18106, 0.0], abs=1e-4)


@pytest.mark.parametrize(
    ("distribution", "outputs"), [(Gaussian(0.7, learned=True), 1), (Categorical(), 5)], ids=["gaussian", "categorical"]
)
def test_probabilities_are_those_of_torchs_distributions(distribution: Any, outputs: int) -> None:
    out = torch.randn(50, outputs, generator=torch.Generator().manual_seed(1))
    action = distribution.draw(out, torch.Generator().manual_seed(2))
    if outputs == 1:
        reference = torch.distributions.Normal(out.squeeze(-1), 0.7)
        expected = reference.log_prob(action.squeeze(-1))
    else:
        reference = torch.distributions.Categorical(logits=out)
        expected = reference.log_prob(action)
    torch.testing.assert_close(distribution.log_prob(out, action), expected)
    torch.testing.assert_close(distribution.entropy(out).detach().squeeze(), reference.entropy().mean())


def test_held_noise_is_the_same_for_so_many_draws_and_new_when_calls_begin() -> None:
    held = Gaussian(0.5, learned=False, hold=3)
    random = torch.Generator().manual_seed(1)
    out = torch.zeros(4, 1)
    draws = [held.draw(out + step, random) - step for step in range(4)]
    assert torch.allclose(draws[0], draws[1]) and torch.allclose(draws[0], draws[2])
    assert not torch.allclose(draws[0], draws[3])
    held.renew()
    assert not torch.allclose(held.draw(out, random), draws[3])


def test_the_critics_units_change_and_its_values_do_not() -> None:
    """[hasselt2016], proposition 1: outputs are rescaled as the units are."""
    # [hasselt2016], proposition 1
    space, random = ToyLink(1).single_action_space, torch.Generator().manual_seed(1)
    agent = ActorCritic(small_network(), space, actor_critic.Settings(), random)
    obs = torch.randn(20, 2)
    before = agent.value(obs, NO_STATE)
    agent.take_returns(torch.randn(100) * 30 + 500)
    assert float(agent.return_mean) == pytest.approx(500, abs=10)
    torch.testing.assert_close(agent.value(obs, NO_STATE), before, rtol=1e-4, atol=1e-3)


def test_a_schedule_is_a_number_or_lines_between_points() -> None:
    assert at(0.3, 0.7) == 0.3
    assert at(((0, 1.0), (1, 0.0)), 0.25) == 0.75
    steps = ((0, 3e-3), (0.5, 3e-3), (0.5, 3e-4), (1, 3e-4))
    assert [at(steps, share) for share in (0.0, 0.49, 0.5, 1.0)] == pytest.approx([3e-3, 3e-3, 3e-4, 3e-4])


# --- networks ---------------------------------------------------------------------------------------------------------


def test_a_sequence_gives_what_its_steps_gave() -> None:
    """Recurrent networks: the whole rollout at once, from its initial state, equals the steps played one by one."""
    one = ppo.Ppo(ToyLink(6, length=7), remembering_network(), replace(SMALL, envs=6, rollout=20), 1)
    one.begin(1)
    one.play()
    one.play()  # begins in the middle of episodes
    r = one.rollout
    assert r.starts.any() and r.starts.sum() < r.starts.numel() / 3
    with torch.no_grad():
        out, values, _ = one.agent(r.obs, r.hidden, r.starts)
    torch.testing.assert_close(one.agent.distribution.log_prob(out, r.actions), r.log_probs, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(one.agent.denormalised(values), r.values, rtol=1e-4, atol=1e-5)


def test_actor_and_critic_may_share_the_first_layers() -> None:
    env = ToyLink(64, hidden=True)
    one = trained(env, remembering_network(), replace(SMALL, steps=4_096, shared_until="memory"))
    names = set(one.agent.actor_tensors())
    assert {"memory.weight_ih", "memory.bias_hh", "hidden.weight", "out.bias"} <= names
    assert one.agent.trunk.tensors().keys().isdisjoint(one.agent.critic.tensors())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"shared_until": "nothing"}, "shared_until is 'nothing'; the layers before the last are hidden1, hidden2"),
        ({"envs": 3}, "settings.envs is 3, the environment has 4"),
    ],
)
def test_settings_that_cannot_be_are_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(TrainingError, match=says):
        ppo.Ppo(ToyLink(4), small_network(), replace(SMALL, **{"envs": 4, **change}), 1)


def test_a_network_of_other_outputs_than_the_actions_is_refused() -> None:
    with pytest.raises(TrainingError, match="layer out: outputs is 2, the environment's actions take 1"):
        ppo.Ppo(ToyLink(64), [dense("out", "observation", 2, 2, "linear")], SMALL, 1)


# --- learning ---------------------------------------------------------------------------------------------------------

OPTIMAL = 0.99
"""Of the toy link: only the first decision of an episode may be too far away for one move."""


def test_it_solves_the_toy_link_with_numbers() -> None:
    held_out = ToyLink(100)
    first = evaluate(ppo.Ppo(ToyLink(64), small_network(), SMALL, 1).agent, held_out, 9)["reward"]
    last = evaluate(trained(ToyLink(64), small_network()).agent, held_out, 9)["reward"]
    assert first < 0.6
    assert last > 0.95 * OPTIMAL


def test_it_solves_the_toy_link_with_choices() -> None:
    one = trained(ToyLink(64, choices=True), small_network(len(MOVES), "softmax"))
    assert evaluate(one.agent, ToyLink(100, choices=True), 9)["reward"] > 0.9


def test_one_step_of_actor_critic_follows_its_gradient() -> None:
    """[mnih2016] section 4: after one small step the loss of the same rollout, written out here, is lower."""
    # [mnih2016] section 4
    settings = a2c.Settings(envs=8, rollout=6, learning_rate=1e-4, entropy_weight=0.02)
    one = a2c.A2c(ToyLink(8, choices=True), small_network(len(MOVES)), settings, 1)
    one.begin(1)
    last_value = one.play()
    r = one.rollout
    probabilities = lambda: one.agent(r.obs, NO_STATE)[0].softmax(-1)  # noqa: E731
    taken = lambda p: p.gather(-1, r.actions.unsqueeze(-1)).squeeze(-1)  # noqa: E731
    figures = one.learn(last_value, 0.0)
    returns, later = torch.zeros(6, 8), last_value
    for t in range(5, -1, -1):
        later = returns[t] = r.rewards[t] + 0.99 * torch.where(r.done[t], r.final_values[t], later)
    gained = (returns - r.values) / one.agent.return_std
    # Before the step all five choices are about as likely: -mean(A ln 1/5), and an entropy of ln 5.
    assert figures["policy_loss"] == pytest.approx(float(np.log(5) * gained.mean()), abs=0.05)
    assert figures["entropy"] == pytest.approx(np.log(5), abs=0.01)
    p = probabilities().detach()
    loss = -(gained * taken(p).log()).mean() + 0.02 * (p * p.log()).sum(-1).mean()
    assert float(loss) < figures["policy_loss"] - 0.02 * figures["entropy"]


def test_actor_critic_learns_the_toy_link_too() -> None:
    settings = a2c.Settings(
        steps=150_000, envs=64, rollout=8, discount=0.9, learning_rate=((0, 1e-2), (1, 1e-3)), entropy_weight=0.003
    )
    one = trained(ToyLink(64, choices=True), small_network(len(MOVES)), settings, learner=a2c.A2c)
    assert evaluate(one.agent, ToyLink(100, choices=True), 9)["reward"] > 0.85


@pytest.mark.slow
def test_what_must_be_remembered_is_learned_by_a_network_that_remembers() -> None:
    """The decisions that move see nothing; how far to move was shown to the one before."""
    scores = {}
    for name, layers in {"dense": small_network(), "recurrent": remembering_network()}.items():
        one = trained(ToyLink(64, hidden=True), layers)
        scores[name] = evaluate(one.agent, ToyLink(100, hidden=True), 9)["reward"]
    assert scores["recurrent"] > scores["dense"] + 0.15


def test_shuffled_rewards_teach_nothing() -> None:
    one = trained(ToyLink(64, wrong=True), small_network())
    assert evaluate(one.agent, ToyLink(100), 9)["reward"] < 0.7


@pytest.mark.parametrize("layers", [small_network(), remembering_network()], ids=["dense", "recurrent"])
def test_equal_seeds_give_equal_weights_and_others_do_not(layers: Any) -> None:
    short = replace(SMALL, steps=6_144)
    weights = [weights_of(trained(ToyLink(64), layers, short, seed)) for seed in (1, 1, 2)]
    assert np.array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])


def test_a_reward_that_is_no_number_is_named() -> None:
    with pytest.raises(TrainingError, match="reward is nan in round 2, step 7, environment 1"):
        trained(ToyLink(64, nan_at=40), small_network())


def test_first_weights_and_output_begin_where_they_are_asked_to() -> None:
    layers = [dense("hidden1", "observation", 2, 4, "tanh"), dense("out", "hidden1", 4, 1, "sigmoid")]
    space = ToyLink(1, choices=False).single_action_space

    def first(**changes: Any) -> tuple[np.ndarray, float]:
        agent = ActorCritic(layers, space, actor_critic.Settings(**changes), torch.Generator().manual_seed(1))
        tensors = agent.actor_tensors()
        return tensors["hidden1.weight"].detach().numpy(), float(tensors["out.bias"].detach())

    plain, _ = first()
    scaled, bias = first(input_gain=(10.0, 1.0), initial_output=-0.5)
    assert scaled == pytest.approx(plain * np.array([10.0, 1.0]))
    assert bias == -0.5
    with pytest.raises(TrainingError, match="input_gain has 3 numbers, layer hidden1 takes 2"):
        first(input_gain=(1.0, 1.0, 1.0))
    layers[0] = {"name": "hidden1", "kind": "conv1d", "from": ["observation"], "channels": 2, "length": 5, "filters": 2}
    layers[0] |= {"kernel": 4, "activation": "tanh"}
    plain, _ = first()
    scaled, _ = first(input_gain=(10.0, 1.0))
    assert scaled == pytest.approx(plain * np.array([10.0, 1.0])[:, None])
