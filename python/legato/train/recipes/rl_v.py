"""RL-V: Concerto's input and output, Pensieve's network, learned by reward ([concerto] section 5.1)."""

from __future__ import annotations

from typing import Any

from legato.links import TUNED, VALIDATION
from legato.train.a2c import Settings
from legato.train.recipe import Recipe, dense
from legato.train.recipes.concerto import KINDS, MANIFEST, SECONDS, slices

CONTROLLER = "rl-v"
_LENGTH = 60
_KERNEL = 4
FILTERS = 16
"""Pensieve has 128; an eighth of them trains in an eighth of the time."""
_HIDDEN = 128


def _layers() -> tuple[dict[str, Any], ...]:
    """Pensieve's: a one-dimensional convolution for each kind, a dense layer of 128 over all of them, a softmax."""
    first = [
        {
            "name": kind,
            "kind": "conv1d",
            "from": slices(place),
            "channels": SECONDS,
            "length": _LENGTH,
            "filters": FILTERS,
            "kernel": _KERNEL,
            "activation": "relu",
        }
        for place, kind in enumerate(KINDS)
    ]
    outputs = len(KINDS) * FILTERS * (_LENGTH - _KERNEL + 1)
    hidden = {**dense("hidden", KINDS[0], outputs, _HIDDEN, "relu"), "from": list(KINDS)}
    return (*first, hidden, dense("rates", "hidden", _HIDDEN, 26, "softmax"))


def recipe(name: str, summary: str, *, by_second: bool = False) -> Recipe:
    """The recipe; ``by_second``: on traces whose rate is the mean of each second, as [concerto]'s are."""

    def calls(envs: int, part: Any) -> Any:
        from legato.train import mobile_calls

        return mobile_calls.calls(envs, CONTROLLER, part, by_second=by_second)

    return Recipe(
        name=name,
        summary=summary,
        manifest={**MANIFEST, "controller": CONTROLLER, "action": {"map": CONTROLLER, "decide": "argmax"}},
        layers=_layers(),
        settings=Settings(
            steps=150_000,
            envs=24,
            rollout=10,
            learning_rate=((0.0, 1e-3), (1.0, 1e-4)),
            discount=0.9,
            entropy_weight=((0.0, 0.02), (1.0, 0.001)),
        ),
        make_env=lambda envs: calls(envs, TUNED),
        make_evaluation=lambda: calls(96, VALIDATION),
        evaluate_every=60,
        leg_rounds=120,
    )


RECIPE = recipe(CONTROLLER, "RL-V on the same calls as Concerto, with the reward QoE_p")
