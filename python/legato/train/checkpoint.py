"""A training's state in one file: tensors in safetensors, everything else as JSON in its header. Never pickle.

Written beside the old file and moved over it, so that a kill at any moment leaves one of the two intact.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Generator, Tensor, nn
from torch.optim import Optimizer

from legato import atomic
from legato.errors import TrainingError

_FORMAT = 2
_HEADER = "legato_training"


def save(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
    """Write a checkpoint; ``facts`` is anything that JSON can represent."""
    header = json.dumps({"format": _FORMAT, **facts})
    with atomic.replacing(path) as partial:
        save_file({name: t.detach().contiguous() for name, t in tensors.items()}, partial, {_HEADER: header})


def load(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What :func:`save` was given."""
    try:
        with safe_open(path, framework="pt") as file:
            header = (file.metadata() or {}).get(_HEADER)
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (OSError, SafetensorError) as error:
        raise TrainingError(f"{path}: not a checkpoint: {error}") from error
    if header is None:
        raise TrainingError(f"{path}: safetensors, but no checkpoint of a training")
    facts = json.loads(header)
    if facts.pop("format", None) != _FORMAT:
        raise TrainingError(f"{path}: format is not {_FORMAT}", "it was written by another version of Legato")
    return tensors, facts


def state(agent: nn.Module, optimiser: Optimizer, random: Generator) -> dict[str, Tensor]:
    """What every learner saves, by name: weights, the optimiser's moments, the random state."""
    tensors = {f"agent.{name}": tensor for name, tensor in agent.state_dict().items()}
    for index, moments in optimiser.state_dict()["state"].items():
        tensors |= {f"adam.{index}.{name}": tensor for name, tensor in moments.items()}
    return {**tensors, "random": random.get_state()}


def restore_state(tensors: Mapping[str, Tensor], agent: nn.Module, optimiser: Optimizer, random: Generator) -> None:
    """Restore what :func:`state` returned."""
    agent.load_state_dict({name[6:]: tensor for name, tensor in tensors.items() if name.startswith("agent.")})
    moments: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("adam."):
            _, index, what = name.split(".")
            moments.setdefault(int(index), {})[what] = tensor
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": moments, "param_groups": groups})
    random.set_state(tensors["random"])
