"""CLCC with the numbers of its Table II: 180 updates of 15 epochs over 18,000 decisions each.

Only the noise is held for a second, as in :mod:`legato.train.recipes.clcc`, which says why. It takes a quarter of an
hour to half an hour of one core; a run that is stopped continues with ``--resume``.
"""

from __future__ import annotations

from dataclasses import replace

from legato_studies.recipes import clcc_table_iii

UPDATES = 180
DECISIONS = 18_000


SECOND, THIRD = 51 / UPDATES, 111 / UPDATES
"""The shares of the training after which Table II has other numbers; it counts updates from 0 to 180."""

# [clcc] Table II: exploration 0.25 to 0.15, 0.15 to 0.1, 0.1 to 0.01, learning rate 3e-3, 3e-4, 3e-5, for updates 0 to
# 50, 51 to 110, 111 to 180; 15 epochs; clip 0.1; Adam betas 0.9 and 0.999; 18,000 samples per update.
RECIPE = replace(
    clcc_table_iii.RECIPE,
    name="clcc-printed",
    summary="CLCC with Table II's numbers on Table III alone, 720 rows: 3,240,000 decisions, 15 epochs",
    settings=replace(
        clcc_table_iii.RECIPE.settings,
        steps=UPDATES * DECISIONS,
        envs=80,
        rollout=DECISIONS // 80,  # whole calls of 45 s
        minibatch=2250,
        epochs=15,
        action_std=((0, 0.25), (SECOND, 0.15), (THIRD, 0.1), (1, 0.01)),
        learning_rate=(
            (0, 3e-3),
            (SECOND, 3e-3),
            (SECOND, 3e-4),
            (THIRD, 3e-4),
            (THIRD, 3e-5),
            (1, 3e-5),
        ),
        clip=0.1,
    ),
)
