"""Aurora as [nvc-cc] runs it for video: trained offline on throughput, latency and loss ([jay2019])."""

from __future__ import annotations

from dataclasses import replace

from legato.train.recipe import Recipe
from legato.train.recipes import nvc_cc

CONTROLLER = "aurora"

RECIPE = Recipe(
    name="aurora",
    summary="Aurora on NVC-CC's networks, with reward eq. (2): 720,000 decisions",
    cites=("jay2019", "nvc-cc"),
    manifest={
        "controller": CONTROLLER,
        "observation": nvc_cc.RECIPE.manifest["observation"],
        "action": {"map": CONTROLLER, "decide": "value", "range": [-1.0, 1.0]},
    },
    # Aurora's own two hidden layers are of this size too.
    layers=nvc_cc.RECIPE.layers,
    # Aurora's rate moves by at most 2.5 % a decision, so that what an answer is worth shows later.
    settings=replace(nvc_cc.RECIPE.settings, discount=0.99),
    make_env=lambda envs: nvc_cc.calls(envs, CONTROLLER, "aurora"),
    # [nvc-cc] Fig. 10 judges all by eq. (3), and so the best of a training is chosen by it.
    make_evaluation=lambda: nvc_cc.calls(50, CONTROLLER, "nvc-cc"),
    evaluate_every=3,
)
