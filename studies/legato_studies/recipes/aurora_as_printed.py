"""Aurora as the authors of [nvc-cc] run it: one decision a round trip, from 2.4 Mbit/s on, with its own reward.

A decision a round trip is a sixth of the decisions of 50 ms on these networks: as many of them as fit the 10 hours of
calls that NVC-CC is trained for.
"""

from __future__ import annotations

from dataclasses import replace

from legato.train.recipes import aurora
from legato_studies.recipes import nvc_cc_as_printed

START = {"limits.start_bps": 2_400_000}
"""Ten packets of 1,500 bytes in 50 ms, as their public simulator begins."""

INTERVAL = {"interval_rtt_factor": 1.0}

RECIPE = replace(
    aurora.RECIPE,
    name="aurora-as-printed",
    summary="Aurora on NVC-CC's networks, a decision each round trip, with its own reward: 120,000 decisions",
    manifest={
        **aurora.RECIPE.manifest,
        "observation": {**aurora.RECIPE.manifest["observation"], **INTERVAL},
    },
    # Their public code applies an action unscaled: a deviation of 8 here moves the rate by a fifth.
    settings=replace(
        aurora.RECIPE.settings, steps=120_000, envs=nvc_cc_as_printed.ENVS, rollout=24, minibatch=912,
        initial_action_std=8.0,
    ),
    make_env=lambda envs: nvc_cc_as_printed.calls(
        envs, aurora.CONTROLLER, "aurora-relative", options=START, config=INTERVAL
    ),
    make_evaluation=lambda: nvc_cc_as_printed.held_out(aurora.CONTROLLER, options=START, config=INTERVAL),
    evaluate_every=2,
)  # fmt: skip
