"""The networks of ``policy.toml``, in torch: built from the same layer table that the native engine reads.

Tensors have the names and layouts of the weights file (``hidden1.weight``, ``memory.weight_ih``), so that what was
trained is what is deployed. Missing here: convolutions, slices of the observation, and several sources of a layer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from legato.errors import TrainingError

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "leaky_relu": lambda x: functional.leaky_relu(x, 0.01),
    "linear": lambda x: x,
    "relu": functional.relu,
    "sigmoid": torch.sigmoid,
    "softmax": lambda x: x.softmax(-1),
    "tanh": torch.tanh,
}


class Network(nn.Module):
    """A network of a layer table; its last layer is the output.

    Args:
        layers: tables with ``name``, ``kind``, ``from``, ``inputs``, ``outputs`` and ``activation``.
    """

    def __init__(self, layers: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self.layers = [dict(layer) for layer in layers]
        self.last: str = self.layers[-1]["name"]
        self.by_name = nn.ModuleDict()
        for layer in self.layers:
            if layer["kind"] not in ("dense", "gru") or len(layer["from"]) != 1 or "[" in layer["from"][0]:
                raise TrainingError(
                    f"layer {layer['name']}: kind {layer['kind']} from {layer['from']} cannot be trained"
                )
            kind = nn.Linear if layer["kind"] == "dense" else nn.GRU
            self.by_name[layer["name"]] = kind(layer["inputs"], layer["outputs"])
        self._state = sum(layer["outputs"] for layer in self.layers if layer["kind"] == "gru")

    @property
    def recurrent(self) -> bool:
        """Whether it remembers."""
        return self._state > 0

    def tensors(self) -> dict[str, Tensor]:
        """The weights, by ``layer.tensor`` as in the weights file."""
        return {name.removesuffix("_l0"): tensor for name, tensor in self.by_name.named_parameters()}

    def initial(self, sequences: int) -> Tensor | None:
        """The state that episodes begin with, ``(N, H)``; ``None`` for a network that does not remember."""
        return torch.zeros(sequences, self._state) if self._state else None

    def forward(self, obs: Tensor, hidden: Tensor | None, starts: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Outputs and the state afterwards.

        Args:
            obs: ``(N, F)``, one step; or ``(T, N, F)``, sequences.
            hidden: the state before, ``(N, H)``.
            starts: ``(T, N)``, where episodes begin: from an empty state. For sequences only.
        """
        known = {"observation": obs}
        begin, after = 0, []
        for layer in self.layers:
            x, module = known[layer["from"][0]], self.by_name[layer["name"]]
            if layer["kind"] == "gru":
                before = hidden[:, begin : begin + layer["outputs"]]
                begin += layer["outputs"]
                if obs.dim() == 2:
                    x, last = through(module, x.unsqueeze(0), before, None)
                    x = x[0]
                else:
                    x, last = through(module, x, before, starts)
                after.append(last)
            else:
                x = module(x)
            known[layer["name"]] = _ACTIVATIONS[layer["activation"]](x)
        return known[self.last], torch.cat(after, -1) if after else None


def through(gru: nn.GRU, x: Tensor, hidden: Tensor, starts: Tensor | None) -> tuple[Tensor, Tensor]:
    """A GRU over sequences in which episodes may begin anywhere; its outputs, and the states at the end.

    What follows a start becomes a sequence of its own beside the others, from an empty state, so that one call does
    all of them however many there are.

    Args:
        gru: one layer.
        x: ``(T, N, F)``.
        hidden: ``(N, H)``, before the first step.
        starts: ``(T, N)``, whether an episode begins there.
    """
    if starts is None or not bool(starts.any()):
        out, last = gru(x, hidden.unsqueeze(0).contiguous())
        return out, last[0]
    steps, sequences = starts.shape
    time, sequence = starts.nonzero().unbind(1)
    row = torch.arange(steps).unsqueeze(1)
    begun = x[(time + row).clamp(max=steps - 1), sequence]
    states = torch.cat((hidden, hidden.new_zeros(len(time), hidden.shape[1])))
    out, _ = gru(torch.cat((x, begun), 1), states.unsqueeze(0))
    # Which start each step follows; starts are numbered from 1 in order of time, 0 is none.
    follows = torch.zeros_like(starts, dtype=torch.int64)
    follows[time, sequence] = torch.arange(1, len(time) + 1)
    follows = follows.cummax(0).values
    column = torch.where(follows > 0, sequences + follows - 1, torch.arange(sequences))
    out = out[row - torch.cat((time.new_zeros(1), time))[follows], column]
    return out, out[-1]


__all__ = ["Network"]
