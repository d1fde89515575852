"""Proximal policy optimisation, dense and recurrent, continuous and discrete: one file, read top to bottom.

A learner is a value: :class:`Ppo` holds the networks, the optimiser and one stream of random numbers, and
:meth:`Ppo.iterate` does one round of it: play ``rollout`` decisions in every environment, say how much better each
action was than expected (generalized advantage estimation), then make the better ones likelier, in small steps.
When to reset, evaluate, save and stop is :mod:`legato.train.run`'s.

Two readings that training controllers hangs on:

- A call that ran out of time is *truncated*: the next value is that of ``info["final_obs"]``. Only a *terminated*
  episode is worth nothing afterwards.
- Observations are never normalised by running statistics, which a deployed policy would lack: they are scaled where
  they are defined, in Rust. The size of rewards is the critic's business (actor_critic.py).

Of [schulman2017] what is missing: the KL-penalty variant, and parallel actors that share nothing (ours step at once).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium.spaces import Discrete
from torch import Tensor

from legato.errors import TrainingError
from legato.train.actor_critic import NO_STATE, ActorCritic, Hidden
from legato.train.chain import Chain
from legato.train.flat import FlatAdam
from legato.train.schedule import Schedule, at

Backward = Callable[[Tensor, Tensor], None]
"""Given a loss's slopes by the actor's outputs and by the critic's."""


@dataclass(frozen=True)
class Settings:
    """Every number of a training. A :data:`Schedule` is a number, or points over the share of training done."""

    steps: int = 720_000
    """Decisions in all, over all environments; rounded up to whole rounds."""
    envs: int = 240
    """Environments stepped at once."""
    rollout: int = 60
    """Decisions of each environment in a round."""
    minibatch: int = 960
    """Decisions a gradient step sees. Recurrent networks take whole sequences, ``minibatch / rollout`` of them."""
    epochs: int = 10
    """How often a round's decisions are used."""
    learning_rate: Schedule = ((0.0, 3e-3), (1.0, 0.0))
    discount: float = 0.99
    """What a reward is worth one decision later."""
    gae_lambda: float = 0.95
    """0: one step ahead and the critic's word; 1: the whole return. [schulman2016]"""
    clip: Schedule = 0.2
    """How far a probability ratio counts."""
    clip_value: float | None = None
    """How far a value may move in a round and count, if it is clipped at all."""
    value_weight: float = 0.5
    entropy_weight: Schedule = 0.0
    max_gradient_norm: float = 0.5
    normalise_advantages: bool = True
    target_kl: float | None = None
    """A round's epochs end early once the policy has moved by this much."""
    action_std: Schedule | None = None
    """Standard deviation of a continuous action; ``None``: learned, the same in every state."""
    initial_action_std: float = 0.5
    """Where a learned one begins."""
    hold_noise: int = 1
    """For how many decisions a continuous action's noise is held."""
    explore_in_logits: bool = False
    """Draw an action that a sigmoid gives before the sigmoid: exploration then scales with small actions."""
    initial_output: float = 0.0
    """Where the actor's output begins, before its last activation."""
    input_gain: tuple[float, ...] | None = None
    """What the first weights of each observed number are drawn times, where they are not all about one in size."""
    adam_betas: tuple[float, float] = (0.9, 0.999)
    adam_epsilon: float = 1e-5
    shared_until: str | None = None
    """The last layer that actor and critic share; ``None``: a network each."""

    @property
    def round_steps(self) -> int:
        """Decisions of one round."""
        return self.envs * self.rollout

    @property
    def rounds(self) -> int:
        """Rounds of the whole training."""
        return -(-self.steps // self.round_steps)


class Rollout:
    """What one round saw. Written step by step, over and over: environments may hand out views of their own memory."""

    def __init__(self, rollout: int, envs: int, observation: int, *, discrete: bool) -> None:
        shape = (rollout, envs)
        self.obs = torch.zeros(*shape, observation)
        self.actions = torch.zeros(shape, dtype=torch.int64) if discrete else torch.zeros(*shape, 1)
        self.log_probs = torch.zeros(shape)
        self.rewards = torch.zeros(shape)
        self.values = torch.zeros(shape)
        self.starts = torch.zeros(shape, dtype=torch.bool)
        """Whether an observation is an episode's first."""
        self.done = torch.zeros(shape, dtype=torch.bool)
        """Whether an action was its episode's last."""
        self.final_values = torch.zeros(shape)
        """Where done: what was left to gain. Zero where the episode terminated."""
        self.hidden: Hidden = NO_STATE
        """The networks' state before the first step."""


class Batch(NamedTuple):
    """Decisions to learn from: ``(B, ...)``, or ``(T, B, ...)`` with ``hidden`` and ``starts``."""

    obs: Tensor
    actions: Tensor
    log_probs: Tensor
    judged: Tensor
    """What the critic said when they were taken, in its own units."""
    advantages: Tensor
    targets: Tensor
    """What it should have said."""
    hidden: Hidden = NO_STATE
    starts: Tensor | None = None

    @property
    def decisions(self) -> tuple[Tensor, ...]:
        """What there is one of for each decision."""
        return self[:6]


class Ppo:
    """A training under way.

    Args:
        env: a ``gymnasium.vector.VectorEnv`` in the mode ``SAME_STEP``, with ``settings.envs`` environments.
        layers: the actor's layer table, as in ``policy.toml``.
        seed: of weights, exploration and the order of minibatches. Environments are seeded where they are reset.
    """

    def __init__(self, env: Any, layers: Sequence[Mapping[str, Any]], settings: Settings, seed: int) -> None:
        if env.num_envs != settings.envs:
            raise TrainingError(f"settings.envs is {settings.envs}, the environment has {env.num_envs}")
        self.env, self.settings = env, settings
        self.random = torch.Generator().manual_seed(seed)
        self.agent = ActorCritic(
            layers,
            env.single_action_space,
            shared_until=settings.shared_until,
            action_std=settings.initial_action_std,
            learn_std=settings.action_std is None,
            hold_noise=settings.hold_noise,
            explore_in_logits=settings.explore_in_logits,
            initial_output=settings.initial_output,
            input_gain=settings.input_gain,
            random=self.random,
        )
        self.adam = FlatAdam(self.agent, adam_betas=settings.adam_betas, adam_epsilon=settings.adam_epsilon)
        networks = (self.agent.actor, self.agent.critic)
        apart = self.agent.trunk is None and all(Chain.is_one(network) for network in networks)
        self._chains = tuple(Chain(network) for network in networks) if apart else None
        self.discrete = isinstance(env.single_action_space, Discrete)
        features = int(np.prod(env.single_observation_space.shape))
        self.rollout = Rollout(settings.rollout, settings.envs, features, discrete=self.discrete)
        self.rounds_done = 0

    # --- one round ------------------------------------------------------------------------------------------------

    def begin(self, seed: int, options: Mapping[str, Any] | None = None) -> None:
        """Begin new episodes in all environments. Before the first round, and whenever a run says so."""
        obs, _ = self.env.reset(seed=seed, options=dict(options) if options else None)
        self._obs = torch.from_numpy(np.array(obs, dtype=np.float32))
        self._starts = torch.ones(self.settings.envs, dtype=torch.bool)
        self._hidden = self.agent.initial(self.settings.envs)
        self.agent.distribution.renew()

    def iterate(self) -> dict[str, float]:
        """Play one round and learn from it; the round's figures by name."""
        share_done = self.rounds_done / self.settings.rounds
        if self.settings.action_std is not None:
            self.agent.distribution.fix(at(self.settings.action_std, share_done))
        last_value = self.play()
        self.check_finite("reward", self.rollout.rewards)
        figures = self.learn(last_value, share_done)
        self.rounds_done += 1
        figures["reward"] = float(self.rollout.rewards.mean())
        return figures

    @torch.no_grad()
    def play(self) -> Tensor:
        """Fill the rollout; the value of where it stopped, for each environment."""
        r = self.rollout
        r.hidden = self._hidden
        for t in range(self.settings.rollout):
            r.obs[t] = self._obs
            r.starts[t] = self._starts
            action, r.log_probs[t], r.values[t], self._hidden = self.agent.act(
                self._obs, self._hidden, self._starts, self.random
            )
            r.actions[t] = action
            obs, reward, terminated, truncated, info = self.env.step(self.agent.to_env(action))
            self._obs.copy_(torch.from_numpy(obs))
            r.rewards[t] = torch.from_numpy(np.asarray(reward, dtype=np.float32))
            ended = terminated | truncated
            self._starts = r.done[t] = torch.from_numpy(ended)
            r.final_values[t] = 0.0
            if (truncated & ~terminated).any():  # [pardo2018]: out of time is not the end of the world
                final = torch.from_numpy(np.array(info["final_obs"], dtype=np.float32))
                # Rows without a final observation may hold anything.
                r.final_values[t] = self.agent.value(final, self._hidden).masked_fill(
                    torch.from_numpy(terminated | ~truncated), 0.0
                )
        hidden = self.agent.restart(self._hidden, self._starts)
        return self.agent.value(self._obs, hidden)

    def learn(self, last_value: Tensor, share_done: float) -> dict[str, float]:
        """Several epochs of gradient steps on the rollout."""
        s, r = self.settings, self.rollout
        advantages = generalized_advantages(
            r.rewards, r.values, r.done, r.final_values, last_value, s.discount, s.gae_lambda
        )
        returns = advantages + r.values
        self.agent.take_returns(returns)
        if s.normalise_advantages:  # over the whole round: a minibatch's mean would add noise
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        judged, targets = self.agent.to_judgement(r.values), self.agent.to_judgement(returns)
        whole = Batch(r.obs, r.actions, r.log_probs, judged, advantages, targets, r.hidden, r.starts)
        clip, entropy_weight = at(s.clip, share_done), at(s.entropy_weight, share_done)
        learning_rate = at(s.learning_rate, share_done)
        losses: list[Tensor] = []
        epochs = 0
        while epochs < s.epochs:
            for batch in self._minibatches(whole):
                losses.append(self._gradient(batch, clip, entropy_weight))
                self.adam.clip(s.max_gradient_norm)
                self.adam.step(learning_rate)
            epochs += 1
            if s.target_kl is not None and self._moved(whole, clip)[0] > s.target_kl:
                break
        divergence, clipped = self._moved(whole, clip)
        policy_loss, value_loss, entropy = torch.stack(losses).mean(0).tolist()
        self.check_finite("loss", torch.tensor([policy_loss, value_loss]))
        return {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "kl": divergence,
            "clipped_ratio": clipped,
            "explained_variance_ratio": explained_variance(r.values, returns),
            "action_std": self.agent.action_std(),
            "learning_rate": learning_rate,
            "epochs": float(epochs),
        }

    # --- to go on later ---------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """All there is to save between two calls of :meth:`begin`, with :meth:`facts`."""
        tensors = {f"agent.{name}": tensor for name, tensor in self.agent.state_dict().items()}
        tensors |= {f"adam.{name}": tensor for name, tensor in self.adam.tensors().items()}
        return {**tensors, "random": self.random.get_state()}

    def facts(self) -> dict[str, Any]:
        """What to save that is no tensor."""
        return {"rounds_done": self.rounds_done}

    def restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Become what was saved; the next call must be :meth:`begin`."""
        below: dict[str, dict[str, Tensor]] = {"agent": {}, "adam": {}}
        for name, tensor in tensors.items():
            kind, _, rest = name.partition(".")
            if kind in below:
                below[kind][rest] = tensor
        self.agent.load_state_dict(below["agent"])
        self.adam.restore(below["adam"])
        self.random.set_state(tensors["random"])
        self.rounds_done = int(facts["rounds_done"])

    # --- its parts --------------------------------------------------------------------------------------------------

    def _gradient(self, batch: Batch, clip: float, entropy_weight: float) -> Tensor:
        """Put the loss's gradient into ``self.adam.gradient``; the policy's loss, the critic's, the entropy."""
        s = self.settings
        out, judged, backward = self.forward(batch.obs, batch.hidden, batch.starts)
        distribution = self.agent.distribution
        with torch.no_grad():  # by hand as far as the networks' outputs, by torch from there
            log_ratio = distribution.log_prob(out, batch.actions) - batch.log_probs
            policy_loss, log_prob_slope = clipped_policy_loss(log_ratio, batch.advantages, clip)
            out_slope = distribution.slope(out, batch.actions, log_prob_slope, -entropy_weight)
            value_loss, value_slope = squared_value_loss(judged, batch.targets, batch.judged, s.clip_value)
            if (further := self.further_slope(out)) is not None:
                out_slope = out_slope + further
            parts = torch.stack((policy_loss, value_loss, distribution.entropy(out)))
        backward(out_slope, value_slope * s.value_weight)
        return parts

    def forward(self, obs: Tensor, hidden: Hidden, starts: Tensor) -> tuple[Tensor, Tensor, Backward]:
        """The networks' outputs; and what takes a loss's slopes at them to the gradients of all weights."""
        if self._chains is not None and obs.dim() == 2:
            actor, critic = self._chains

            def chained(out_slope: Tensor, value_slope: Tensor) -> None:
                actor.backward(out_slope)
                critic.backward(value_slope.unsqueeze(-1))

            return actor.forward(obs), critic.forward(obs).squeeze(-1), chained
        out, judged, _ = self.agent(obs, hidden, starts)
        return out, judged, lambda out_slope, value_slope: backward(out, out_slope, judged, value_slope)

    def further_slope(self, out: Tensor) -> Tensor | None:
        """The slope by the actor's output of a term that a learner adds to the loss; ``None``: it adds none."""
        return None

    def _minibatches(self, whole: Batch) -> Iterator[Batch]:
        """A round's decisions in a new order, in parts. Shuffled as a whole: parts are views of it."""
        s = self.settings
        if self.agent.recurrent:  # sequences of some environments, from the state the round began with
            order = torch.randperm(s.envs, generator=self.random)
            shuffled = [x[:, order] for x in (*whole.decisions, whole.starts)]
            hidden = [None if h is None else h[order] for h in whole.hidden]
            size = max(1, s.minibatch // s.rollout)
            for k in range(0, s.envs, size):
                *decisions, starts = (x[:, k : k + size] for x in shuffled)
                yield Batch(*decisions, tuple(None if h is None else h[k : k + size] for h in hidden), starts)
        else:
            order = torch.randperm(s.round_steps, generator=self.random)
            shuffled = [x.flatten(0, 1).index_select(0, order) for x in whole.decisions]
            for k in range(0, s.round_steps, s.minibatch):
                yield Batch(*(x[k : k + s.minibatch] for x in shuffled))

    @torch.no_grad()
    def _moved(self, whole: Batch, clip: float) -> tuple[float, float]:
        """How far the policy is from the one that played (KL divergence), and the share of ratios beyond the clip."""
        out, _, _ = self.agent(whole.obs, whole.hidden, whole.starts)
        log_ratio = self.agent.distribution.log_prob(out, whole.actions) - whole.log_probs
        ratio = log_ratio.exp()
        divergence = (ratio - 1 - log_ratio).mean()  # never negative, and of less variance than -log_ratio
        return float(divergence), float(((ratio - 1).abs() > clip).float().mean())

    def check_finite(self, what: str, values: Tensor) -> None:
        """Refuse to learn from NaN or infinity, and say where it came from."""
        finite = torch.isfinite(values)
        if bool(finite.all()):
            return
        where = f"round {self.rounds_done + 1}"
        if values.dim() == 2:
            step, env = (~finite).nonzero()[0].tolist()
            where += f", step {step}, environment {env}"
        value = float(values[~finite][0])
        raise TrainingError(
            f"{what} is {value} in {where}",
            "the reward function divides by something that was zero" if what == "reward" else "a smaller learning_rate",
        )


# --- the arithmetic -------------------------------------------------------------------------------------------------


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
        final_values: where done, the value of what came after: zero if terminated, the final observation's if not.
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


def clipped_policy_loss(log_ratio: Tensor, advantages: Tensor, clip: float) -> tuple[Tensor, Tensor]:
    """The policy's loss, whose gains count only while the probability ratio is near 1; its slope by ``log_ratio``."""
    # [schulman2017] eq. (7): L = E[min(r A, clip(r, 1 - eps, 1 + eps) A)]; a loss is its negative
    ratio = log_ratio.exp()
    free = ratio * advantages
    held = ratio.clamp(1 - clip, 1 + clip) * advantages
    # Where the clipped one is smaller it is a constant. d r / d log r = r.
    slope = torch.where(free <= held, free, 0.0) * (-1 / free.numel())
    return -torch.min(free, held).mean(), slope


def squared_value_loss(
    judged: Tensor, targets: Tensor, before: Tensor, clip_value: float | None
) -> tuple[Tensor, Tensor]:
    """Half the critic's mean squared error, and its slope by ``judged``.

    With ``clip_value`` an error counts as the worse of two: as it is, and as if the critic had not moved further
    than that from ``before``.
    """
    error = judged - targets
    if clip_value is not None:
        held = before + (judged - before).clamp(-clip_value, clip_value) - targets
        is_held = (held.abs() > error.abs()) & ((judged - before).abs() > clip_value)
        worse = torch.where(held.abs() > error.abs(), held, error)
        return 0.5 * worse.square().mean(), torch.where(is_held, 0.0, error) / error.numel()
    return 0.5 * error.square().mean(), error / error.numel()


def backward(out: Tensor, out_slope: Tensor, judged: Tensor, value_slope: Tensor) -> None:
    """Take a loss's slopes at the networks' outputs to their weights.

    As the slope of a sum of products: to hand them to torch.autograd as they are loads sympy, a second's work.
    """
    (out.flatten() @ out_slope.flatten() + judged.flatten() @ value_slope.flatten()).backward()


def explained_variance(values: Tensor, returns: Tensor) -> float:
    """1: the critic foresaw every return; 0: no better than their mean."""
    variance = float(returns.var())
    return math.nan if variance == 0 else 1 - float((returns - values).var()) / variance


__all__ = [
    "Batch",
    "Ppo",
    "Rollout",
    "Settings",
    "backward",
    "clipped_policy_loss",
    "explained_variance",
    "generalized_advantages",
    "squared_value_loss",
]
