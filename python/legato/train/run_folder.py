"""The folder of a training run, for any algorithm: its content, how it is opened, how far a run has got."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from legato import atomic
from legato.errors import TrainingError

CONFIG = "config.toml"
PROGRESS = "progress.jsonl"
CHECKPOINT = "checkpoint.safetensors"
BEST = "best.safetensors"


@dataclass(frozen=True)
class Progress:
    """How far a training has got."""

    steps_done: int
    steps: int
    wall_s: float
    """Of this process, since its first round began."""
    steps_per_s: float
    reward: float
    """Per decision in the last round, with exploration."""
    evaluation_reward: float
    """Per decision on held-out networks, without exploration, in the last finished evaluation; NaN before the first."""
    best_reward: float


@dataclass(frozen=True)
class Trained:
    """A finished run."""

    folder: Path
    steps: int
    wall_s: float
    best_reward: float
    last_reward: float


def open_folder(folder: Path, config: Mapping[str, Any], *, resume: bool) -> None:
    """Create the folder of a run with this configuration, or check that it holds that very run."""
    text = tomli_w.dumps(config)
    path = folder / CONFIG
    if path.exists():
        if not resume:
            raise TrainingError(f"{folder}: holds a training already", "--resume continues it; or name another folder")
        if tomllib.loads(path.read_text(encoding="utf-8")) != tomllib.loads(text):
            raise TrainingError(f"{path}: is of another recipe, seed or setting", "--resume with the same ones")
    elif folder.exists() and any(folder.iterdir()):
        raise TrainingError(f"{folder}: is not empty and holds no training", "name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def keep_lines(path: Path, rounds: int) -> None:
    """Drop the lines of rounds that will be played again, and a truncated last line."""
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    atomic.write_text(path, "".join(lines[:rounds]))
