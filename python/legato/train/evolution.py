"""Evolution strategies: a small network is trained by whole calls, without gradients and without torch's learners.

After [salimans2017]. A round draws directions in the space of the weights, plays the same calls with the weights moved
along each direction and against it, and takes a step of a given length along the mean of the directions weighted by
what they gained. Directions of a round are at right angles to each other, so that none is measured twice; the step
remembers those before it. What a call is worth is the recipe's business: here only numbers come back. All randomness
of a round is drawn from the seed and the round's number, so that a run that was stopped goes on as if it had not been.
"""

from __future__ import annotations

import dataclasses
import json
import math
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from legato import atomic
from legato.errors import TrainingError
from legato.policy import policy_folder
from legato.policy.layers import Layer
from legato.train.run_folder import CHECKPOINT, PROGRESS, Progress, Trained, keep_lines, open_folder

Weights = npt.NDArray[np.float64]
Tensors = dict[str, npt.NDArray[np.float32]]


class Judge(Protocol):
    """Plays calls with several policies, and says what each is worth."""

    @abstractmethod
    def worth(self, policies: Sequence[Path], random: np.random.Generator) -> list[float]:
        """Of each policy folder, over calls that ``random`` draws: the same for all."""

    @abstractmethod
    def evaluation(self, policy: Path) -> dict[str, float]:
        """Figures over the calls of the evaluation, which are always the same; ``reward`` is the one that decides."""


@dataclass(frozen=True)
class Settings:
    """Numbers of the algorithm."""

    rounds: int
    pairs: int
    """Directions of a round, at most as many as there are weights; each is played forth and back."""
    distance: float
    """How far the weights are moved along a direction."""
    learning_rate: float
    """The length of the first round's step; falls linearly to a tenth."""
    memory_ratio: float = 0.8
    """What is left of the steps before."""

    @property
    def steps(self) -> int:
        """Policies played in all rounds."""
        return self.rounds * 2 * self.pairs


@dataclass(frozen=True)
class Recipe:
    """How a policy is evolved."""

    name: str
    summary: str
    """One line: what is trained, on what, with which reward."""
    manifest: Mapping[str, Any]
    """What policy.toml states of the controller: ``controller``, ``[observation]`` and ``[action]``."""
    layers: Sequence[Layer]
    """Dense layers, as in policy.toml; the last one begins at zero."""
    settings: Settings
    make_judge: Callable[[], Judge]
    evaluate_every: int = 5
    """Rounds between two evaluations; one precedes the first round, one follows the last."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further entries of the policy's ``[trained]`` table."""


def train(
    recipe: Recipe,
    folder: str | Path,
    *,
    seed: int = 1,
    steps: int | None = None,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Trained:
    """Evolve a recipe's policy.

    Args:
        recipe: what to train.
        folder: the run folder; it must not hold another run.
        seed: of weights, directions and calls.
        steps: policies to play, instead of the recipe's: whole rounds, one at least.
        resume: continue the folder's run, which must be of the same recipe, seed and settings.
        on_progress: called after each round.
    """
    settings = recipe.settings
    if steps is not None:
        settings = dataclasses.replace(settings, rounds=max(1, steps // (2 * settings.pairs)))
    folder = Path(folder)
    config = {"recipe": recipe.name, "algorithm": "evolution", "seed": seed, "evaluate_every": recipe.evaluate_every}
    open_folder(folder, {**config, "settings": dataclasses.asdict(settings)}, resume=resume)
    return _Run(recipe, settings, seed, folder).to_the_end(on_progress or (lambda _: None))


@dataclass
class _State:
    """What a run is resumed from."""

    weights: Weights
    course: Weights
    """Where the last steps led."""
    best: Weights
    rounds_done: int = 0
    best_rounds: int = 0
    best_reward: float = math.nan
    last_reward: float = math.nan

    ARRAYS = ("weights", "course", "best")
    NUMBERS = ("rounds_done", "best_rounds", "best_reward", "last_reward")


class _Run:
    def __init__(self, recipe: Recipe, settings: Settings, seed: int, folder: Path) -> None:
        self.recipe, self.settings, self.seed, self.folder = recipe, settings, seed, folder
        self.judge = recipe.make_judge()
        self.shapes = _shapes(recipe.layers)
        path = folder / CHECKPOINT
        self.state = _load(path) if path.is_file() else self.first()
        keep_lines(folder / PROGRESS, self.state.rounds_done + bool(self.state.rounds_done))

    def first(self) -> _State:
        random = np.random.default_rng([self.seed, 0])
        parts = []
        last = list(self.shapes)[-2:]
        for name, shape in self.shapes.items():
            plain = name in last or len(shape) == 1
            parts.append(np.zeros(shape) if plain else random.standard_normal(shape) / math.sqrt(shape[1]))
        weights = np.concatenate([part.ravel() for part in parts])
        return _State(weights, np.zeros_like(weights), weights.copy())

    def to_the_end(self, on_progress: Callable[[Progress], None]) -> Trained:
        state, rounds, pairs = self.state, self.settings.rounds, self.settings.pairs
        started, before = time.monotonic(), state.rounds_done
        if state.rounds_done == 0:
            self.write_line({}, self.evaluated(), 0.0)
        while state.rounds_done < rounds:
            worth = self.round()
            due = state.rounds_done % self.recipe.evaluate_every == 0 or state.rounds_done == rounds
            evaluation = self.evaluated() if due else {}
            wall_s = time.monotonic() - started
            self.write_line({"reward": float(np.mean(worth)), "spread": float(np.std(worth))}, evaluation, wall_s)
            _save(self.folder / CHECKPOINT, state)
            done, steps = state.rounds_done * 2 * pairs, self.settings.steps
            speed = (state.rounds_done - before) * 2 * pairs / max(wall_s, 1e-9)
            rewards = float(np.mean(worth)), state.last_reward, state.best_reward
            on_progress(Progress(done, steps, wall_s, speed, *rewards))
        self.write_policy("last", state.weights, state.rounds_done, state.last_reward)
        self.write_policy("best", state.best, state.best_rounds, state.best_reward)
        wall_s = time.monotonic() - started
        return Trained(self.folder, self.settings.steps, wall_s, state.best_reward, state.last_reward)

    def round(self) -> list[float]:
        """Play one round and take a step; returns what each policy was worth."""
        state, settings = self.state, self.settings
        random = np.random.default_rng([self.seed, 1 + state.rounds_done])
        directions = np.linalg.qr(random.standard_normal((state.weights.size, settings.pairs)))[0].T
        moves = settings.distance * directions
        places = [
            self.place(f"{sign}{index}", state.weights + factor * move)
            for sign, factor in (("plus", 1.0), ("minus", -1.0))
            for index, move in enumerate(moves)
        ]
        worth = self.judge.worth(places, random)
        forth, back = np.split(np.array(worth), 2)
        gradient = (forth - back) @ directions
        state.course = settings.memory_ratio * state.course + gradient
        length = settings.learning_rate * (1 - 0.9 * state.rounds_done / settings.rounds)
        state.weights = state.weights + length * state.course / max(float(np.linalg.norm(state.course)), 1e-12)
        state.rounds_done += 1
        return worth

    def evaluated(self) -> dict[str, float]:
        """The figures of the weights as they are; the best are kept."""
        state = self.state
        figures = self.judge.evaluation(self.place("evaluated", state.weights))
        state.last_reward = figures["reward"]
        if not state.best_reward >= state.last_reward:  # NaN before the first
            state.best, state.best_rounds, state.best_reward = (
                state.weights.copy(),
                state.rounds_done,
                figures["reward"],
            )
        return figures

    def place(self, name: str, weights: Weights) -> Path:
        """Write the weights as a policy to play."""
        folder = self.folder / "round" / name
        policy_folder.write(folder, self.recipe.manifest, self.recipe.layers, self.tensors(weights), onnx=False)
        return folder

    def tensors(self, weights: Weights) -> Tensors:
        ends = np.cumsum([math.prod(shape) for shape in self.shapes.values()])
        parts = np.split(weights.astype(np.float32), ends[:-1])
        return {name: part.reshape(shape) for (name, shape), part in zip(self.shapes.items(), parts, strict=True)}

    def write_line(self, figures: Mapping[str, float], evaluation: Mapping[str, float], wall_s: float) -> None:
        steps = self.state.rounds_done * 2 * self.settings.pairs
        row = {"round": self.state.rounds_done, "steps": steps, "steps_in_all": self.settings.steps}
        row |= {"wall_s": round(wall_s, 3), **figures, **{f"evaluation_{name}": at for name, at in evaluation.items()}}
        with (self.folder / PROGRESS).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(row) + "\n")

    def write_policy(self, which: str, weights: Weights, rounds: int, reward: float) -> None:
        steps = "" if self.settings == self.recipe.settings else f" --steps {self.settings.steps}"
        trained = {
            "recipe": self.recipe.name,
            "command": f"legato train {self.recipe.name} --seed {self.seed}{steps}",
            "seed": self.seed,
            "steps": rounds * 2 * self.settings.pairs,
            "evaluation_reward": reward,
            **self.recipe.facts,
        }
        manifest = {**self.recipe.manifest, "trained": trained}
        policy_folder.write(self.folder / "policy" / which, manifest, self.recipe.layers, self.tensors(weights))


def _shapes(layers: Sequence[Layer]) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in layers:
        if layer["kind"] != "dense":
            raise TrainingError(f"layer {layer['name']}: kind = {layer['kind']}: evolution trains dense layers only")
        shapes[f"{layer['name']}.weight"] = (layer["outputs"], layer["inputs"])
        shapes[f"{layer['name']}.bias"] = (layer["outputs"],)
    return shapes


def _save(path: Path, state: _State) -> None:
    from safetensors.numpy import save

    numbers = json.dumps({name: getattr(state, name) for name in _State.NUMBERS})
    atomic.write_bytes(
        path, save({name: getattr(state, name) for name in _State.ARRAYS}, {"legato_evolution": numbers})
    )


def _load(path: Path) -> _State:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            numbers = json.loads((file.metadata() or {})["legato_evolution"])
            return _State(**{name: file.get_tensor(name) for name in _State.ARRAYS}, **numbers)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise TrainingError(f"{path}: not a checkpoint of an evolution: {error}") from error
