"""Counts the lines of the product and of the studies, and refuses more of them than tools/check_size.toml allows.

    python3 tools/check_size.py [ROOT]     print the counts; status 1 if one is above its ceiling

The product is the Rust and Python source of crates/, python/, tools/, benches/, examples/; the studies are the Python
source of studies/. Tests do not count: tests/ folders, files named *_tests.rs or tests.rs, and `#[cfg(test)]` modules.
A ceiling is lowered when the tree has shrunk; raising one is a separate commit, with its reason.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

_LEFT_OUT = {"tests", "target", "__pycache__", "build", ".venv"}
_TEST_MODULE = re.compile(r"(\s*)(?:pub(?:\(crate\))? )?mod \w+ \{$")


def sources(root: Path, folders: tuple[str, ...], endings: tuple[str, ...]) -> Iterator[Path]:
    """Every source file below the folders that is no test."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            inside = path.relative_to(root).parts
            is_test = _LEFT_OUT.intersection(inside) or path.stem == "tests" or path.stem.endswith("_tests")
            if path.suffix in endings and not is_test:
                yield path


def rust_lines(text: str) -> int:
    """Lines outside `#[cfg(test)] mod … { … }`."""
    lines, count, at = text.splitlines(), 0, 0
    while at < len(lines):
        opening = _TEST_MODULE.match(lines[at + 1]) if at + 1 < len(lines) else None
        if lines[at].strip() == "#[cfg(test)]" and opening:
            end = f"{opening[1]}}}"
            at += 1
            while at < len(lines) and lines[at] != end:
                at += 1
        else:
            count += 1
        at += 1
    return count


def counts(root: Path) -> dict[str, int]:
    """The figures that have a ceiling, by name."""
    rust = {path: path.read_text(encoding="utf-8") for path in sources(root, ("crates",), (".rs",))}
    product = ("python", "tools", "benches", "examples")
    python = sum(_lines(path) for path in sources(root, product, (".py", ".pyi")))
    files = sorted(text.count("\n") for text in rust.values())
    rust_total = sum(rust_lines(text) for text in rust.values())
    return {
        "product": rust_total + python,
        "product_rust": rust_total,
        "product_python": python,
        "studies": sum(_lines(path) for path in sources(root, ("studies",), (".py",))),
        "rust_file_median": files[len(files) // 2],
        "rust_file_p90": files[len(files) * 9 // 10],
        "rust_file_max": files[-1],
    }


def _lines(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def main(root: Path) -> int:
    """Print each count next to its ceiling."""
    ceilings = tomllib.loads((root / "tools" / "check_size.toml").read_text(encoding="utf-8"))["ceilings"]
    found = counts(root)
    over = 0
    for name, lines in found.items():
        ceiling = ceilings.get(name)
        over += ceiling is not None and lines > ceiling
        bound = "" if ceiling is None else f" of {ceiling} allowed" + (": too many" if lines > ceiling else "")
        print(f"check_size: {name} {lines} lines{bound}", file=sys.stderr if "too many" in bound else sys.stdout)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
