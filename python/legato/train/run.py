"""A training run: a folder that can be read while it grows, and resumed after a kill.

::

    config.toml              the recipe, its seed and every setting
    progress.jsonl           one line per round: steps, seconds, figures, evaluations
    tensorboard/             the same, for TensorBoard
    checkpoint.safetensors   the last finished leg: weights, optimiser, random state
    best.safetensors         the weights of the best evaluation
    policy/best  policy/last deployable: policy.toml, weights.safetensors, policy.onnx

A run consists of legs of some rounds. Environments are reset at the beginning of each, seeded by the run's seed and the
leg's number, and everything is saved at its end. So a resumed run plays the same calls in the same order and ends with
the same weights as a run that was never stopped.

Evaluations run in parallel with the next rounds, on a copy of the agent: gradient steps use one thread, so another
processor is idle. A round's line is written once its evaluation is done.
"""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from legato.policy import policy_folder
from legato.train import checkpoint
from legato.train.evaluation import Evaluator
from legato.train.learner import Learner
from legato.train.recipe import Recipe, Situation
from legato.train.run_folder import BEST, CHECKPOINT, PROGRESS, Progress, Trained, keep_lines, open_folder


@dataclass(frozen=True)
class _Round:
    """A round that has been played and is not yet written to progress.jsonl."""

    number: int
    steps: int
    wall_s: float
    figures: dict[str, float]
    weights: dict[str, torch.Tensor]
    """The evaluated weights; empty where the round is not evaluated."""
    evaluation: Future[dict[str, float]] | None


def train(
    recipe: Recipe,
    folder: str | Path,
    *,
    seed: int = 1,
    steps: int | None = None,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Trained:
    """Train a recipe's policy.

    Args:
        recipe: what to train.
        folder: the run folder; it must not hold another run.
        seed: of weights, exploration and calls.
        steps: decisions, instead of the recipe's.
        resume: continue the folder's run, which must be of the same recipe, seed and settings.
        on_progress: called after each round.
    """
    settings = recipe.settings if steps is None else dataclasses.replace(recipe.settings, steps=steps)
    folder = Path(folder)
    open_folder(folder, _config(recipe, settings, seed), resume=resume)
    # One thread: networks of this size gain nothing from a second, and sums keep their order.
    torch.set_num_threads(1)
    # As use_deterministic_algorithms(True), without the second or two in which that loads torch's code generator.
    torch.set_deterministic_debug_mode("error")
    torch.utils.deterministic.fill_uninitialized_memory = False  # costs a tenth of the time; tests cover it
    return _Run(recipe, settings, seed, folder).to_the_end(on_progress or (lambda _: None))


class _Run:
    def __init__(self, recipe: Recipe, settings: Any, seed: int, folder: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.recipe, self.seed, self.folder = recipe, seed, folder
        self.env = recipe.make_env(settings.envs)
        self.evaluator = Evaluator(recipe.make_evaluation, recipe.evaluation_seed)
        self.learner: Learner = recipe.learner(self.env, settings, seed)
        self.best_reward = self.last_reward = math.nan
        if (folder / CHECKPOINT).is_file():
            tensors, facts = checkpoint.load(folder / CHECKPOINT)
            self.learner.restore(tensors, facts["learner"])
            if recipe.curriculum is not None and hasattr(recipe.curriculum, "restore"):
                recipe.curriculum.restore(facts["curriculum"])
            self.best_reward, self.last_reward = facts["best_reward"], facts["last_reward"]
        keep_lines(folder / PROGRESS, self.learner.rounds_done)
        self.lines = (folder / PROGRESS).open("a", encoding="utf-8")
        self.board = SummaryWriter(str(folder / "tensorboard"), purge_step=self.steps_done() or None)
        self.unwritten: deque[_Round] = deque()

    def to_the_end(self, on_progress: Callable[[Progress], None]) -> Trained:
        learner, rounds = self.learner, self.learner.settings.rounds
        started, steps_before = time.monotonic(), self.steps_done()
        try:
            while learner.rounds_done < rounds:
                self.begin_leg()
                for _ in range(min(self.recipe.leg_rounds, rounds - learner.rounds_done)):
                    figures = learner.iterate()
                    wall_s = time.monotonic() - started
                    due = learner.rounds_done % self.recipe.evaluate_every == 0 or learner.rounds_done == rounds
                    self.played(figures, wall_s, due)
                    self.write_down(wait=False)
                    speed = (self.steps_done() - steps_before) / max(wall_s, 1e-9)
                    done, steps = self.steps_done(), rounds * learner.settings.round_steps
                    rewards = figures["reward"], self.last_reward, self.best_reward
                    on_progress(Progress(done, steps, wall_s, speed, *rewards))
                self.write_down(wait=True)
                self.save()
            self.export()
        finally:
            self.evaluator.close()
            self.lines.close()
            self.board.close()
            self.env.close()
        return Trained(self.folder, self.steps_done(), time.monotonic() - started, self.best_reward, self.last_reward)

    def steps_done(self) -> int:
        return self.learner.rounds_done * int(self.learner.settings.round_steps)

    def begin_leg(self) -> None:
        leg = self.learner.rounds_done // self.recipe.leg_rounds
        seed = int(np.random.SeedSequence([self.seed, leg]).generate_state(1)[0])
        options = None
        if self.recipe.curriculum is not None:
            share_done = self.learner.rounds_done / self.learner.settings.rounds
            options = self.recipe.curriculum(Situation(share_done, leg, seed, self.learner.agent))
        self.learner.begin(seed, options)

    def played(self, figures: dict[str, float], wall_s: float, evaluate_it: bool) -> None:
        weights, evaluation = {}, None
        if evaluate_it:
            evaluation = self.evaluator.begin(self.learner.agent)
            weights = {f"agent.{name}": t.clone() for name, t in self.learner.agent.state_dict().items()}
        self.unwritten.append(_Round(self.learner.rounds_done, self.steps_done(), wall_s, figures, weights, evaluation))

    def write_down(self, *, wait: bool) -> None:
        """Log rounds in order: all, or up to the first whose evaluation is not done."""
        while self.unwritten:
            first = self.unwritten[0]
            if first.evaluation is not None and not (wait or first.evaluation.done()):
                return
            self.unwritten.popleft()
            figures = dict(first.figures)
            if first.evaluation is not None:
                scores = first.evaluation.result()
                self.judge(scores, first)
                figures |= {f"evaluation_{name}": value for name, value in scores.items()}
            self.log(figures, first)

    def judge(self, scores: Mapping[str, float], of: _Round) -> None:
        self.last_reward = scores["reward"]
        if not self.best_reward >= self.last_reward:  # NaN before the first
            self.best_reward = self.last_reward
            checkpoint.save(self.folder / BEST, of.weights, {"steps": of.steps, **scores})

    def log(self, figures: Mapping[str, float], of: _Round) -> None:
        in_all = self.learner.settings.rounds * self.learner.settings.round_steps
        row = {"round": of.number, "steps": of.steps, "steps_in_all": in_all, "wall_s": round(of.wall_s, 3)}
        row |= figures
        # JSON has no NaN: figures that do not apply are left out.
        self.lines.write(json.dumps({key: value for key, value in row.items() if math.isfinite(value)}) + "\n")
        self.lines.flush()
        for name, value in figures.items():
            if math.isfinite(value):
                self.board.add_scalar(name, value, of.steps)

    def save(self) -> None:
        curriculum = self.recipe.curriculum
        facts = {
            "learner": self.learner.facts(),
            "curriculum": curriculum.facts() if curriculum is not None and hasattr(curriculum, "facts") else None,
            "best_reward": self.best_reward,
            "last_reward": self.last_reward,
        }
        checkpoint.save(self.folder / CHECKPOINT, self.learner.tensors(), facts)

    def export(self) -> None:
        """Write policy/last and policy/best."""
        agent = self.learner.agent
        self.write_policy("last", self.steps_done(), self.last_reward)
        tensors, facts = checkpoint.load(self.folder / BEST)
        now = {name: t.clone() for name, t in agent.state_dict().items()}
        agent.load_state_dict({name.removeprefix("agent."): t for name, t in tensors.items()})
        self.write_policy("best", facts["steps"], facts["reward"])
        agent.load_state_dict(now)

    def command(self) -> str:
        """The command that reproduces this training."""
        steps = getattr(self.learner.settings, "steps", None)
        of_recipe = steps == getattr(self.recipe.settings, "steps", None)
        changed = "".join(f" --set {name}={json.dumps(value)}" for name, value in self.recipe.changes.items())
        asked = f"legato train {self.recipe.name} --seed {self.seed}{changed}"
        return asked if of_recipe else f"{asked} --steps {steps}"

    def write_policy(self, which: str, steps: int, reward: float) -> None:
        trained = {
            "recipe": self.recipe.name,
            "command": self.command(),
            "seed": self.seed,
            "steps": steps,
            "evaluation_reward": reward,
            **self.recipe.facts,
        }
        manifest = {**self.recipe.manifest, "trained": trained}
        tensors = self.learner.agent.actor_tensors()
        policy_folder.write(self.folder / "policy" / which, manifest, self.recipe.layers, tensors)


def _config(recipe: Recipe, settings: Any, seed: int) -> dict[str, Any]:
    numbers = {
        name: list(map(list, value)) if isinstance(value, tuple) and isinstance(value[0], tuple) else value
        for name, value in dataclasses.asdict(settings).items()
        if value is not None
    }
    return {
        "recipe": recipe.name,
        "algorithm": type(settings).__module__.rpartition(".")[2],
        "seed": seed,
        "evaluate_every": recipe.evaluate_every,
        "leg_rounds": recipe.leg_rounds,
        "settings": numbers,
    }
