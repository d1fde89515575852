"""The trainings that a reproduction makes for itself, one after the other; finished ones are kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from legato.errors import Error

OnTraining = Callable[[str, int, int], None]
"""Called before each training with its name, its number, and the number of all."""


@dataclass(frozen=True)
class Training:
    """A training to be made."""

    place: Path
    """Its run folder."""
    recipe: Any
    seed: int
    steps: int | None = None
    """Decisions, instead of the recipe's."""


def make(plan: Callable[[], Sequence[Training]], figures: str, on_training: OnTraining | None = None) -> float:
    """Train all that is planned and unfinished; returns how many seconds that took. ``plan`` is called here, since
    recipes need PyTorch; ``figures`` names what the trainings are for.

    Raises:
        Error: PyTorch is not installed.
    """
    try:
        from legato.train import run

        todo = plan()
    except ImportError as error:
        raise Error(
            f"{figures} are trained anew, and {error.name} is not installed",
            hint="pip install 'legato-rtc[train]', or --no-trainings, or --quick for a first look",
        ) from None
    started = time.monotonic()
    for number, training in enumerate(todo, 1):
        if on_training is not None:
            on_training(f"{training.recipe.name}, seed {training.seed}", number, len(todo))
        if not (training.place / "policy" / "last" / "policy.toml").is_file():
            begun = training.place.exists()
            run.train(training.recipe, training.place, seed=training.seed, steps=training.steps, resume=begun)
    return time.monotonic() - started
