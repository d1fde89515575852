"""Concerto without convolutions, which its authors tried first: "far from satisfactory" ([concerto] section 3.2).

The paper prints neither its size nor its figures. Ours has two layers over all numbers, and about as many weights as
our network with convolutions.
"""

from __future__ import annotations

from typing import Any

from legato.train.recipe import dense
from legato.train.recipes import concerto
from legato.train.recipes.concerto import KINDS, OURS, PACKETS, REPORTS, SECONDS, Sizes, slices
from legato_studies.recipes.concerto_by_second import SHARE_RATIO


def layers(sizes: Sizes = OURS) -> tuple[dict[str, Any], ...]:
    """Two layers of ``sizes.hidden``."""
    every = [piece for kind in range(len(KINDS)) for piece in slices(kind)]
    inputs = SECONDS * len(KINDS) * REPORTS * PACKETS
    first = {**dense("numbers", "observation", inputs, sizes.hidden, "leaky_relu"), "from": every}
    hidden = {**dense("hidden", "numbers", sizes.hidden, sizes.hidden, "leaky_relu"), "slope": 0.5}
    return (first, hidden, dense("rates", "hidden", sizes.hidden, 26, "softmax"))


RECIPE = concerto.recipe(
    "concerto-fully-connected",
    "Concerto by the second with a fully connected network, which its authors tried first",
    layer_table=layers(),
    by_second=True,
    share_ratio=SHARE_RATIO,
)
