"""Aurora as [nvc-cc] runs it for video: trained offline on throughput, latency and loss ([jay2019])."""

from __future__ import annotations

from dataclasses import replace

from legato.train.recipe import Recipe
from legato.train.recipes import nvc_cc

CONTROLLER = "aurora"

RECIPE = Recipe(
    name="aurora",
    summary="Aurora on NVC-CC's networks, with reward eq. (2): 720,000 decisions",
    manifest={
        "controller": CONTROLLER,
        "observation": nvc_cc.RECIPE.manifest["observation"],
        "action": {"map": CONTROLLER, "decide": "value", "range": [-20.0, 20.0]},
    },
    # Aurora's own two hidden layers are of this size too.
    layers=nvc_cc.RECIPE.layers,
    # Exploration and discount are Aurora's own ([jay2019]); an action of 1 moves the rate by 2.5 %.
    settings=replace(
        nvc_cc.RECIPE.settings,
        initial_action_std=1.0,
        discount=0.99,
        gae_lambda=0.95,
        learning_rate=((0, 3e-3), (1, 0)),
    ),
    make_env=lambda envs: nvc_cc.calls(envs, CONTROLLER, "aurora"),
    make_evaluation=lambda: nvc_cc.held_out(CONTROLLER),
    evaluate_every=3,
)
