"""`legato`'s residual: a network that bends frame budget, utilisation, skipping and rises, within bounds."""

from __future__ import annotations

from typing import Any

from legato.train.evolution import Recipe, Settings

FEATURES = (
    "wait_over_budget",
    "log_fast_over_slow",
    "belief_spread",
    "log_belief_over_capacity",
    "log_low_belief_over_capacity",
    "expected_loss",
    "feedback_lag",
    "log_packets_per_frame",
    "log_frame_over_limit",
    "short_volatility",
    "long_volatility",
    "short_worst_wait",
    "long_worst_wait",
    "skipped_ratio",
)
"""As `crates/control/src/controllers/legato/residual.rs` has them."""
OUTPUTS = 4


def _dense(name: str, source: str, inputs: int, outputs: int) -> dict[str, Any]:
    return {"name": name, "kind": "dense", "from": [source], "inputs": inputs, "outputs": outputs, "activation": "tanh"}


def _judge() -> Any:
    from legato.train.residual_calls import ResidualJudge

    return ResidualJudge()


RECIPE = Recipe(
    name="legato-residual",
    summary="legato's residual, by evolution on the links that legato was tuned on: 7 rounds of 60 policies",
    manifest={
        "controller": "legato",
        "observation": {"features": list(FEATURES), "history": 1},
        "action": {"map": "legato-residual", "decide": "values", "range": [-1.0, 1.0]},
    },
    layers=(_dense("out", "observation", len(FEATURES), OUTPUTS),),
    settings=Settings(rounds=7, pairs=30, distance=0.3, learning_rate=0.3),
    make_judge=_judge,
    evaluate_every=1,
)
