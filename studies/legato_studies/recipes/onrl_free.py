"""OnRL without its safeguard, in training and after: what the safeguard costs and gives ([nvc-cc] Fig. 5 and 7)."""

from __future__ import annotations

from dataclasses import replace

from legato.train.recipes import nvc_cc, onrl

RECIPE = replace(
    onrl.RECIPE,
    name="onrl-free",
    summary="OnRL on NVC-CC's networks without its safeguard, with reward eq. (2): 720,000 decisions",
    make_env=lambda envs: nvc_cc.calls(envs, onrl.CONTROLLER, "aurora"),
    make_evaluation=lambda: nvc_cc.held_out(onrl.CONTROLLER),
)
