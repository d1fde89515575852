"""Evolution strategies: they find what is best, and a run that was stopped goes on as if it had not been."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from legato import _core
from legato.errors import TrainingError
from legato.policy import policy_folder
from legato.train import evolution
from legato.train.evolution import Recipe, Settings
from legato.train.run_folder import CHECKPOINT, PROGRESS

BEST = np.array([0.5, -0.25])
"""What the outputs should be, whatever is observed."""
OBSERVED = np.array([1.0, -0.5, 0.25], dtype=np.float32)


class Target:
    """What a policy is worth falls with the distance of its outputs from the best ones."""

    def worth(self, policies: Sequence[Path], random: np.random.Generator) -> list[float]:
        luck = random.normal()  # the same for all: it must not matter
        return [luck - self.distance(policy) for policy in policies]

    def evaluation(self, policy: Path) -> dict[str, float]:
        return {"reward": -self.distance(policy)}

    def distance(self, policy: Path) -> float:
        manifest, weights = (policy / name for name in (policy_folder.MANIFEST, policy_folder.WEIGHTS))
        outputs = _core.Policy(manifest.read_text(), weights.read_bytes()).outputs(OBSERVED)
        return float(np.abs(np.array(outputs) - BEST).sum())


def dense(name: str, source: str, inputs: int, outputs: int) -> dict[str, object]:
    return {"name": name, "kind": "dense", "from": [source], "inputs": inputs, "outputs": outputs, "activation": "tanh"}


RECIPE = Recipe(
    name="toy",
    summary="two outputs of three inputs",
    manifest={
        "controller": "toy",
        "observation": {"features": ["a", "b", "c"], "history": 1},
        "action": {"map": "toy", "decide": "values"},
    },
    layers=(dense("hidden", "observation", 3, 4), dense("out", "hidden", 4, 2)),
    settings=Settings(rounds=40, pairs=8, distance=0.1, learning_rate=0.2),
    make_judge=Target,
)


def test_it_begins_with_outputs_of_zero_and_finds_the_best(tmp_path: Path):
    trained = evolution.train(RECIPE, tmp_path / "run")
    rows = [json.loads(line) for line in (tmp_path / "run" / PROGRESS).read_text().splitlines()]
    assert [row["round"] for row in rows] == list(range(41))
    assert rows[0]["evaluation_reward"] == pytest.approx(-np.abs(BEST).sum())
    assert trained.steps == 640 and rows[-1]["steps"] == rows[-1]["steps_in_all"] == 640
    assert trained.best_reward > -0.1
    manifest, _, _ = policy_folder.read(tmp_path / "run" / "policy" / "best")
    assert manifest["trained"]["command"] == "legato train toy --seed 1"
    assert -Target().distance(tmp_path / "run" / "policy" / "best") == pytest.approx(trained.best_reward)


def test_a_run_that_was_stopped_ends_with_the_same_weights(tmp_path: Path):
    class Stops(Target):
        calls = 0

        def worth(self, policies: Sequence[Path], random: np.random.Generator) -> list[float]:
            Stops.calls += 1
            if Stops.calls == 8:
                raise KeyboardInterrupt
            return super().worth(policies, random)

    short = replace(RECIPE, settings=replace(RECIPE.settings, rounds=12))
    evolution.train(short, tmp_path / "whole", seed=3)
    with pytest.raises(KeyboardInterrupt):
        evolution.train(replace(short, make_judge=Stops), tmp_path / "stopped", seed=3)
    evolution.train(short, tmp_path / "stopped", seed=3, resume=True)
    whole, stopped = (load_file(tmp_path / name / CHECKPOINT) for name in ("whole", "stopped"))
    assert whole.keys() == stopped.keys() and all(np.array_equal(whole[key], stopped[key]) for key in whole)
    lines = [(tmp_path / name / PROGRESS).read_text().splitlines() for name in ("whole", "stopped")]
    rounds, again = ([json.loads(line) | {"wall_s": 0} for line in each] for each in lines)
    assert rounds == again


def test_another_seed_finds_other_weights(tmp_path: Path):
    short = replace(RECIPE, settings=replace(RECIPE.settings, rounds=2))
    for seed in (1, 2):
        evolution.train(short, tmp_path / str(seed), seed=seed)
    first, second = (load_file(tmp_path / name / CHECKPOINT)["weights"] for name in ("1", "2"))
    assert not np.array_equal(first, second)


def test_what_cannot_be_evolved_or_resumed_is_refused(tmp_path: Path):
    layers = ({**dense("out", "observation", 3, 2), "kind": "gru"},)
    with pytest.raises(TrainingError, match="layer out: kind = gru"):
        evolution.train(replace(RECIPE, layers=layers), tmp_path / "gru")
    short = replace(RECIPE, settings=replace(RECIPE.settings, rounds=1))
    evolution.train(short, tmp_path / "run")
    with pytest.raises(TrainingError, match="holds a training already"):
        evolution.train(short, tmp_path / "run")
    (tmp_path / "run" / CHECKPOINT).write_bytes(b"no tensors")
    with pytest.raises(TrainingError, match="not a checkpoint of an evolution"):
        evolution.train(short, tmp_path / "run", resume=True)
