"""How actions are drawn around a network's output, and how likely one was: both kinds have the same methods.

``draw`` gives an action for each output, ``best`` the likeliest one, ``log_prob`` the logarithm of how likely one was,
``entropy`` the mean entropy in nats; ``renew`` is called when calls start anew.
Not ``torch.distributions``, which takes no generator: a training draws from one private stream.
Shapes: ``out`` is ``(..., O)``, an action ``(..., 1)`` (Gaussian) or ``(...)`` (categorical), the rest ``(...)``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

_LOG_SQRT_2_PI = 0.5 * math.log(2 * math.pi)


class Gaussian(nn.Module):  # type: ignore[misc] # torch is not there to be read
    """One number, normally distributed around the output; its standard deviation is the same in every state.

    Args:
        std: the initial standard deviation.
        learned: whether training moves it; otherwise :meth:`fix` does.
        hold: for how many draws in a row the same noise is added, as in [raffin2022]: an actuator that follows slowly
            averages out noise that changes at every decision.
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

    def best(self, out: Tensor) -> Tensor:
        return out

    def fix(self, std: float) -> None:
        """Set the standard deviation."""
        self.log_std.fill_(math.log(std))


class Categorical(nn.Module):  # type: ignore[misc] # torch is not there to be read
    """One of several choices, in proportion to ``exp(output)``."""

    def draw(self, out: Tensor, random: torch.Generator) -> Tensor:
        return torch.multinomial(out.softmax(-1), 1, generator=random).squeeze(-1)

    def log_prob(self, out: Tensor, action: Tensor) -> Tensor:
        return out.log_softmax(-1).gather(-1, action.unsqueeze(-1)).squeeze(-1)

    def entropy(self, out: Tensor) -> Tensor:
        log_p = out.log_softmax(-1)
        return -(log_p.exp() * log_p).sum(-1).mean()

    def best(self, out: Tensor) -> Tensor:
        return out.argmax(-1)

    def renew(self) -> None:
        """Nothing to forget."""
