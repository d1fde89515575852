"""A recipe: everything that reproduces one paper's policy, except the seed."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
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
    """One line: the policy, its training data and its reward."""
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
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ from those of the recipe of this name."""

    def changed_by(self, changes: Mapping[str, Any]) -> Recipe:
        """The recipe with other settings of its algorithm, by name; a list of numbers, or of pairs, for a schedule."""
        known = {each.name: getattr(self.settings, each.name) for each in fields(self.settings)}
        for name, value in changes.items():
            if name not in known:
                algorithm = type(self.settings).__module__.rpartition(".")[2]
                raise TrainingError(f"--set {name}: {algorithm} has no such setting", f"it has {', '.join(known)}")
            if isinstance(value, str) != isinstance(known[name], str):
                raise TrainingError(f"--set {name} = {value}: {self.name} has {known[name]!r}")
        values = {name: _tuples(value) for name, value in changes.items()}
        return replace(self, settings=replace(self.settings, **values), changes={**self.changes, **changes})

    def learner(self, env: Any, settings: Any, seed: int) -> Learner:
        """A new training of this recipe."""
        return ALGORITHMS[type(settings)](env, self.layers, settings, seed)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def dense(name: str, source: str, inputs: int, outputs: int, activation: str) -> dict[str, Any]:
    """An entry of a layer table: a dense layer that takes all values of one other."""
    sizes = {"inputs": inputs, "outputs": outputs}
    return {"name": name, "kind": "dense", "from": [source], **sizes, "activation": activation}


def names() -> list[str]:
    """Every recipe: one file each in train/recipes, and those of packages that name theirs by entry point."""
    return sorted(_known())


def _known() -> dict[str, Recipe]:
    package = importlib.import_module("legato.train.recipes")
    modules = [f"{package.__name__}.{module.name}" for module in pkgutil.iter_modules(package.__path__)]
    known = {recipe.name: recipe for recipe in (importlib.import_module(module).RECIPE for module in modules)}
    for point in metadata.entry_points(group="legato.recipes"):
        known |= point.load()
    return known


def load(name: str, changes: Mapping[str, Any] | None = None) -> Recipe:
    """The recipe of this name, or ``RECIPE`` of a Python file, which is run.

    Args:
        changes: settings of its algorithm that differ, by name.
    """
    recipe = _load(name)
    return recipe.changed_by(changes) if changes else recipe


def _load(name: str) -> Recipe:
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
    known = _known()
    if name not in known:
        raise TrainingError(f"no recipe is named {name}", f"there are {', '.join(sorted(known))}; or name a .py file")
    return known[name]
