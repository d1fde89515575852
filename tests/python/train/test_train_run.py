"""A training run is a folder: its content, its safety under a kill, and its refusals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)

from safetensors.numpy import load_file  # noqa: E402

from legato.errors import TrainingError  # noqa: E402
from legato.train import a2c, checkpoint, imitation, ppo  # noqa: E402
from legato.train.evaluation import Evaluator  # noqa: E402
from legato.train.recipe import Recipe, Situation, load  # noqa: E402
from legato.train.run import BEST, CHECKPOINT, PROGRESS, train  # noqa: E402
from toy_link import MOVES, ToyLink, small_network  # noqa: E402

PPO = ppo.Settings(steps=20_480, envs=32, rollout=32, minibatch=256, epochs=4, discount=0.9, learning_rate=5e-3)
A2C = a2c.Settings(steps=10_240, envs=32, rollout=32)
IMITATION = imitation.Settings(
    rates_mbps=tuple(MOVES + 0.5), envs=16, rollout=40, loops=4, epochs=3, minibatch=64, smooth_weight=0.01
)


def recipe(settings: Any = PPO, **changes: Any) -> Recipe:
    """A training of the toy link."""
    choices = not isinstance(settings, ppo.Settings)
    decide = {"decide": "argmax"} if choices else {"decide": "value", "range": [-1.0, 1.0]}
    whole: dict[str, Any] = {
        "name": "toy",
        "summary": "a link with the best policy known",
        "manifest": {
            "controller": "toy",
            "observation": {"features": ["distance", "rate"], "history": 1},
            "action": {"map": "toy", **decide},
        },
        "layers": small_network(len(MOVES) if choices else 1),
        "settings": settings,
        "make_env": lambda envs: ToyLink(envs, choices=choices),
        "make_evaluation": lambda: ToyLink(20, choices=choices),
        "evaluate_every": 2,
        "leg_rounds": 5,
    }
    return Recipe(**(whole | changes))


def weights(folder: Path, name: str = CHECKPOINT) -> dict[str, np.ndarray]:
    return load_file(folder / name)


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def test_a_run_folder_tells_what_was_done(tmp_path: Path) -> None:
    seen = []
    done = train(recipe(), tmp_path / "run", seed=3, on_progress=seen.append)
    folder = tmp_path / "run"
    config = tomllib.loads((folder / "config.toml").read_text())
    assert (config["recipe"], config["algorithm"], config["seed"]) == ("toy", "ppo", 3)
    assert config["settings"]["minibatch"] == 256
    rows = [json.loads(line) for line in (folder / PROGRESS).read_text().splitlines()]
    assert [row["round"] for row in rows] == list(range(1, 21))
    assert rows[-1]["steps"] == rows[-1]["steps_in_all"] == done.steps == 20_480
    evaluated = [row["evaluation_reward"] for row in rows if "evaluation_reward" in row]
    assert len(evaluated) == 10
    assert done.best_reward == max(evaluated) > 0.9
    assert done.last_reward == evaluated[-1]
    assert len(seen) == 20 and seen[-1].steps_done == 20_480
    assert list((folder / "tensorboard").glob("events*"))
    for which in ("best", "last"):
        policy = tomllib.loads((folder / "policy" / which / "policy.toml").read_text())
        assert policy["controller"] == "toy"
        assert policy["trained"]["seed"] == 3
        assert policy["trained"]["command"] == "legato train toy --seed 3"
        deployed = load_file(folder / "policy" / which / "weights.safetensors")
        assert {name: array.shape for name, array in deployed.items()}["hidden1.weight"] == (16, 2)
    assert not list(folder.rglob("*.pkl")) and not list(folder.rglob("*.pt"))


def test_a_policy_tells_how_many_decisions_were_asked_for_where_they_are_not_the_recipes(tmp_path: Path) -> None:
    train(recipe(), tmp_path / "run", seed=3, steps=2_048)
    policy = tomllib.loads((tmp_path / "run/policy/last/policy.toml").read_text())
    assert policy["trained"]["command"] == "legato train toy --seed 3 --steps 2048"


@pytest.mark.parametrize("settings", [PPO, A2C, IMITATION], ids=["ppo", "a2c", "imitation"])
def test_a_killed_run_goes_on_to_the_same_weights(settings: Any, tmp_path: Path) -> None:
    leg_rounds = settings.epochs if settings is IMITATION else 3
    whole = recipe(settings, leg_rounds=leg_rounds)
    train(whole, tmp_path / "whole")

    class KilledError(Exception):
        pass

    def kill(progress: Any) -> None:
        if progress.steps_done > 0.6 * progress.steps:
            raise KilledError

    with pytest.raises(KilledError):
        train(whole, tmp_path / "killed", on_progress=kill)
    (tmp_path / "killed" / PROGRESS).open("a").write('{"round": 7, "st')  # cut off in the middle of a line
    train(whole, tmp_path / "killed", resume=True)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "killed"))
    assert same(weights(tmp_path / "whole", BEST), weights(tmp_path / "killed", BEST))
    whole_rows, killed_rows = (
        [json.loads(line) for line in (tmp_path / name / PROGRESS).read_text().splitlines()]
        for name in ("whole", "killed")
    )
    for row in (*whole_rows, *killed_rows):
        del row["wall_s"]
    assert whole_rows == killed_rows


_KILLED = """
import sys; sys.path.insert(0, sys.argv[2])
from test_train_run import recipe, train
train(recipe(), sys.argv[1])
"""


@pytest.mark.slow
def test_a_process_killed_outright_loses_nothing(tmp_path: Path) -> None:
    """SIGKILL as soon as there is a checkpoint; the run is taken up in another process."""
    folder = tmp_path / "killed"
    command = [sys.executable, "-c", _KILLED, str(folder), str(Path(__file__).parent)]
    process = subprocess.Popen(command)
    deadline = time.monotonic() + 120
    while not (folder / CHECKPOINT).exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    _, facts = checkpoint.load(folder / CHECKPOINT)
    assert facts["learner"]["rounds_done"] < recipe().settings.rounds
    train(recipe(), folder, resume=True)
    train(recipe(), tmp_path / "whole")
    assert same(weights(folder), weights(tmp_path / "whole"))


def test_each_leg_meets_other_calls_and_every_run_the_same(tmp_path: Path) -> None:
    made: list[ToyLink] = []

    def make(envs: int) -> ToyLink:
        made.append(ToyLink(envs))
        return made[-1]

    for name in ("one", "two"):
        train(recipe(make_env=make, settings=replace(PPO, steps=10_240)), tmp_path / name)
    seeds = [[seed for seed, _ in env.resets] for env in made]
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == len(seeds[0]) == 2


def test_a_curriculum_chooses_the_options_of_each_leg(tmp_path: Path) -> None:
    env = ToyLink(32)
    situations: list[Situation] = []

    def harder(situation: Situation) -> dict[str, Any]:
        situations.append(situation)
        return {"difficulty": situation.share_done}

    train(recipe(make_env=lambda envs: env, curriculum=harder), tmp_path / "run")
    assert [options for _, options in env.resets] == [{"difficulty": share} for share in (0.0, 0.25, 0.5, 0.75)]
    assert [situation.leg for situation in situations] == [0, 1, 2, 3]


def test_what_cannot_be_gone_on_with_is_refused(tmp_path: Path) -> None:
    short = recipe(settings=replace(PPO, steps=2_048))
    train(short, tmp_path / "run")
    with pytest.raises(TrainingError, match="holds a training already"):
        train(short, tmp_path / "run")
    with pytest.raises(TrainingError, match="is of another recipe, seed or setting"):
        train(short, tmp_path / "run", seed=2, resume=True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    with pytest.raises(TrainingError, match="is not empty and holds no training"):
        train(short, tmp_path / "full")
    (tmp_path / "run" / CHECKPOINT).write_bytes(b"\x80\x04pickle")
    with pytest.raises(TrainingError, match=f"{CHECKPOINT}: not a checkpoint"):
        train(short, tmp_path / "run", resume=True)
    with pytest.raises(TrainingError, match="no recipe is named vegas"):
        load("vegas")


class WideActor:
    """Of an evaluation whose first operation is one that OpenMP would share among threads."""

    def __init__(self) -> None:
        self.layer = torch.nn.Linear(30, 32)

    def initial(self, envs: int) -> None:
        """No state."""

    def best(self, obs: Any, hidden: None) -> tuple[Any, None]:
        return self.layer(obs[:, :1].expand(-1, 30).contiguous())[:, :1], None

    def to_env(self, action: Any) -> np.ndarray:
        return action.numpy()


def test_an_evaluation_uses_one_thread_as_a_training_does() -> None:
    """Otherwise a second one waits for work through every evaluation, spinning."""
    torch.set_num_threads(1)
    evaluator = Evaluator(lambda: ToyLink(50, length=1000), 1)
    own_s, all_s = evaluator._thread.submit(time.thread_time).result(), time.process_time()
    evaluator.begin(WideActor()).result()
    own_s, all_s = evaluator._thread.submit(time.thread_time).result() - own_s, time.process_time() - all_s
    evaluator.close()
    assert all_s < 1.5 * own_s
