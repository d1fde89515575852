"""Refuses a dependency that the layer table below does not allow.

    python3 tools/check_layers.py [ROOT]

A crate may name the crates on its right side and all that they reach. Dev-dependencies are free: tests may look up,
code may not. No part of the product names a study. A change of a table is a separate commit, with its reason.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import python_imports

CRATES: dict[str, set[str]] = {
    "units": set(),
    "h264": set(),
    "vpx": set(),
    "tun": set(),
    "hybrid": {"units"},
    "codec": {"call", "h264", "hybrid", "vpx"},
    "control": {"units"},
    "controllers": {"control"},  # no core crate names them: a change of one rebuilds none
    "wire": {"units"},
    "path": {"units"},
    "media": {"control"},
    "trace": {"control"},
    "call": {"media", "trace", "wire"},
    "sim": {"call", "controllers", "path"},
    "endpoint": {"call", "codec", "path", "tun"},
    "python": {"sim", "endpoint", "h264", "hybrid", "vpx"},
}
# Parts of the Python package, or of one part: files and folders of python/legato, and its own `__init__`. `_core` is
# the native module. `errors` names nothing and is open to all.
PARTS: dict[str, set[str]] = {
    "errors": set(),
    "_core": set(),
    "atomic": set(),
    "opennetlab": set(),  # estimators in Python, which the native module calls
    "results": {"results.stats"},  # reads run folders: the store, the figures, the comparison
    "results.stats": set(),  # arithmetic on what the store read
    "runs": {"plan"},  # a plan becomes a run folder
    "report": {"plan"},  # pages of run folders, and of others; hashes what they were made of
    "links": {"plan"},  # recorded links, which may be learned from, and networks drawn from them
    "policy": {"_core", "atomic"},  # trained policies as files, without torch
    "profile": {"_core", "atomic"},  # how clips are measured
    "plan": {"profile", "results"},  # what is typed becomes a plan, also that of a run folder; a video its profile
    "envs": {"links"},
    "train": {"envs", "policy"},
    "call": {"runs", "train"},  # learns in calls
    "conformance": {"report", "runs"},
    "gap": {"call", "report"},
    "__init__": {"call", "report"},  # the functions, from where they are
    "cli": {"__init__", "conformance", "gap"},
}
PREFIX = "legato-"
STUDIES = "legato_studies"  # the package of studies/: it stands on the product, of which nothing may name it


def main(root: Path) -> int:
    violations = crate_violations(root) + part_violations(root)
    for violation in violations:
        print(f"check_layers: {violation}", file=sys.stderr)
    return 1 if violations else 0


def reach(table: dict[str, set[str]], name: str) -> set[str]:
    """All that `name` may name: its right side and what that reaches."""
    reached: set[str] = set()
    left = list(table[name])
    while left:
        below = left.pop()
        if below not in reached:
            reached.add(below)
            left.extend(table.get(below, ()))
    return reached


def crate_violations(root: Path) -> list[str]:
    violations = []
    for manifest in sorted((root / "crates").glob("*/Cargo.toml")):
        where = manifest.relative_to(root)
        content = tomllib.loads(manifest.read_text(encoding="utf-8"))
        name = content["package"]["name"].removeprefix(PREFIX)
        if name != manifest.parent.name:
            violations.append(f"{where}: crate {PREFIX}{name} is not in a folder of its name")
        if name not in CRATES:
            violations.append(f"{where}: {name} has no line in the layer table of tools/check_layers.py")
            continue
        allowed = reach(CRATES, name)
        for named in sorted(workspace_dependencies(content) - allowed):
            may = ", ".join(sorted(allowed)) or "no other crate"
            violations.append(f"{where}: {name} depends on {named}; it may name {may}")
    return violations


def workspace_dependencies(manifest: dict[str, Any]) -> set[str]:
    """The crates of this workspace that a manifest names, also under another name or for one target."""
    tables = [manifest, *manifest.get("target", {}).values()]
    names = set()
    for table in tables:
        for kind in ("dependencies", "build-dependencies"):
            for key, value in table.get(kind, {}).items():
                package = value.get("package", key) if isinstance(value, dict) else key
                if package.startswith(PREFIX):
                    names.add(package.removeprefix(PREFIX))
    return names


def part_violations(root: Path) -> list[str]:
    violations = []
    package = root / "python" / "legato"
    known = python_imports.modules(package)
    for part in sorted({part_of(module) for module in known} - set(PARTS)):
        violations.append(f"python/legato: {part} has no line in the layer table of tools/check_layers.py")
    for module, line, named in python_imports.imports(package, known):
        part, below = part_of(module), part_of(named)
        if part in PARTS and below not in reach(PARTS, part) | {part, part.partition(".")[0], "errors"}:
            where = known[module].relative_to(root)
            violations.append(f"{where}:{line}: legato.{part} imports legato.{below}")
    for file in known.values():
        lines = [line for line, path in python_imports.named(file, package) if path[0] == STUDIES]
        violations += [f"{file.relative_to(root)}:{line}: the product imports {STUDIES}" for line in lines]
    return violations


def part_of(module: python_imports.Module) -> str:
    """`results.stats` where the table names that, else `results`."""
    inner = ".".join(module[:2])
    return inner if inner in PARTS else (module or ("__init__",))[0]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
