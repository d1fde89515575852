"""Concerto as its paper has it: on traces by the second, at the size that it prints, and with the networks that its
authors tried first; and RL-V on the same links.

The paper prints neither size nor figures of the first networks, which were "far from satisfactory" ([concerto] section
3.2). Ours have about as many weights as our network of two dimensions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from legato.train.recipe import dense
from legato.train.recipes import concerto, rl_v
from legato.train.recipes.concerto import KINDS, OURS, PACKETS, REPORTS, SECONDS, Sizes, slices

SHARE_RATIO = 0.8
"""Of the expert, which "follows the bandwidth but remains slightly lower"."""
ENVS = 2120
"""Calls of 59 decisions in each of 4 loops: 500,320 states."""
_KERNEL = 3
_BY_SECOND: dict[str, Any] = {"by_second": True, "share_ratio": SHARE_RATIO}


def along_time(sizes: Sizes = OURS) -> tuple[dict[str, Any], ...]:
    """Convolutions along time alone: seconds are channels of a row of 60 packets of each kind, then of all kinds
    together, with as many filters as our network of two dimensions."""
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


def fully_connected(sizes: Sizes = OURS) -> tuple[dict[str, Any], ...]:
    """Two layers of ``sizes.hidden`` over all numbers."""
    every = [piece for kind in range(len(KINDS)) for piece in slices(kind)]
    inputs = SECONDS * len(KINDS) * REPORTS * PACKETS
    first = {**dense("numbers", "observation", inputs, sizes.hidden, "leaky_relu"), "from": every}
    hidden = {**dense("hidden", "numbers", sizes.hidden, sizes.hidden, "leaky_relu"), "slope": 0.5}
    return (first, hidden, dense("rates", "hidden", sizes.hidden, 26, "softmax"))


RECIPES = (
    # Capacity is the throughput of each second, as in the paper's section 5.1.
    concerto.recipe(
        "concerto-by-second", "Concerto on 3G, 4G and Wi-Fi traces by the second, as its paper has them", **_BY_SECOND
    ),
    # Some hours of one processor and 4 GB: docs/papers/concerto.md has its measured cost.
    concerto.recipe(
        "concerto-published",
        "Concerto at its paper's size, 2.3 million weights, on 500,000 states: takes hours",
        settings=replace(concerto.SETTINGS, envs=ENVS, minibatch=32),
        sizes=concerto.PUBLISHED,
        **_BY_SECOND,
    ),
    concerto.recipe(
        "concerto-1d-cnn",
        "Concerto by the second with convolutions of one dimension, which its authors tried first",
        layer_table=along_time(),
        **_BY_SECOND,
    ),
    concerto.recipe(
        "concerto-fully-connected",
        "Concerto by the second with a fully connected network, which its authors tried first",
        layer_table=fully_connected(),
        **_BY_SECOND,
    ),
    # "re-trained … using the practical video telephony traces"
    rl_v.recipe(
        "rl-v-by-second", "RL-V on 3G, 4G and Wi-Fi traces by the second, as its paper has them", by_second=True
    ),
)
