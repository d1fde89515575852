"""What every test here may use, and the order they run in: quick ones first."""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

from on_time import pytest_runtest_protocol  # noqa: F401 - a hook

ROOT = Path(__file__).resolve().parents[2]

# The same examples at every run, so that a red run can be repeated; LEGATO_EXPLORE=1 draws new ones. No deadline: a
# busy machine is no fault.
settings.register_profile("legato", derandomize=os.environ.get("LEGATO_EXPLORE") != "1", deadline=None)
settings.load_profile("legato")

# A shell that runs the tests in the background has them, and all that they start, ignore Ctrl-C, which some press.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

Legato = Callable[..., subprocess.CompletedProcess[str]]


class WithoutTorch(importlib.abc.MetaPathFinder):
    """An import system in which torch is not installed. ``sys.modules["torch"] = None`` confuses scipy."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == "torch":
            raise ModuleNotFoundError("No module named 'torch': hidden by tests/python/fixtures.py", name="torch")


def pytest_configure(config: pytest.Config) -> None:
    """Hides torch from a run without the tests of training, so that it does the same where torch is installed."""
    if any(Path(path).name == "train" for path in config.getoption("ignore") or ()):
        sys.meta_path.insert(0, WithoutTorch())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.name.startswith("test_call_"):
            item.add_marker(pytest.mark.calls)
        if item.get_closest_marker("calls"):
            item.add_marker(pytest.mark.timeout(900))  # of all tries
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test marked ``browser`` is skipped without one; with LEGATO_NEED_BROWSER=1 it fails."""
    if item.get_closest_marker("browser") is None:
        return
    from legato.call import browser

    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if browser.find() is None:
        why = f"no browser: none of {', '.join(browser.NAMES)} is on the path (or name one in LEGATO_CHROMIUM)"
        (pytest.fail if os.environ.get("LEGATO_NEED_BROWSER") == "1" else pytest.skip)(why)


@pytest.fixture
def legato(tmp_path: Path) -> Legato:
    """Runs the command line in a separate process, in ``tmp_path``: a stranger's folder, not the checkout."""

    def run(*arguments: str | Path, **how: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from legato.cli import main; main()", *map(str, arguments)]
        options: dict[str, object] = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 280}
        return subprocess.run(command, **{**options, **how})  # type: ignore[call-overload]

    return run


@pytest.fixture(scope="session")
def tool() -> Callable[[str], ModuleType]:
    """A program of the folder tools, as a module."""

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
