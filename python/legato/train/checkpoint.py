"""A training's state in one file: tensors in safetensors, everything else as JSON in its header. Never pickle.

Written next to the old file and moved over it, so that a kill at any moment leaves one of the two intact.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

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
