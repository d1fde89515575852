"""Runs ``legato`` as a checkout has it after ``make build``: what only development needs cannot be imported.

python as_built.py ARGUMENTS
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("requirements/base.lock", "studies/requirements.lock")


def distributions() -> set[str]:
    """What ``make build`` installs, by the names of the lock files."""
    text = "\n".join((ROOT / lock).read_text(encoding="utf-8") for lock in LOCKS)
    return set(re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE)) | {"legato-rtc", "legato-studies"}


def hidden_modules() -> set[str]:
    """The packages of all other distributions that are installed here."""
    built = distributions()
    return {
        module
        for module, names in importlib.metadata.packages_distributions().items()
        if not built.intersection(re.sub(r"[-_.]+", "-", name).lower() for name in names)
    }


class Without:
    """Another finder, which does not find some packages."""

    def __init__(self, finder: Any, hidden: set[str]) -> None:
        self._finder, self._hidden = finder, hidden

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return None if fullname in self._hidden else self._finder.find_spec(fullname, path, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)


if __name__ == "__main__":
    hidden = hidden_modules()
    sys.meta_path[:] = [Without(finder, hidden) for finder in sys.meta_path]
    from legato.cli import main

    main()
