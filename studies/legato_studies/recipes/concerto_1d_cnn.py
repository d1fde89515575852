"""Concerto with convolutions along time alone, which its authors tried first: "far from satisfactory" ([concerto] 3.2).

The paper prints neither its size nor its figures. Ours convolves the 60 packets of each kind, then all kinds together,
with as many filters as our network of two dimensions.
"""

from __future__ import annotations

from typing import Any

from legato.train.recipe import dense
from legato.train.recipes import concerto
from legato.train.recipes.concerto import KINDS, OURS, PACKETS, REPORTS, SECONDS, Sizes, slices
from legato_studies.recipes.concerto_by_second import SHARE_RATIO

_KERNEL = 3


def layers(sizes: Sizes = OURS) -> tuple[dict[str, Any], ...]:
    """Seconds are channels of a row of 60 packets."""
    alike = {"kind": "conv1d", "kernel": _KERNEL, "activation": "leaky_relu"}
    length = REPORTS * PACKETS
    first = [
        {"name": name, "from": slices(kind), "channels": SECONDS, "length": length, "filters": sizes.filters, **alike}
        for kind, name in enumerate(KINDS)
    ]
    length -= _KERNEL - 1
    channels = sizes.filters * len(KINDS)
    fusion = {
        "name": "fusion", "from": list(KINDS), "channels": channels, "length": length, "filters": sizes.fused, **alike
    }  # fmt: skip
    outputs = sizes.fused * (length - _KERNEL + 1)
    hidden = {**dense("hidden", "fusion", outputs, sizes.hidden, "leaky_relu"), "slope": 0.5}
    return (*first, fusion, hidden, dense("rates", "hidden", sizes.hidden, 26, "softmax"))


RECIPE = concerto.recipe(
    "concerto-1d-cnn",
    "Concerto by the second with convolutions of one dimension, which its authors tried first",
    layer_table=layers(),
    by_second=True,
    share_ratio=SHARE_RATIO,
)
