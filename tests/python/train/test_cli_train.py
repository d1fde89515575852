"""``legato train`` as it is typed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)

from safetensors.numpy import load_file  # noqa: E402

from legato.cli import status_of  # noqa: E402

_RECIPE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_train_run import PPO, recipe, replace
RECIPE = recipe(replace(PPO, steps=4_096), leg_rounds=2)
"""


@pytest.fixture
def toy(tmp_path: Path) -> str:
    path = tmp_path / "toy.py"
    path.write_text(_RECIPE, encoding="utf-8")
    return str(path)


def test_a_recipe_in_a_file_is_trained(toy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    assert status_of(["train", toy, "--out", str(out), "--seed", "4", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["steps"] == 4_096
    assert (Path(result["policy"]) / "policy.toml").is_file()
    assert status_of(["train", toy, "--out", str(out), "--seed", "4"]) == 2
    assert "holds a training already" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.slow
def test_seeds_are_trained_side_by_side_and_the_best_is_kept(
    toy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert status_of(["train", toy, "--out", str(out), "--seeds", "2", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    summary = json.loads((out / "seeds.json").read_text())
    assert [seed["seed"] for seed in summary["seeds"]] == [1, 2]
    best = max(summary["seeds"], key=lambda seed: seed["best_reward"])
    assert summary["best_seed"] == printed["best_seed"] == best["seed"]
    kept = load_file(out / "policy" / "weights.safetensors")
    from_seed = load_file(out / f"seed-{best['seed']}" / "policy" / "best" / "weights.safetensors")
    assert all((kept[name] == from_seed[name]).all() for name in from_seed)


def test_what_is_wrong_is_said_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["train", "vegas"]) == 2
    assert "no recipe is named vegas" in capsys.readouterr().err
    (tmp_path / "empty.py").write_text("", encoding="utf-8")
    assert status_of(["train", str(tmp_path / "empty.py")]) == 2
    assert "has no RECIPE" in capsys.readouterr().err
    assert status_of(["train"]) == 0


def test_a_setting_is_changed_by_its_name_and_the_policy_says_so(
    toy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    changes = ["--set", "epochs=1", "--set", "learning_rate=[[0, 1e-3], [1, 0]]"]
    assert status_of(["train", toy, "--out", str(out), *changes]) == 0
    settings = tomllib.loads((out / "config.toml").read_text())["settings"]
    assert (settings["epochs"], settings["learning_rate"]) == (1, [[0, 1e-3], [1, 0]])
    trained = tomllib.loads((out / "policy" / "best" / "policy.toml").read_text())["trained"]
    assert "--set epochs=1" in trained["command"]
    capsys.readouterr()
    assert status_of(["train", toy, "--out", str(tmp_path / "x"), "--set", "epoch=1"]) == 2
    assert "--set epoch: ppo has no such setting" in capsys.readouterr().err
    assert status_of(["train", toy, "--out", str(tmp_path / "x"), "--set", "epochs=many"]) == 2
    assert "--set epochs = many" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
