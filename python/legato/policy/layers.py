"""A network as ``policy.toml`` describes it: a table of layers, and the meaning of its entries.

The kinds, their keys and their tensors are in docs/reference/policy.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from legato.errors import PolicyError

Layer = Mapping[str, Any]

LAYER_NORM_EPSILON = 1e-5
"""Of ``layer_norm`` where the table names none."""

LEAKY_SLOPE = 0.01
"""Of ``leaky_relu`` where the table names none."""

_SOURCE = re.compile(r"(?P<name>\w+)(?:\[(?P<start>\d+):(?P<end>\d+)\])?")


def sources(layer: Layer) -> list[tuple[str, slice]]:
    """Where a layer takes its input from: names, and which of their values."""
    found = []
    for text in layer["from"]:
        match = _SOURCE.fullmatch(text)
        if match is None:
            raise PolicyError(f"layer {layer['name']}: from {text!r}: NAME or NAME[START:END] is needed")
        start, end = match["start"], match["end"]
        found.append((match["name"], slice(None) if start is None else slice(int(start), int(end))))
    return found


def outputs(layer: Layer) -> int:
    """How many values a layer returns."""
    if layer["kind"] in ("dense", "gru"):
        return int(layer["outputs"])
    if layer["kind"] in ("layer_norm", "scale"):
        return int(layer["inputs"])
    if layer["kind"] == "dot":
        return 1
    _, *sides = picture(layer)
    kernel, padding = pairs(layer)
    places = (side + 2 * pad - size + 1 for side, pad, size in zip(sides, padding, kernel, strict=True))
    return int(layer["filters"]) * math.prod(places)


def picture(layer: Layer) -> tuple[int, ...]:
    """Channels and sides of a convolution's input."""
    sides = ("length",) if layer["kind"] == "conv1d" else ("height", "width")
    return (layer["channels"], *(layer[side] for side in sides))


def pairs(layer: Layer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Kernel and padding, a number for each side."""
    if layer["kind"] == "conv1d":
        return (layer["kernel"],), (layer.get("padding", 0),)
    return tuple(layer["kernel"]), tuple(layer.get("padding", (0, 0)))
