"""A recipe: everything that reproduces one paper's policy, except the seed."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from legato.errors import TrainingError
from legato.train import a2c, guided, imitation, ppo
from legato.train.learner import Learner

Curriculum = Callable[["Situation"], Mapping[str, Any] | None]
"""Chooses the networks of the next leg: options of the environment's ``reset``, or ``None`` for its own choice.

One with state has ``facts()`` and ``restore(facts)``, as a learner has, for runs that resume.
"""


@dataclass(frozen=True)
class Situation:
    """What a curriculum may depend on."""

    share_done: float
    """Of the training, 0 to 1."""
    leg: int
    """How many times environments have been reset."""
    seed: int
    """Of this leg."""
    actor: Any
    """The current policy: see :class:`legato.train.evaluation.Actor`."""


ALGORITHMS: dict[type, Callable[..., Learner]] = {
    ppo.Settings: ppo.Ppo,
    guided.GuidedSettings: guided.GuidedPpo,
    a2c.Settings: a2c.A2c,
    imitation.Settings: imitation.Imitation,
}


@dataclass(frozen=True)
class Recipe:
    """How a policy is trained. The algorithm is that of its ``settings``."""

    name: str
    summary: str
    """One line: what is trained, on what, with which reward."""
    manifest: Mapping[str, Any]
    """What policy.toml states of the controller: ``controller``, ``[observation]`` and ``[action]``."""
    layers: Sequence[Mapping[str, Any]]
    """The actor's layer table, as in policy.toml."""
    settings: Any
    make_env: Callable[[int], Any]
    """The training environment, for a number of parallel calls."""
    make_evaluation: Callable[[], Any]
    """Held-out networks: the first episode of each environment is one call of an evaluation."""
    evaluation_seed: int = 1
    evaluate_every: int = 5
    """Rounds between two evaluations; one always follows the last round."""
    leg_rounds: int = 20
    """Rounds between two resets of the environments, from which a run can resume."""
    curriculum: Curriculum | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further entries of the policy's ``[trained]`` table."""

    def learner(self, env: Any, settings: Any, seed: int) -> Learner:
        """A new training of this recipe."""
        return ALGORITHMS[type(settings)](env, self.layers, settings, seed)


def dense(name: str, source: str, inputs: int, outputs: int, activation: str) -> dict[str, Any]:
    """An entry of a layer table: a dense layer that takes all values of one other."""
    sizes = {"inputs": inputs, "outputs": outputs}
    return {"name": name, "kind": "dense", "from": [source], **sizes, "activation": activation}


def names() -> list[str]:
    """Every recipe: one file each in train/recipes, and in packages that name theirs by entry point."""
    return sorted(_modules())


def _modules() -> dict[str, str]:
    """The module of each recipe, by the recipe's name."""
    packages = [point.value for point in metadata.entry_points(group="legato.recipes")]
    return {
        module.name.replace("_", "-"): f"{package}.{module.name}"
        for package in ("legato.train.recipes", *packages)
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__)
    }


def load(name: str) -> Recipe:
    """The recipe of this name, or ``RECIPE`` of a Python file, which is run."""
    path = Path(name)
    if path.suffix == ".py":
        if not path.is_file():
            raise TrainingError(f"{path}: no such file")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None  # a name that ends in .py has a loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        recipe = getattr(module, "RECIPE", None)
        if not isinstance(recipe, Recipe):
            raise TrainingError(f"{path}: has no RECIPE", "RECIPE = legato.train.recipe.Recipe(...)")
        return recipe
    if name not in names():
        raise TrainingError(
            f"no recipe is named {name}", f"there are {', '.join(names()) or 'none'}; or name a .py file"
        )
    return importlib.import_module(_modules()[name]).RECIPE
