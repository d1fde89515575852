"""Refuses files of one crate, or of one Python package, that import each other in a circle.

    python3 tools/check_circles.py [ROOT]

A file imports another where a path of it (`use crate::a::{b, c::D}`, `super::D`, `crate::a::f()`) names what that file
defines; a name that a parent passes on (`pub use`) is its own file's. A parent holds its children and may name them;
tests may look anywhere. A Python file imports every module that it names, in a function or for a type too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Container
from pathlib import Path

import python_imports

USE = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?use ([^;]+);", re.M)
PATH = re.compile(r"\b(?:crate|super)(?:::\w+)+")
Module = tuple[str, ...]
TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[path[^\n]*\n)?mod \w+ ?[{;]", re.M)


def main(root: Path) -> int:
    graphs = {crate: imports(crate) for crate in sorted((root / "crates").glob("*/src"))}
    graphs |= {package: python(package) for package in (root / "python/legato", root / "studies/legato_studies")}
    bad = []
    for place, graph in graphs.items():
        for circle in circles(graph):
            bad.append(f"{name(place, root)}: {', '.join(sorted(circle))} import each other")
    for line in bad:
        print(f"check_circles: {line}", file=sys.stderr)
    return 1 if bad else 0


def circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Files that reach each other."""

    def reach(start: str) -> set[str]:
        reached: set[str] = set()
        left = [start]
        while left:
            further = graph.get(left.pop(), set()) - reached
            reached |= further
            left += further
        return reached

    reached = {file: reach(file) for file in graph}
    return {
        frozenset(other for other in graph if other in reached[file] and file in reached[other])
        for file in graph
        if file in reached[file]
    }


def imports(crate: Path) -> dict[str, set[str]]:
    """For each file of a crate, the others that it imports."""
    files = {module_of(path, crate): path for path in crate.rglob("*.rs") if not re.search(r"_tests?\.rs$", path.name)}
    texts = {module: code(path) for module, path in files.items()}
    passed_on = {module: {p[-1]: p for p in used(text, module, files)} for module, text in texts.items()}
    found: dict[str, set[str]] = {}
    for module, text in texts.items():
        # A parent may take from its children: only paths from the root or upwards are imports.
        inline = PATH.findall(USE.sub("", text))
        named = [*used(text, module, ()), *(absolute(path.split("::"), module, ()) for path in inline)]
        homes = {home(path, texts, passed_on) for path in named}
        found[name(files[module], crate)] = {name(files[h], crate) for h in homes if h is not None and h != module}
    return found


def python(package: Path) -> dict[str, set[str]]:
    """For each file of a Python package, the others that it imports."""
    known = python_imports.modules(package)
    found: dict[str, set[str]] = {name(file, package): set() for file in known.values()}
    for module, _, other in python_imports.imports(package, known):
        if other in known and other != module:
            found[name(known[module], package)].add(name(known[other], package))
    return found


def name(path: Path, crate: Path) -> str:
    return str(path.relative_to(crate))


def module_of(path: Path, crate: Path) -> tuple[str, ...]:
    parts = path.relative_to(crate).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("lib", "mod", "main") else parts


def code(path: Path) -> str:
    """Without comments, and without tests, which are at the end."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r"//.*", "", TESTS.split(text, maxsplit=1)[0])


def used(text: str, module: tuple[str, ...], files: Container[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [path for tree in USE.findall(text) for leaf in leaves(tree) if (path := absolute(leaf, module, files))]


def leaves(tree: str) -> list[list[str]]:
    """Every path of a tree of `use`: `a::{b, c::{d}}` is a::b and a::c::d."""
    tree = re.sub(r"\s+as \w+|\s", "", tree)
    if "{" not in tree:
        return [tree.split("::")]
    head, rest = tree.split("{", 1)
    inner, parts, depth, start = rest[: rest.rindex("}")], [], 0, 0
    for at, letter in enumerate(inner + ","):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            parts.append(inner[start:at])
            start = at + 1
    prefix = head.removesuffix("::").split("::") if head else []
    return [[*prefix, *leaf] for part in parts if part for leaf in leaves(part)]


def absolute(path: list[str], module: tuple[str, ...], files: Container[tuple[str, ...]]) -> tuple[str, ...]:
    """From the crate's root; empty for another crate's."""
    path = path[:-1] if path[-1] == "self" else path
    if path[0] == "crate":
        return tuple(path[1:])
    if path[0] in ("self", "super"):
        ups = path.count("super")
        return (*module[: len(module) - ups], *path[max(ups, 1) :])
    child = (*module, path[0])
    return (*module, *path) if child in files else ()


def home(
    path: Module, texts: dict[Module, str], passed_on: dict[Module, dict[str, Module]], depth: int = 0
) -> Module | None:
    """The file that defines what a path names."""
    if not path:
        return None
    module = next(path[:n] for n in range(len(path), -1, -1) if path[:n] in texts)
    rest = path[len(module) :]
    if rest and depth < 9 and (further := passed_on[module].get(rest[0])) and further != path:
        return home((*further, *rest[1:]), texts, passed_on, depth + 1)
    return module


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
