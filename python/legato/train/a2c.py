"""Advantage actor-critic: what RL-V trains with, one gradient step for each round of decisions.

[concerto]'s rival RL-V is Pensieve's network trained by A3C [mnih2016], whose actors each send gradients of slightly
outdated weights whenever they please. Ours is synchronous: all environments are stepped at once and their gradients
are averaged, so that a seed gives the same weights. The literature finds no loss in that. RMSProp is Adam here.

Playing, the critic's units and bootstrapping are :mod:`legato.train.ppo`'s; only learning differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import torch
from torch import Tensor

from legato.train.ppo import Ppo, explained_variance, generalized_advantages, squared_value_loss
from legato.train.schedule import Schedule, at


@dataclass(frozen=True)
class Settings:
    """Every number of a training; those of the same name are :class:`legato.train.ppo.Settings`'."""

    steps: int = 720_000
    envs: int = 64
    rollout: int = 20
    learning_rate: Schedule = ((0.0, 1e-3), (1.0, 1e-4))
    discount: float = 0.99
    gae_lambda: float = 1.0
    """1: returns of as many steps as the round has left, A3C's own."""
    value_weight: float = 0.5
    entropy_weight: Schedule = 0.01
    max_gradient_norm: float = 0.5
    action_std: Schedule | None = None
    initial_action_std: float = 0.5
    adam_betas: tuple[float, float] = (0.9, 0.999)
    adam_epsilon: float = 1e-5
    shared_until: str | None = None
    hold_noise: int = 1
    explore_in_logits: bool = False
    initial_output: float = 0.0
    input_gain: tuple[float, ...] | None = None

    @property
    def round_steps(self) -> int:
        """Decisions of one round."""
        return self.envs * self.rollout

    @property
    def rounds(self) -> int:
        """Rounds of the whole training."""
        return -(-self.steps // self.round_steps)


class A2c(Ppo):
    """A training under way; plays as :class:`legato.train.ppo.Ppo` does."""

    settings: Settings

    def learn(self, last_value: Tensor, share_done: float) -> dict[str, float]:
        """One gradient step on the whole rollout."""
        s, r = self.settings, self.rollout
        advantages = generalized_advantages(
            r.rewards, r.values, r.done, r.final_values, last_value, s.discount, s.gae_lambda
        )
        returns = advantages + r.values
        self.agent.take_returns(returns)
        advantages = advantages / self.agent.return_std  # in the critic's units: rewards of any size are alike
        distribution = self.agent.distribution
        out, judged, backward = self.forward(r.obs, r.hidden, r.starts)
        with torch.no_grad():
            # Loss: -mean(A log p), so that a log-probability's slope is -A / count.
            policy_loss = -(advantages * distribution.log_prob(out, r.actions)).mean()
            entropy = distribution.entropy(out)
            slope = distribution.slope(
                out, r.actions, advantages / -advantages.numel(), -at(s.entropy_weight, share_done)
            )
            targets = self.agent.to_judgement(returns)
            value_loss, value_slope = squared_value_loss(judged, targets, judged, None)
        backward(slope, value_slope * s.value_weight)
        learning_rate = at(s.learning_rate, share_done)
        self.adam.clip(s.max_gradient_norm)
        self.adam.step(learning_rate)
        self.check_finite("loss", torch.stack((policy_loss, value_loss)))
        return {
            "policy_loss": float(policy_loss),
            "value_loss": float(value_loss),
            "entropy": float(entropy),
            "kl": nan,
            "explained_variance_ratio": explained_variance(r.values, returns),
            "action_std": self.agent.action_std(),
            "learning_rate": learning_rate,
        }


__all__ = ["A2c", "Settings"]
