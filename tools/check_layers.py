"""Refuses a dependency that the layer table below does not allow.

    python3 tools/check_layers.py [ROOT]

A crate may name what stands on its right side and whatever that reaches. Dev-dependencies are free: tests may look up,
code may not. No part of the product names a study. A change of a table is a commit of its own, with its reason.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

CRATES: dict[str, set[str]] = {
    "units": set(),
    "h264": set(),
    "vpx": set(),
    "tun": set(),
    "hybrid": {"units"},
    "codec": {"h264", "hybrid", "media", "vpx"},
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
# Parts of the Python package, or of one part. `_core` is the native module; a part that is missing
# here may name any. `errors` names nothing and is open to all.
PARTS: dict[str, set[str]] = {
    "errors": set(),
    "atomic": set(),
    "report": {"plan", "results"},  # pages of run folders; hashes what they were made of
    "policy": {"_core", "atomic"},  # trained policies as files, without torch
    "train": {"access_networks", "atomic", "envs", "policy"},
    "links": {"_core", "plan"},  # recorded links, and which may be learned from
    "access_networks": {"links"},  # windows of them by the kind of access
    "replayed": {"links"},  # networks drawn from them
    "envs": {"_core", "plan", "replayed"},
    "results": {"results.stats"},  # reads run folders: the store, the figures, the comparison
    "results.stats": set(),  # arithmetic on what the store read
    "plan": {"_core", "atomic", "results"},  # what is typed becomes a plan
    "runs": {"plan", "results"},  # a plan becomes a run folder
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


def workspace_dependencies(manifest: dict) -> set[str]:
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
    for source in sorted(package.rglob("*.py")):
        part = part_of(source.relative_to(package).with_suffix("").parts)
        allowed = reach(PARTS, part) | {part, part.partition(".")[0], "errors"} if part in PARTS else None
        for line, named in imported_parts(source, package):
            if named == STUDIES or (allowed is not None and named not in allowed):
                whole = named if named == STUDIES else f"legato.{named}"
                violations.append(f"{source.relative_to(root)}:{line}: legato.{part} imports {whole}")
    return violations


def imported_parts(source: Path, package: Path) -> list[tuple[int, str]]:
    """Line and part of every import of this package; types only count too: they couple as well."""
    imports = []
    known = {path.name.partition(".")[0] for path in package.iterdir()} | {"_core"}
    inside = source.relative_to(package).parent.parts
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"), str(source))):
        if isinstance(node, ast.Import):
            paths = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module.split(".") if node.module else []
            if node.level:
                base = ["legato", *inside[: len(inside) - node.level + 1], *base]
            paths = [[*base, alias.name] for alias in node.names]
        else:
            continue
        for path in paths:
            if path[0] == STUDIES:
                imports.append((node.lineno, STUDIES))
            elif path[0] == "legato" and len(path) > 1 and path[1] in known:
                imports.append((node.lineno, part_of(path[1:])))
    return imports


def part_of(path: Sequence[str]) -> str:
    """`results.stats` where the table names that, else `results`."""
    inner = ".".join(path[:2])
    return inner if inner in PARTS else path[0]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
