"""Concerto at the size that its paper states, on half a million states of traces by the second.

Some hours of one processor and 4 GB: docs/papers/concerto.md has its measured cost.
"""

from __future__ import annotations

from dataclasses import replace

from legato.train.recipes import concerto
from legato_studies.recipes.concerto_by_second import SHARE_RATIO

ENVS = 2120
"""Calls of 59 decisions in each of 4 loops: 500,320 states."""

RECIPE = concerto.recipe(
    "concerto-published",
    "Concerto at its paper's size, 2.3 million weights, on 500,000 states: takes hours",
    settings=replace(concerto.SETTINGS, envs=ENVS, minibatch=32),
    sizes=concerto.PUBLISHED,
    by_second=True,
    share_ratio=SHARE_RATIO,
)
