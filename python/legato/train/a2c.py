"""Advantage actor-critic ([mnih2016], synchronous): one plain gradient step for each round of decisions.

[concerto]'s rival RL-V is Pensieve's network trained by A3C [mnih2016], whose actors each send gradients of slightly
outdated weights whenever they like. Here all environments are stepped together and their gradients are averaged, so
that a seed gives the same weights; the literature finds no loss in that. RMSProp is Adam here.

A round is played as in :mod:`legato.train.ppo`, which also has the critic's units and the advantages; the loss is
here.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from legato.train import actor_critic
from legato.train.ppo import Ppo, squared_error
from legato.train.schedule import Schedule, at


@dataclass(frozen=True)
class Settings(actor_critic.Settings):
    """Where A3C's numbers are others."""

    envs: int = 64
    rollout: int = 20
    learning_rate: Schedule = ((0.0, 1e-3), (1.0, 1e-4))
    gae_lambda: float = 1.0
    """1: returns of as many steps as the round has left, A3C's own."""
    entropy_weight: Schedule = 0.01


class A2c(Ppo):
    """A training in progress; plays as :class:`legato.train.ppo.Ppo` does."""

    settings: Settings

    def learn(self, last_value: Tensor, share_done: float) -> dict[str, float]:
        """Take one gradient step on the whole rollout."""
        s = self.settings
        self.adam.param_groups[0]["lr"] = at(s.learning_rate, share_done)
        whole, explained_ratio = self.with_advantages(last_value)
        advantages = whole.advantages / self.agent.return_std  # in the critic's units: rewards of any size are alike
        out, values, _ = self.agent(whole.obs, whole.hidden, whole.starts)
        # [mnih2016] section 4: d log pi(a_t | s_t) (R_t - V(s_t)) + beta d H(pi(s_t)), up which A3C climbs
        policy_loss = -(advantages * self.agent.distribution.log_prob(out, whole.actions)).mean()
        value_loss = squared_error(values, whole.targets, whole.values, None)
        entropy = self.agent.distribution.entropy(out)
        self.descend(policy_loss + s.value_weight * value_loss - at(s.entropy_weight, share_done) * entropy)
        losses = torch.stack((policy_loss, value_loss)).detach()
        self.check_finite("loss", losses)
        return {
            "policy_loss": float(losses[0]),
            "value_loss": float(losses[1]),
            "entropy": float(entropy.detach()),
            "explained_variance_ratio": explained_ratio,
            "learning_rate": self.adam.param_groups[0]["lr"],
        }
