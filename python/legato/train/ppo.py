"""Proximal policy optimisation [schulman2017], with and without memory, continuous and discrete: read it top to bottom.

:meth:`Ppo.iterate` is one round: :meth:`Ppo.play` collects ``rollout`` decisions in every environment,
:meth:`Ppo.learn` computes how much better each action was than expected and takes gradient steps on the paper's loss,
:meth:`Ppo.loss`. When to reset, evaluate, save and stop is decided in :mod:`legato.train.run`.

Two points on which training rate controllers depends:

- A call that ran out of time is *truncated*: the value of its future is that of ``info["final_obs"]``. Only after a
  *terminated* episode is that value zero.
- Observations are never normalised by running statistics, which a deployed policy would lack: they are scaled where
  they are defined, in Rust. The critic adapts to the size of the rewards (actor_critic.py).

Missing from [schulman2017]: the variant with a KL penalty, and asynchronous actors (ours step together).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium.spaces import Discrete
from torch import Tensor, nn

from legato.errors import TrainingError
from legato.train import actor_critic
from legato.train.actor_critic import NO_STATE, ActorCritic, Hidden
from legato.train.learner import Learner, without_gradients
from legato.train.schedule import Schedule, at


@dataclass(frozen=True)
class Settings(actor_critic.Settings):
    """Every number of a training: these and the actor-critic's."""

    minibatch: int = 960
    """Decisions per gradient step. Recurrent networks take whole sequences, ``minibatch / rollout`` of them."""
    epochs: int = 10
    """How many times a round's decisions are used."""
    clip: Schedule = 0.2
    """How far a probability ratio may be from 1 for a gain to count."""
    clip_value: float | None = None
    """How far a value may move in a round and count, if it is clipped at all."""
    normalise_advantages: bool = True
    target_kl: float | None = None
    """A round's epochs end early once the policy has moved by this much."""


class Rollout:
    """The decisions of one round, overwritten by the next: environments may return views of their memory."""

    def __init__(self, rollout: int, envs: int, observation: int, *, discrete: bool) -> None:
        shape = (rollout, envs)
        self.obs = torch.zeros(*shape, observation)
        self.actions = torch.zeros(shape, dtype=torch.int64) if discrete else torch.zeros(*shape, 1)
        self.log_probs = torch.zeros(shape)
        self.rewards = torch.zeros(shape)
        self.values = torch.zeros(shape)
        self.starts = torch.zeros(shape, dtype=torch.bool)
        """Whether an observation is the first of an episode."""
        self.done = torch.zeros(shape, dtype=torch.bool)
        """Whether an action was the last of its episode."""
        self.final_values = torch.zeros(shape)
        """Where done: the value of the future, zero if the episode terminated."""
        self.labels = torch.full(shape, math.nan)
        """What the actor's output should have been, for learners that know (guided.py); NaN: unknown."""
        self.hidden: Hidden = NO_STATE
        """The networks' state before the first step."""


class Batch(NamedTuple):
    """Decisions to learn from: ``(B, ...)``, or ``(T, B, ...)`` with ``hidden`` and ``starts``."""

    obs: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    values: Tensor
    """The critic's output when they were taken."""
    targets: Tensor
    """The target value."""
    starts: Tensor
    labels: Tensor
    hidden: Hidden = NO_STATE


class Ppo(Learner):
    """A training in progress: networks, optimiser, and one stream of random numbers.

    Args:
        env: a ``gymnasium.vector.VectorEnv`` in the mode ``SAME_STEP``, with ``settings.envs`` environments.
        layers: the actor's layer table, as in ``policy.toml``.
        seed: of weights, exploration and the order of minibatches. Environments are seeded when they are reset.
    """

    def __init__(self, env: Any, layers: Sequence[Mapping[str, Any]], settings: Any, seed: int) -> None:
        if env.num_envs != settings.envs:
            raise TrainingError(f"settings.envs is {settings.envs}, the environment has {env.num_envs}")
        self.env, self.settings = env, settings
        self.random = torch.Generator().manual_seed(seed)
        self.agent = ActorCritic(layers, env.single_action_space, settings, self.random)
        self.adam = torch.optim.Adam(
            self.agent.parameters(), betas=settings.adam_betas, eps=settings.adam_epsilon, fused=True
        )
        features = int(np.prod(env.single_observation_space.shape))
        discrete = isinstance(env.single_action_space, Discrete)
        self.rollout = Rollout(settings.rollout, settings.envs, features, discrete=discrete)

    def begin(self, seed: int, options: Mapping[str, Any] | None = None) -> None:
        obs, _ = self.env.reset(seed=seed, options=dict(options) if options else None)
        self._obs = torch.from_numpy(np.array(obs, dtype=np.float32))
        self._starts = torch.ones(self.settings.envs, dtype=torch.bool)
        self._hidden = self.agent.initial(self.settings.envs)
        self.agent.distribution.renew()

    def iterate(self) -> dict[str, float]:
        share_done = self.rounds_done / self.settings.rounds
        if self.settings.action_std is not None:
            self.agent.distribution.fix(at(self.settings.action_std, share_done))
        last_value = self.play()
        self.check_finite("reward", self.rollout.rewards)
        figures = self.learn(last_value, share_done)
        self.rounds_done += 1
        return {
            **figures,
            "action_std": self.agent.action_std(),
            "reward": float(self.rollout.rewards.mean()),
        }

    @without_gradients
    def play(self) -> Tensor:
        """Fill the rollout; returns the value of the state after it, ``(N,)``."""
        r = self.rollout
        r.hidden = self._hidden
        for t in range(self.settings.rollout):
            r.obs[t], r.starts[t] = self._obs, self._starts
            action, r.log_probs[t], r.values[t], self._hidden = self.agent.act(
                self._obs, self._hidden, self._starts, self.random
            )
            r.actions[t] = action
            obs, reward, terminated, truncated, info = self.env.step(self.agent.to_env(action))
            self._obs.copy_(torch.from_numpy(obs))
            r.rewards[t] = torch.from_numpy(np.asarray(reward, dtype=np.float32))
            self._starts = r.done[t] = torch.from_numpy(terminated | truncated)
            r.final_values[t] = 0.0
            if (truncated & ~terminated).any():  # [pardo2018]: out of time is not the end of the world
                final = torch.from_numpy(np.array(info["final_obs"], dtype=np.float32))
                # Rows without a final observation may hold anything.
                r.final_values[t] = self.agent.value(final, self._hidden).masked_fill(
                    torch.from_numpy(terminated | ~truncated), 0.0
                )
        return self.agent.value(self._obs, self.agent.restart(self._hidden, self._starts))

    def with_advantages(self, last_value: Tensor) -> tuple[Batch, float]:
        """The rollout with advantages and the critic's targets, and the share of the returns' variance it explained."""
        s, r = self.settings, self.rollout
        advantages = generalized_advantages(
            r.rewards, r.values, r.done, r.final_values, last_value, s.discount, s.gae_lambda
        )
        returns = advantages + r.values
        self.agent.take_returns(returns)
        values, targets = self.agent.normalised(r.values), self.agent.normalised(returns)
        batch = Batch(r.obs, r.actions, r.log_probs, advantages, values, targets, r.starts, r.labels, r.hidden)
        return batch, explained_variance(r.values, returns)

    def learn(self, last_value: Tensor, share_done: float) -> dict[str, float]:
        """Take several epochs of gradient steps on the rollout."""
        s = self.settings
        clip, entropy_weight = at(s.clip, share_done), at(s.entropy_weight, share_done)
        self.adam.param_groups[0]["lr"] = at(s.learning_rate, share_done)
        whole, explained_ratio = self.with_advantages(last_value)
        if s.normalise_advantages:  # over the whole round: a minibatch's mean would add noise
            advantages = whole.advantages
            whole = whole._replace(advantages=(advantages - advantages.mean()) / (advantages.std() + 1e-8))
        for epoch in range(1, s.epochs + 1):  # noqa: B007
            figures = []
            for batch in self._minibatches(whole):
                loss, parts = self.loss(batch, clip, entropy_weight)
                self.descend(loss)
                figures.append(parts)
            policy_loss, value_loss, entropy, kl, clipped_ratio = torch.stack(figures).mean(0).tolist()
            self.check_finite("loss", torch.tensor([policy_loss, value_loss]))
            if s.target_kl is not None and kl > s.target_kl:
                break
        return {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "kl": kl,
            "clipped_ratio": clipped_ratio,
            "explained_variance_ratio": explained_ratio,
            "learning_rate": self.adam.param_groups[0]["lr"],
            "epochs": float(epoch),
        }

    def loss(self, batch: Batch, clip: float, entropy_weight: float) -> tuple[Tensor, Tensor]:
        """The loss of some decisions, and its figures: policy, value, entropy, KL divergence, share clipped."""
        out, values, _ = self.agent(batch.obs, batch.hidden, batch.starts)
        log_ratio = self.agent.distribution.log_prob(out, batch.actions) - batch.log_probs
        ratio = log_ratio.exp()
        policy_loss = -clipped_objective(ratio, batch.advantages, clip)
        value_loss = squared_error(values, batch.targets, batch.values, self.settings.clip_value)
        entropy = self.agent.distribution.entropy(out)
        # [schulman2017] eq. (9): L = E[L_CLIP - c1 L_VF + c2 S], to be maximised; a loss is its negative
        loss = policy_loss + self.settings.value_weight * value_loss - entropy_weight * entropy
        loss = loss + self.further_loss(out, batch)
        with torch.no_grad():
            kl = (ratio - 1 - log_ratio).mean()  # never negative, and of less variance than -log_ratio
            clipped_ratio = ((ratio - 1).abs() > clip).float().mean()
            figures = torch.stack((policy_loss, value_loss, entropy, kl, clipped_ratio))
        return loss, figures

    def further_loss(self, out: Tensor, batch: Batch) -> Tensor | float:
        """A term that another learner adds, given the actor's output (guided.py); 0 here."""
        return 0.0

    def descend(self, loss: Tensor) -> None:
        """Take one gradient step."""
        self.adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.agent.parameters(), self.settings.max_gradient_norm)
        self.adam.step()

    def _minibatches(self, whole: Batch) -> Iterator[Batch]:
        """A round's decisions in random order, in parts."""
        s = self.settings
        *decisions, hidden = whole
        if self.agent.recurrent:  # whole sequences of some environments, from the state the round began with
            for some in torch.randperm(s.envs, generator=self.random).split(max(1, s.minibatch // s.rollout)):
                state = tuple(None if h is None else h[some] for h in hidden)
                yield Batch._make([*(x[:, some] for x in decisions), state])
        else:
            decisions = [x.flatten(0, 1) for x in decisions]
            for some in torch.randperm(s.round_steps, generator=self.random).split(s.minibatch):
                yield Batch(*(x[some] for x in decisions))

    def check_finite(self, what: str, values: Tensor) -> None:
        """Refuse to learn from NaN or infinity, and report where it came from."""
        finite = torch.isfinite(values)
        if bool(finite.all()):
            return
        where = f"round {self.rounds_done + 1}"
        if values.dim() == 2:
            step, env = (~finite).nonzero()[0].tolist()
            where += f", step {step}, environment {env}"
        raise TrainingError(
            f"{what} is {float(values[~finite][0])} in {where}",
            "the reward function divides by something that was zero" if what == "reward" else "a smaller learning_rate",
        )


# --- the equations --------------------------------------------------------------------------------------------------


def generalized_advantages(
    rewards: Tensor,
    values: Tensor,
    done: Tensor,
    final_values: Tensor,
    last_value: Tensor,
    discount: float,
    gae_lambda: float,
) -> Tensor:
    """How much better each action was than the critic expected, ``(T, N)``.

    Args:
        rewards: of each action.
        values: of the observation each action was taken at.
        done: whether the action ended its episode.
        final_values: where done, the value of what follows: zero if terminated, the final observation's if not.
        last_value: ``(N,)``, of the observation after the last action.
        discount: gamma.
        gae_lambda: lambda.
    """
    advantages = torch.empty_like(rewards)
    going_on = (~done).float()
    later = torch.zeros_like(last_value)
    next_value = last_value
    for t in range(len(rewards) - 1, -1, -1):
        # [schulman2017] eq. (12): delta_t = r_t + gamma V(s_{t+1}) - V(s_t)
        after = torch.where(done[t], final_values[t], next_value)
        delta = rewards[t] + discount * after - values[t]
        # [schulman2016] eq. (16): A_t = sum over l of (gamma lambda)^l delta_{t+l}, as a recursion
        later = advantages[t] = delta + discount * gae_lambda * going_on[t] * later
        next_value = values[t]
    return advantages


def clipped_objective(ratio: Tensor, advantages: Tensor, clip: float) -> Tensor:
    """The policy's objective: gains count only while the probability ratio is near 1, losses always."""
    # [schulman2017] eq. (7): L_CLIP = E[min(r A, clip(r, 1 - eps, 1 + eps) A)]
    return torch.min(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages).mean()


def squared_error(values: Tensor, targets: Tensor, before: Tensor, clip_value: float | None) -> Tensor:
    """Half the critic's mean squared error.

    With ``clip_value`` an error counts as the worse of two: as it is, and as if the critic had not moved further
    than that from ``before``.
    """
    error = (values - targets).square()
    if clip_value is not None:
        held = before + (values - before).clamp(-clip_value, clip_value)
        error = torch.max(error, (held - targets).square())
    return 0.5 * error.mean()


def explained_variance(values: Tensor, returns: Tensor) -> float:
    """1: the critic predicted every return; 0: no better than their mean."""
    variance = float(returns.var())
    return math.nan if variance == 0 else 1 - float((returns - values).var()) / variance
