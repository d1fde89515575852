"""The tables that documents print under their commands: what the commands print, compared and written.

A ``text`` block under commands is what the last of them prints; a table under Python is what its query prints.

    python tests/python/printed_tables.py docs/tutorial/why-the-rate-fell.md     run it, and write its tables anew
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```\n(?:\n((?:\|[^\n]*\n)+))?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Printed:
    """One table of a document: where it stands, and what stands there now and should."""

    start: int
    end: int
    now: str
    fresh: str


def run(document: Path, folder: Path) -> Iterator[Printed]:
    """Run a document's commands and Python in a folder, one after the other, and compare what they print."""
    if not (folder / "data").exists():
        (folder / "data").symlink_to(ROOT / "data")
    said = ""
    for block in _BLOCK.finditer(document.read_text(encoding="utf-8")):
        language, code, table = block.groups()
        if language == "text":
            yield Printed(*block.span(2), code, _same_lines(code, said))
            continue
        programs = [("-c", code)] if language == "python" else [_of_legato(line) for line in code.splitlines()]
        for program in programs:
            done = subprocess.run([sys.executable, *program], cwd=folder, capture_output=True, text=True, timeout=280)
            assert done.returncode == 0, f"{code}\n{done.stderr}"
            said = done.stdout
        if table:
            yield Printed(*block.span(3), table, _with_figures(table, said))


def _of_legato(line: str) -> tuple[str, ...]:
    import shlex

    program, *arguments = shlex.split(line)
    assert program == "legato", line
    return ("-c", "from legato.cli import main; main()", *arguments)


def _same_lines(block: str, said: str) -> str:
    """As many lines of what was printed as the block has, from the one that begins like it."""
    lines = said.splitlines()
    first = next((at for at, line in enumerate(lines) if line.strip() and line.split()[0] == block.split()[0]), 0)
    return "".join(f"{line}\n" for line in lines[first : first + block.count("\n")])


def _with_figures(table: str, said: str) -> str:
    """A Markdown table with the figures that DuckDB printed, each with as many digits as its column has now."""
    head, rule, *rows = table.splitlines()
    # DuckDB prints names and types above the figures.
    found = [
        [cell.strip() for cell in line.strip("│").split("│")] for line in said.splitlines() if line.startswith("│")
    ]
    columns = list(zip(*([cell.strip() for cell in row.strip("|").split("|")] for row in rows), strict=True))
    digits = [max(len(cell.partition(".")[2]) for cell in column) for column in columns]
    fresh = [
        "| " + " | ".join(f"{float(cell):.{n}f}" for cell, n in zip(row, digits, strict=True)) + " |"
        for row in found[2:]
    ]
    return "\n".join([head, rule, *fresh]) + "\n"


def write(document: Path) -> None:
    """Run a document and write its tables."""
    text = document.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for one in reversed(list(run(document, Path(folder)))):
            text = text[: one.start] + one.fresh + text[one.end :]
    document.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write(Path(name))
