"""R3Net on its printed networks by PPO alone, as its paper trains: no guidance, Adam at 3e-5, thirty million decisions.

Nothing follows a schedule, so a training that is stopped early is a shorter one and not an unfinished one.
"""

from __future__ import annotations

from dataclasses import fields, replace

from legato.train import ppo
from legato_studies.recipes import r3net_as_printed

_GUIDED = r3net_as_printed.RECIPE.settings
_OURS = {field.name: getattr(_GUIDED, field.name) for field in fields(ppo.Settings)}

RECIPE = replace(
    r3net_as_printed.RECIPE,
    name="r3net-unguided",
    summary="R3Net on networks as printed, by PPO alone at the printed learning rate: 30,240,000 decisions",
    settings=ppo.Settings(
        **_OURS
        | {
            "steps": 30_240_000,
            # [r3net] §2.3: Adam with 3e-5. The width of exploration is learned, as in the library that it names.
            "learning_rate": 3e-5,
            "action_std": None,
            "initial_action_std": 0.3,
        }
    ),
    # An evaluation plays as much as eight rounds.
    evaluate_every=60,
)
