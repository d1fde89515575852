"""All weights of a module as one vector, and the optimiser of it.

The parameters become views of the vector and their gradients views of its gradient; nothing else about them changes.
Clipping the gradient and a step of Adam are then a handful of operations, however many layers there are: with networks
of a few thousand weights torch's own optimiser takes ten times as long, and seconds to be loaded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn


class FlatAdam:
    """Adam on all weights of a module at once.

    Args:
        module: whose parameters are laid behind one another; they must not be replaced afterwards.
        adam_betas: how slowly the means of the gradient and of its square change.
        adam_epsilon: added to the root of the latter.
    """

    def __init__(
        self, module: nn.Module, *, adam_betas: tuple[float, float] = (0.9, 0.999), adam_epsilon: float = 1e-8
    ) -> None:
        parameters = list(module.parameters())
        self.weights = torch.cat([p.detach().flatten() for p in parameters])
        self.gradient = torch.zeros_like(self.weights)
        self._betas, self._epsilon = adam_betas, adam_epsilon
        self._mean, self._square = torch.zeros_like(self.weights), torch.zeros_like(self.weights)
        self._steps = 0
        begin = 0
        for p in parameters:
            end = begin + p.numel()
            p.data = self.weights[begin:end].view_as(p)
            p.grad = self.gradient[begin:end].view_as(p)
            begin = end

    def clip(self, max_gradient_norm: float) -> None:
        """Shorten the gradient to a length of at most this."""
        self.gradient.mul_((max_gradient_norm / (self.gradient.norm() + 1e-6)).clamp_(max=1.0))

    def step(self, learning_rate: float) -> None:
        """Move the weights against the gradient, and begin another gradient."""
        # [kingma2015] algorithm 1, with its two corrections of the bias drawn into the step's size.
        self._steps += 1
        first, second = self._betas
        self._mean.lerp_(self.gradient, 1 - first)
        self._square.mul_(second).addcmul_(self.gradient, self.gradient, value=1 - second)
        root = self._square.sqrt().div_(math.sqrt(1 - second**self._steps)).add_(self._epsilon)
        self.weights.addcdiv_(self._mean, root, value=-learning_rate / (1 - first**self._steps))
        self.gradient.zero_()

    def tensors(self) -> dict[str, Tensor]:
        """What a checkpoint keeps besides the weights."""
        return {"mean": self._mean, "square": self._square, "steps": torch.tensor([self._steps])}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Become what was kept."""
        self._mean.copy_(tensors["mean"])
        self._square.copy_(tensors["square"])
        self._steps = int(tensors["steps"])


__all__ = ["FlatAdam"]
