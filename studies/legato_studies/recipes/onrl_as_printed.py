"""OnRL with its own reward, under a safeguard that takes over as often as [nvc-cc] Fig. 6 shows."""

from __future__ import annotations

from dataclasses import replace

from legato.train.recipes import onrl
from legato_studies.recipes import nvc_cc_as_printed

SAFEGUARD = {
    "jitter": "packets",
    "n_std": 0.5,
    "window_s": 0.2,
    "min_threshold_ms": 0.1,
    "interval_ms": 20,
    "until_drained": False,
}

RECIPE = replace(
    onrl.RECIPE,
    name="onrl-as-printed",
    summary="OnRL on NVC-CC's networks with its own reward, under a safeguard that fires often: 720,000 decisions",
    settings=replace(onrl.RECIPE.settings, envs=nvc_cc_as_printed.ENVS),
    make_env=lambda envs: nvc_cc_as_printed.calls(envs, onrl.CONTROLLER, "onrl-own", SAFEGUARD),
    make_evaluation=lambda: nvc_cc_as_printed.held_out(onrl.CONTROLLER, SAFEGUARD),
)
