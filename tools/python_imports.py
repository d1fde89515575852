"""Which file of a Python package imports which: what check_layers.py and check_circles.py hold their rules against."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

Module = tuple[str, ...]
"""A module's path below the package; empty for the package itself."""


def modules(package: Path) -> dict[Module, Path]:
    """The file of each module; of a native one its stub."""
    files = sorted([*package.rglob("*.pyi"), *package.rglob("*.py")])
    names = {file: file.relative_to(package).with_suffix("").parts for file in files}
    return {name[:-1] if name[-1] == "__init__" else name: file for file, name in names.items()}


def imports(package: Path, known: dict[Module, Path]) -> Iterator[tuple[Module, int, Module]]:
    """Each import of the package in itself: the module, the line and the module that is named.

    Imports in functions and for types alone are imports too: they couple as well.
    """
    for module, file in known.items():
        for line, path in named(file, package):
            if path[0] == package.name:
                rest = path[1:]
                yield module, line, next(rest[:n] for n in range(len(rest), -1, -1) if rest[:n] in known or not n)


def named(file: Path, package: Path) -> Iterator[tuple[int, Module]]:
    """The line of each import of a file, and the whole path that it names."""
    inside = (package.name, *file.relative_to(package).parent.parts)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, tuple(alias.name.split("."))) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = inside[: len(inside) - node.level + 1] if node.level else ()
            base = (*above, *(node.module.split(".") if node.module else ()))
            yield from ((node.lineno, (*base, alias.name)) for alias in node.names)
