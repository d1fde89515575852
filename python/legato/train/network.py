"""The networks of ``policy.toml``, in torch: built from the same layer table that the native engine reads.

Every kind of layer the engine has: dense, GRU and convolutions of one and two dimensions, over slices of the
observation and of earlier layers. Tensors have the names and layouts of the weights file (``hidden1.weight``,
``memory.weight_ih``), so that the trained network is the deployed one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from legato.errors import PolicyError
from legato.policy.layers import LEAKY_SLOPE, Layer, pairs, picture, sources
from legato.train.learner import without_gradients

_ACTIVATIONS: dict[str, Callable[[Tensor, float], Tensor]] = {
    "leaky_relu": lambda x, slope: functional.leaky_relu(x, slope),
    "linear": lambda x, _: x,
    "relu": lambda x, _: functional.relu(x),
    "sigmoid": lambda x, _: torch.sigmoid(x),
    "softmax": lambda x, _: x.softmax(-1),
    "tanh": lambda x, _: torch.tanh(x),
}


class Network(nn.Module):  # type: ignore[misc] # torch is not there to be read
    """A network of a layer table; its last layer is the output.

    Args:
        layers: tables as ``[[network.layers]]`` of policy.toml has them; no ``activation`` is ``linear``.
    """

    def __init__(self, layers: Sequence[Layer]) -> None:
        super().__init__()
        self.layers = [dict(layer) for layer in layers]
        self.last: str = self.layers[-1]["name"]
        self.parts = nn.ModuleList(_part(layer) for layer in self.layers)
        self._state = sum(layer["outputs"] for layer in self.layers if layer["kind"] == "gru")

    @property
    def recurrent(self) -> bool:
        """Whether it has memory."""
        return bool(self._state)

    def tensors(self) -> dict[str, Tensor]:
        """The weights, by ``layer.tensor`` as in the weights file."""
        return {
            f"{layer['name']}.{name.removesuffix('_l0')}": tensor
            for layer, part in zip(self.layers, self.parts, strict=True)
            for name, tensor in part.named_parameters()
        }

    @without_gradients
    def load(self, tensors: Mapping[str, Any]) -> None:
        """Load the weights of a file; refuses missing and unknown tensors.

        Args:
            tensors: by ``layer.tensor``; arrays or tensors.
        """
        own = self.tensors()
        if strays := sorted(own.keys() ^ tensors.keys()):
            raise PolicyError(f"weights: {strays[0]}: missing from the file, or of no layer")
        for name, tensor in own.items():
            given = torch.as_tensor(tensors[name])
            if given.shape != tensor.shape:
                raise PolicyError(f"weights: {name}: shape {tuple(given.shape)}, {tuple(tensor.shape)} is needed")
            tensor.copy_(given)

    def initial(self, sequences: int) -> Tensor | None:
        """The state that episodes begin with, ``(N, H)``; ``None`` for a network without memory."""
        if not self._state:
            return None
        return torch.zeros(sequences, self._state, device=next(self.parameters()).device)

    def forward(
        self, obs: Tensor, hidden: Tensor | None = None, starts: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Outputs and the state after.

        Args:
            obs: ``(N, F)``, one step; or ``(T, N, F)``, sequences.
            hidden: the state before, ``(N, H)``; ``None``: the initial one.
            starts: ``(T, N)``, where episodes begin: from an empty state. For sequences only.
        """
        state: Any = self.initial(obs.shape[-2]) if hidden is None else hidden
        known = {"observation": obs}
        begin, after = 0, []
        for layer, part in zip(self.layers, self.parts, strict=True):
            x = _gathered(layer["from"], known)
            if layer["kind"] == "gru":
                before = state[:, begin : begin + layer["outputs"]]
                begin += layer["outputs"]
                if obs.dim() == 2:
                    x, last = through(part, x.unsqueeze(0), before, None)
                    x = x[0]
                else:
                    x, last = through(part, x, before, starts)
                after.append(last)
            elif layer["kind"] == "dense":
                x = part(x)
            else:
                lead = x.shape[:-1]
                x = part(x.reshape(-1, *picture(layer))).reshape(*lead, -1)
            activation = _ACTIVATIONS[layer.get("activation", "linear")]
            known[layer["name"]] = activation(x, layer.get("slope", LEAKY_SLOPE))
        return known[self.last], torch.cat(after, -1) if after else None


def _part(layer: Layer) -> nn.Module:
    name, kind, activation = layer["name"], layer["kind"], layer.get("activation", "linear")
    sources(layer)
    if activation not in _ACTIVATIONS:
        raise PolicyError(f"layer {name}: activation {activation!r}: one of {', '.join(_ACTIVATIONS)} is needed")
    if kind == "dense":
        return nn.Linear(layer["inputs"], layer["outputs"])
    if kind == "gru":
        return nn.GRU(layer["inputs"], layer["outputs"])
    if kind not in ("conv1d", "conv2d"):
        raise PolicyError(f"layer {name}: kind {kind!r}: dense, gru, conv1d or conv2d is needed")
    kernel, padding = pairs(layer)
    convolution = nn.Conv1d if kind == "conv1d" else nn.Conv2d
    return convolution(layer["channels"], layer["filters"], kernel, padding=padding)


def _gathered(texts: Sequence[str], known: Mapping[str, Tensor]) -> Tensor:
    if len(texts) == 1 and texts[0] in known:  # the usual case, without a copy
        return known[texts[0]]
    pieces = [known[name][..., piece] for name, piece in sources({"name": "", "from": texts})]
    return pieces[0] if len(pieces) == 1 else torch.cat(pieces, -1)


def through(gru: nn.GRU, x: Tensor, hidden: Tensor, starts: Tensor | None) -> tuple[Tensor, Tensor]:
    """A GRU over sequences in which episodes may begin anywhere; its outputs, and the states at the end.

    The steps after a start become another sequence, from an empty state, so that one call computes all of them.

    Args:
        gru: one layer.
        x: ``(T, N, F)``.
        hidden: ``(N, H)``, before the first step.
        starts: ``(T, N)``, whether an episode begins there.
    """
    if starts is not None:  # an episode that begins with the first step needs no other sequence
        hidden = hidden.masked_fill(starts[0].unsqueeze(1), 0.0)
    if starts is None or not bool(starts[1:].any()):
        out, last = gru(x, hidden.unsqueeze(0).contiguous())
        return out, last[0]
    steps, sequences = starts.shape
    starts = starts.clone()
    starts[0] = False
    time, sequence = starts.nonzero().unbind(1)
    row = torch.arange(steps, device=x.device).unsqueeze(1)
    begun = x[(time + row).clamp(max=steps - 1), sequence]
    states = torch.cat((hidden, hidden.new_zeros(len(time), hidden.shape[1])))
    out, _ = gru(torch.cat((x, begun), 1), states.unsqueeze(0))
    # The start that each step follows; starts are numbered from 1 in order of time, 0 means no start.
    follows = torch.zeros_like(starts, dtype=torch.int64)
    follows[time, sequence] = torch.arange(1, len(time) + 1, device=x.device)
    follows = follows.cummax(0).values
    column = torch.where(follows > 0, sequences + follows - 1, torch.arange(sequences, device=x.device))
    out = out[row - torch.cat((time.new_zeros(1), time))[follows], column]
    return out, out[-1]
