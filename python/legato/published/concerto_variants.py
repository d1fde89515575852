"""The trainings of Concerto's Tables 3 and 4: each differs from the whole in one thing, and all are as short.

A variant learns from half of the calls that the shipped policy learns from, for one seed: what they are compared
with is the whole trained as briefly, not the shipped policy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import Error

ENVS = 32
"""Calls of a loop."""
SEED = 1


@dataclass(frozen=True)
class Variants:
    """What was trained: controllers by label, and how long it took."""

    specs: tuple[str, ...]
    wall_s: float


def table() -> Mapping[str, Mapping[str, Any]]:
    """What each variant is called and in what its recipe differs."""
    from ..train.recipes.concerto import SETTINGS

    short = replace(SETTINGS, envs=ENVS)
    rows: dict[str, dict[str, Any]] = {
        "whole": {},
        # [concerto] section 5.3: without the codec's bitrate and the throughput.
        "2-state": {"kinds": ("loss_ratio", "packet_interval")},
        # [concerto] section 5.3: eq. (3) alone; eq. (4) with C = 0; with C = 100.
        "loss 1": {"settings": replace(short, weighted=False)},
        "loss 2": {"settings": replace(short, overshoot_weight=0.0)},
        "loss 3": {"settings": replace(short, overshoot_weight=100.0)},
        "not smooth": {"settings": replace(short, smooth_weight=0.0)},
        "only 3G": {"accesses": ("3G",)},
        "only 4G": {"accesses": ("4G",)},
        "only Wi-Fi": {"accesses": ("Wi-Fi",)},
    }
    return {name: {"settings": short, **changes} for name, changes in rows.items()}


def train_all(folder: Path, on_training: Callable[[str, int, int], None] | None = None) -> Variants:
    """Train every variant that is not there yet, one after the other; ``on_training`` is called before each with its
    name, its number and how many there are."""
    try:
        from ..train import run
        from ..train.recipes import concerto
    except ImportError as error:
        raise Error(
            f"Tables 3 and 4 are trained anew, and {error.name} is not installed",
            hint="pip install 'legato-rtc[train]', or --quick for what needs no training",
        ) from None
    started = time.monotonic()
    specs = []
    variants = table()
    for number, (name, changes) in enumerate(variants.items(), 1):
        if on_training is not None:
            on_training(name, number, len(variants))
        place = folder / name.replace(" ", "-")
        if not (place / "policy" / "last" / "policy.toml").is_file():
            run.train(concerto.recipe(name, **changes), place, seed=SEED, resume=place.exists())
        specs.append(f"concerto@policy={(place / 'policy' / 'last').resolve()},label={name}")
    return Variants(tuple(specs), time.monotonic() - started)
