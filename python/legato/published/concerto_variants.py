"""The trainings of Concerto's Tables 3 and 4: each differs from the whole in one thing, and all are equally short.

A variant learns from half of the calls that the shipped policy learns from, with one seed. They are compared with the
whole after an equally short training, not with the shipped policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from legato.published import trainings
from legato.published.trainings import OnTraining, Training

ENVS = 32
"""Calls per round."""
SEED = 1


@dataclass(frozen=True)
class Variants:
    """What was trained: controllers by label, and how long it took."""

    specs: tuple[str, ...]
    wall_s: float


def table() -> Mapping[str, Mapping[str, Any]]:
    """Names of the variants, and how each one's recipe differs."""
    from legato.train.recipes.concerto import SETTINGS

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


def train_all(folder: Path, on_training: OnTraining | None = None) -> Variants:
    """Train every variant that has no policy yet, one after the other."""
    places: dict[str, Path] = {}

    def plan() -> list[Training]:
        from legato.train.recipes import concerto

        variants = table()
        places.update((name, folder / name.replace(" ", "-")) for name in variants)
        return [Training(places[name], concerto.recipe(name, **changes), SEED) for name, changes in variants.items()]

    wall_s = trainings.make(plan, "Tables 3 and 4", on_training)
    specs = (f"concerto@policy={(place / 'policy' / 'last').resolve()},label={name}" for name, place in places.items())
    return Variants(tuple(specs), wall_s)
