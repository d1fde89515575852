"""How actions are drawn around a network's output, how likely one was, and which output would make it likelier.

The slopes are written out by hand in place of automatic differentiation: networks of this size are so small that a
framework's bookkeeping for twenty scalar operations costs more than the network. Tests hold them against autograd.
Shapes: ``out`` is ``(..., O)``, an action ``(..., 1)`` (Gaussian) or ``(...)`` (categorical), the rest ``(...)``.
"""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor, nn

_LOG_SQRT_2_PI = 0.5 * math.log(2 * math.pi)


class Distribution(Protocol):
    """What both have."""

    def draw(self, out: Tensor, random: torch.Generator) -> Tensor:
        """An action for each output."""

    def log_prob(self, out: Tensor, action: Tensor) -> Tensor:
        """Logarithm of how likely the action was."""

    def entropy(self, out: Tensor) -> Tensor:
        """Mean entropy, in nats."""

    def slope(self, out: Tensor, action: Tensor, log_prob_slope: Tensor, entropy_slope: float) -> Tensor:
        """A loss's slope by ``out``, from its slopes by each log-probability and by the mean entropy.

        A learned standard deviation gets its own slope added to its ``grad``.
        """

    def best(self, out: Tensor) -> Tensor:
        """The likeliest action."""

    def renew(self) -> None:
        """Calls begin anew: forget what was drawn."""


class Gaussian(nn.Module):
    """One number, normally distributed around the output; its standard deviation is the same in every state.

    Args:
        std: the standard deviation to begin with.
        learned: whether training moves it; otherwise :meth:`fix` does.
        hold: for how many draws in a row the same noise is added, as [raffin2022] holds its own: where an actuator
            follows slowly, noise that changes at each decision shows as something else than what was drawn.
    """

    def __init__(self, std: float, *, learned: bool, hold: int = 1) -> None:
        super().__init__()
        self._hold, self._draws = hold, 0
        self._noise: Tensor | None = None
        log_std = torch.full((1,), math.log(std))
        if learned:
            self.log_std = nn.Parameter(log_std)
        else:
            self.register_buffer("log_std", log_std)
        self._learned = learned

    def draw(self, out: Tensor, random: torch.Generator) -> Tensor:
        if self._draws % self._hold == 0:
            self._noise = torch.empty_like(out).normal_(generator=random)
        self._draws += 1
        return out + self.log_std.exp() * self._noise

    def renew(self) -> None:
        """Draw new noise next."""
        self._draws = 0

    def log_prob(self, out: Tensor, action: Tensor) -> Tensor:
        z = (action - out) * torch.exp(-self.log_std)
        return (-0.5 * z.square() - (self.log_std + _LOG_SQRT_2_PI)).squeeze(-1)

    def entropy(self, out: Tensor) -> Tensor:
        return (self.log_std + (0.5 + _LOG_SQRT_2_PI)).squeeze(-1)

    def slope(self, out: Tensor, action: Tensor, log_prob_slope: Tensor, entropy_slope: float) -> Tensor:
        # log p = -z^2 / 2 - log s + const with z = (a - out) / s: d/d out = z / s, d/d log s = z^2 - 1.
        inverse_std = torch.exp(-self.log_std)
        z = (action - out) * inverse_std
        by_log_prob = log_prob_slope.unsqueeze(-1)
        if self._learned:
            self.log_std.grad.add_((by_log_prob * (z.square() - 1)).sum() + entropy_slope)
        return by_log_prob * z * inverse_std

    def best(self, out: Tensor) -> Tensor:
        return out

    def fix(self, std: float) -> None:
        """Set the standard deviation."""
        self.log_std.fill_(math.log(std))


class Categorical(nn.Module):
    """One of several choices, in proportion to ``exp(output)``."""

    def draw(self, out: Tensor, random: torch.Generator) -> Tensor:
        return torch.multinomial(out.softmax(-1), 1, generator=random).squeeze(-1)

    def log_prob(self, out: Tensor, action: Tensor) -> Tensor:
        return out.log_softmax(-1).gather(-1, action.unsqueeze(-1)).squeeze(-1)

    def entropy(self, out: Tensor) -> Tensor:
        log_p = out.log_softmax(-1)
        return -(log_p.exp() * log_p).sum(-1).mean()

    def slope(self, out: Tensor, action: Tensor, log_prob_slope: Tensor, entropy_slope: float) -> Tensor:
        # d log p_a / d out_i = [i = a] - p_i;  d H / d out_i = -p_i (log p_i + H)
        log_p = out.log_softmax(-1)
        p = log_p.exp()
        by_log_prob = log_prob_slope.unsqueeze(-1)
        slope = (-by_log_prob * p).scatter_add_(-1, action.unsqueeze(-1), by_log_prob)
        if entropy_slope:
            entropy = -(p * log_p).sum(-1, keepdim=True)
            slope -= p * (log_p + entropy) * (entropy_slope / entropy.numel())
        return slope

    def best(self, out: Tensor) -> Tensor:
        return out.argmax(-1)

    def renew(self) -> None:
        """Nothing is held."""


__all__ = ["Categorical", "Distribution", "Gaussian"]
