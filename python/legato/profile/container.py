"""The profile file: a safetensors file of small arrays with one JSON text of what they are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from legato import atomic

_TYPES = {np.dtype("<f2"): "F16", np.dtype("<f4"): "F32", np.dtype("<u4"): "U32", np.dtype("u1"): "U8"}
FORMAT = 1
"""Raised with every change that an older reader would misread."""


def write_profile(path: Path, about: dict, arrays: dict[str, np.ndarray]) -> None:
    """Write atomically: half a profile is never left behind."""
    header: dict[str, object] = {"__metadata__": {"legato_profile": json.dumps(about, separators=(",", ":"))}}
    blocks, offset = [], 0
    # Widest type first keeps every array aligned, as readers expect.
    for name, array in sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0])):
        block = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": _TYPES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + len(block)],
        }
        blocks.append(block)
        offset += len(block)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    atomic.write_bytes(path, len(text).to_bytes(8, "little") + text + b"".join(blocks))
