"""The profile file: a safetensors file of small arrays with one JSON text that describes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from legato import atomic

FORMAT = 1
"""Raised with every change that an older reader would misread."""


def write_profile(path: Path, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write atomically: half a profile is never left behind."""
    text = json.dumps(about, separators=(",", ":"))
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    atomic.write_bytes(path, save(whole, {"legato_profile": text}))
