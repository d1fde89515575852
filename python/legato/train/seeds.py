"""One recipe, several seeds in parallel: one process and one thread per seed, as many at once as there are cores."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from legato import atomic
from legato.errors import TrainingError
from legato.train.run_folder import PROGRESS

SUMMARY = "seeds.json"
_POLL_S = 0.25


@dataclass(frozen=True)
class SeedProgress:
    """How far one seed's training has got."""

    seed: int
    share_done: float
    row: dict[str, Any]
    """The last line of its progress.jsonl; empty before the first round."""


def train_seeds(
    name: str,
    folder: str | Path,
    seeds: Sequence[int],
    *,
    steps: int | None = None,
    changes: Sequence[str] = (),
    resume: bool = False,
    at_once: int | None = None,
    on_progress: Callable[[list[SeedProgress]], None] | None = None,
) -> dict[str, Any]:
    """Train a recipe with each seed into ``folder/seed-N``; returns the summary that it writes to seeds.json.

    ``changes`` are settings as ``KEY=VALUE``. The policy of the best evaluation is copied to ``folder/policy``.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    waiting = list(seeds)
    running: dict[int, subprocess.Popen[bytes]] = {}
    at_once = at_once or os.cpu_count() or 1
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                seed = waiting.pop(0)
                running[seed] = _start(name, folder / f"seed-{seed}", seed, steps, changes, resume)
            time.sleep(_POLL_S)
            for seed, process in list(running.items()):
                if process.poll() is not None:
                    del running[seed]
                    if process.returncode:
                        message = (process.stderr.read() if process.stderr else b"").decode(errors="replace")
                        raise TrainingError(f"seed {seed}: {_last_error(message)}")
            if on_progress is not None:
                on_progress([_progress(folder / f"seed-{seed}", seed) for seed in seeds])
    finally:
        for process in running.values():  # each saves at the end of every leg
            process.send_signal(signal.SIGTERM)
        for process in running.values():
            process.wait()
    return _summary(name, folder, seeds)


def _start(
    name: str, folder: Path, seed: int, steps: int | None, changes: Sequence[str], resume: bool
) -> subprocess.Popen[bytes]:
    verb = ["train", name, "--seed", str(seed), "--out", str(folder), "--json"]
    command = [sys.executable, "-c", "from legato.cli import main; main()", *verb]
    command += ["--steps", str(steps)] if steps is not None else []
    command += [word for change in changes for word in ("--set", change)]
    # A seed that had not started has no folder to resume.
    command += ["--resume"] if resume and folder.exists() else []
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _last_error(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()] or ["it ended without an error message"]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return errors[-1] if errors else lines[-1]


def _progress(folder: Path, seed: int) -> SeedProgress:
    path = folder / PROGRESS
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    for line in reversed(lines[-2:]):
        try:
            row = json.loads(line)
        except ValueError:  # being written
            continue
        return SeedProgress(seed, row["steps"] / row["steps_in_all"], row)
    return SeedProgress(seed, 0.0, {})


def _summary(name: str, folder: Path, seeds: Sequence[int]) -> dict[str, Any]:
    results = []
    for seed in seeds:
        rows = [json.loads(line) for line in (folder / f"seed-{seed}" / PROGRESS).read_text("utf-8").splitlines()]
        evaluations = [row for row in rows if "evaluation_reward" in row]
        best = max(evaluations, key=lambda row: row["evaluation_reward"])
        last_reward, wall_s = evaluations[-1]["evaluation_reward"], rows[-1]["wall_s"]
        of_best = {"best_reward": best["evaluation_reward"], "best_steps": best["steps"]}
        results.append({"seed": seed, **of_best, "last_reward": last_reward, "wall_s": wall_s})
    best_seed = max(results, key=lambda result: result["best_reward"])["seed"]
    shutil.copytree(folder / f"seed-{best_seed}" / "policy" / "best", folder / "policy", dirs_exist_ok=True)
    summary = {"recipe": name, "best_seed": best_seed, "seeds": results}
    atomic.write_text(folder / SUMMARY, json.dumps(summary, indent=2) + "\n")
    return summary
