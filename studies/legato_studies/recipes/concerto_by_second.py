"""Concerto on links as its paper has them, whose capacity is the throughput of each second ([concerto] section 5.1)."""

from __future__ import annotations

from legato.train.recipes import concerto

SHARE_RATIO = 0.8
"""Of the expert, which "follows the bandwidth but remains slightly lower"."""

RECIPE = concerto.recipe(
    "concerto-by-second",
    "Concerto on 3G, 4G and Wi-Fi traces by the second, as its paper has them",
    by_second=True,
    share_ratio=SHARE_RATIO,
)
