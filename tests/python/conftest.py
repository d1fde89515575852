"""What every test here may use, and the order they run in: quick ones first."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from on_time import pytest_runtest_protocol  # noqa: F401 - a hook

ROOT = Path(__file__).resolve().parents[2]

Legato = Callable[..., subprocess.CompletedProcess[str]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.name.startswith("test_call_"):
            item.add_marker(pytest.mark.calls)
        if item.get_closest_marker("calls"):
            item.add_marker(pytest.mark.timeout(900))  # of all tries
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)


@pytest.fixture
def legato(tmp_path: Path) -> Legato:
    """Runs the command line in a process of its own, in ``tmp_path``: a stranger's folder, not the checkout."""

    def run(*arguments: str | Path, **how: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from legato.cli import main; main()", *map(str, arguments)]
        options: dict[str, object] = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 280}
        return subprocess.run(command, **{**options, **how})  # type: ignore[call-overload]

    return run
