"""RL-V on the links of ``concerto-by-second``: "re-trained … using the practical video telephony traces"."""

from __future__ import annotations

from legato.train.recipes import rl_v

RECIPE = rl_v.recipe(
    "rl-v-by-second", "RL-V on 3G, 4G and Wi-Fi traces by the second, as its paper has them", by_second=True
)
