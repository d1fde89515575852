"""`r3net-as-printed` guided towards the quantile 0.25 of the coming capacity: a point of R3Net's frontier."""

from __future__ import annotations

from legato_studies.recipes.r3net_as_printed import recipe

RECIPE = recipe(over_weight=3.0)
