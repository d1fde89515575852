"""Dense layers one after the other, whose gradient is worked out by hand.

Most networks of the field are such chains, of a few thousand weights. With them torch.autograd spends more on its
graph, and on memory for what is in between, than on the sums: by hand a gradient step of 1,440 decisions takes less
than half as long. The operations are those that autograd would do, in its order, so that the gradients are the same
to the last bit; a test holds them to it. Other networks go through autograd.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from legato.train.network import Network

ACTIVATIONS = ("linear", "relu", "tanh")


class Chain:
    """A network's layers, whose parameters have gradients of their own already (:class:`~legato.train.flat.FlatAdam`).

    Args:
        network: one of those that :meth:`is_one` says yes to.
    """

    def __init__(self, network: Network) -> None:
        self._layers: list[nn.Linear] = list(network.parts)
        self._activations = [layer.get("activation", "linear") for layer in network.layers]
        self._values: list[Tensor] = []
        self._slopes: list[Tensor] = []
        self._inputs: list[Tensor] = []

    @staticmethod
    def is_one(network: Network) -> bool:
        """Whether every layer is dense, follows the one before, and has an activation this file knows."""
        before = ["observation", *(layer["name"] for layer in network.layers)]
        return all(
            layer["kind"] == "dense" and layer["from"] == [name] and layer.get("activation", "linear") in ACTIVATIONS
            for layer, name in zip(network.layers, before, strict=False)
        )

    @torch.no_grad()
    def forward(self, obs: Tensor) -> Tensor:
        """Outputs ``(N, outputs)`` of observations ``(N, F)``; good until the next call."""
        values, _ = self._buffers(len(obs))
        x = obs
        self._inputs = []
        for layer, activation, value in zip(self._layers, self._activations, values, strict=True):
            self._inputs.append(x)
            torch.addmm(layer.bias, x, layer.weight.t(), out=value)
            if activation == "tanh":
                torch.tanh(value, out=value)
            elif activation == "relu":
                torch.relu_(value)
            x = value
        return x

    @torch.no_grad()
    def backward(self, slope: Tensor) -> None:
        """Write the gradients of the last outputs' loss, given its slopes ``(N, outputs)`` by them."""
        values, slopes = self._buffers(len(slope))
        for at in range(len(self._layers) - 1, -1, -1):
            layer, x = self._layers[at], self._inputs[at]
            if self._activations[at] == "tanh":
                slope = torch.ops.aten.tanh_backward.grad_input(slope, values[at], grad_input=slopes[at])
            elif self._activations[at] == "relu":
                slope = torch.ops.aten.threshold_backward.grad_input(slope, values[at], 0, grad_input=slopes[at])
            torch.mm(slope.t(), x, out=layer.weight.grad)
            torch.sum(slope, 0, out=layer.bias.grad)
            if at:
                slope = torch.mm(slope, layer.weight, out=slopes[at - 1])

    def _buffers(self, count: int) -> tuple[list[Tensor], list[Tensor]]:
        """What is in between, for so many decisions; kept for the largest batch seen."""
        if not self._values or len(self._values[0]) < count:
            sizes = [layer.out_features for layer in self._layers]
            self._values = [torch.empty(count, size) for size in sizes]
            self._slopes = [torch.empty(count, size) for size in sizes]
        return [value[:count] for value in self._values], [slope[:count] for slope in self._slopes]


__all__ = ["ACTIVATIONS", "Chain"]
