"""Runs are the same bytes as before: every controller over every kind of path, session and environment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def same_runs(tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("same_runs")


def test_run_folders_are_the_kept_ones_to_the_byte(same_runs: ModuleType, capsys, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    status = same_runs.main([])
    assert status == 0, (
        f"{capsys.readouterr().out}\n\nIf this is meant, say why in a commit of its own that writes the hashes anew: "
        "python3 tools/same_runs.py --write"
    )


def test_a_changed_a_missing_and_a_new_table_are_each_named(same_runs: ModuleType) -> None:
    assert same_runs.differences({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "9", "d": "4"}) == [
        "b: differs",
        "c: is gone",
        "d: is new",
    ]
