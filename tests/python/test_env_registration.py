"""The environments are found by name: by entry point, and in worker processes that import no legato.envs."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from fixtures import ROOT

gymnasium = pytest.importorskip("gymnasium", reason="environments need the extra [gym]")

WORKERS = """
import gymnasium
from gymnasium.vector import AsyncVectorEnv

def call():
    return gymnasium.make("legato.envs:legato/Call-v0", duration_s=2.0)

if __name__ == "__main__":
    calls = AsyncVectorEnv([call, call], context="spawn")
    calls.reset(seed=1)
    _, rewards, *_ = calls.step(calls.action_space.sample())
    calls.close()
    print(len(rewards), gymnasium.make_vec("legato.envs:legato/Call-v0", num_envs=3, duration_s=2.0).num_envs)
"""


def test_worker_processes_make_a_call_by_name(tmp_path: Path) -> None:
    (tmp_path / "workers.py").write_text(WORKERS)
    ran = subprocess.run(
        [sys.executable, "workers.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "2 3\n"


def test_the_entry_point_registers_them(monkeypatch: pytest.MonkeyPatch) -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    [(name, value)] = points["gymnasium.envs"].items()
    register = EntryPoint(name, value, "gymnasium.envs").load()
    monkeypatch.delitem(gymnasium.registry, "legato/Call-v0", raising=False)
    register()
    assert gymnasium.spec("legato/Call-v0").vector_entry_point == "legato.envs.vector_env:CallVectorEnv"
