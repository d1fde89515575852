"""Writes the tables of docs/papers/PAPER.md from what ``legato reproduce PAPER`` found.

    python tools/paper_tables.py runs/vtfrc      keeps its rows in docs/papers/reproduced/vtfrc.json and its pictures in
                                                 docs/images, writes the tables
    python tools/paper_tables.py                 writes the tables of all that are kept

A run without trainings keeps the tables of the trainings that are there, and the page names their version. The tables
stand between two marks of the page; the words around them are left alone. A test holds page and file equal.
"""

from __future__ import annotations

import importlib
import json
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from legato.pages import Section
from legato.published.reproduction import SETUPS, Paper, Row

PAPERS = Path(__file__).resolve().parents[1] / "docs" / "papers"
KEPT = PAPERS / "reproduced"
IMAGES = PAPERS.parent / "images"
BEGIN, END = "<!-- tables: tools/paper_tables.py -->", "<!-- end of tables -->"
KEYS = ("format", "paper", "version", "rows", "cells", "earlier")


def module_of(name: str) -> ModuleType:
    """The module of a paper: its ``PAPER``; ``kept_sections`` where its page has more than rows, and ``TRAINED``, the
    tables that a run without trainings leaves out."""
    return importlib.import_module(f"legato.published.{name.replace('-', '_')}")


def keep(folder: Path) -> Path:
    """Keep the rows of a reproduction, and pictures that it wrote; the file that has the rows."""
    found = json.loads((folder / "reproduction.json").read_text(encoding="utf-8"))
    kept = KEPT / f"{found['paper']}.json"
    if kept.is_file():
        found = with_earlier(found, json.loads(kept.read_text(encoding="utf-8")))
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps({key: found[key] for key in KEYS if key in found}, indent=1) + "\n", encoding="utf-8")
    for picture in folder.glob("*.svg"):
        shutil.copyfile(picture, IMAGES / f"{found['paper']}-{picture.name}")
    return kept


def with_earlier(found: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """A reproduction with the tables of trainings that it left out, as they were, and with the version of each."""
    present = {row["table"] for row in found["rows"]}
    missing = [name for name in getattr(module_of(found["paper"]), "TRAINED", ()) if name not in present]
    rows = [row for row in before["rows"] if row["table"] in missing]
    versions = {row["table"]: before.get("earlier", {}).get(row["table"], before["version"]) for row in rows}
    return {**found, "rows": [*found["rows"], *rows]} | ({"earlier": versions} if versions else {})


def tables(found: dict[str, Any]) -> str:
    """All tables, as Markdown."""
    module = module_of(found["paper"])
    paper: Paper = module.PAPER
    rows = [Row(**row) for row in found["rows"]]
    parts = []
    for name, title in paper.tables.items():
        if of_table := [row for row in rows if row.table == name]:
            earlier = found.get("earlier", {}).get(name)
            note = [f"Of an earlier run, with {earlier}.", ""] if earlier else []
            parts += [f"**{title}**", "", *note, *_table(paper, of_table), ""]
    for section in getattr(module, "kept_sections", _none)(found):
        parts += [f"**{section.title}**", "", *_section(section), ""]
    return "\n".join(parts)


def _none(found: Mapping[str, Any]) -> list[Section]:
    return []


def _section(section: Section) -> list[str]:
    note = [*textwrap.wrap(str(section.note), 120, break_on_hyphens=False), ""] if section.note else []
    head = [f"| {' | '.join(map(str, section.columns))} |", "|---" * len(section.columns) + "|"]
    return [*note, *head, *(f"| {' | '.join(map(str, row))} |" for row in section.rows)]


def _table(paper: Paper, rows: Sequence[Row]) -> list[str]:
    setups: list[str | None] = [setup for setup in SETUPS if any(row.setup == setup for row in rows)] or [None]
    head = ["figure", "published"]
    for setup in setups:
        head += [setup or "ours", "verdict"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name in dict.fromkeys(row.name for row in rows):
        of_name = {row.setup: row for row in rows if row.name == name}
        first = next(iter(of_name.values()))
        line = [f"{name} ({first.unit})" if first.unit else name, paper.published(first)]
        for setup in setups:
            line += _cells(paper, of_name.get(setup))
        lines.append(f"| {' | '.join(line)} |")
    return lines


def _cells(paper: Paper, row: Row | None) -> list[str]:
    if row is None:
        return ["–", "–"]
    interval = "" if row.low is None else f" ({paper.number(row.low)} to {paper.number(row.high)})"
    return [f"{paper.number(row.mean)}{interval}", row.verdict]


def written(page: str, found: dict[str, Any]) -> str:
    """The page with its tables."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables(found)}\n{END}{after}"


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    kept = [keep(Path(folder)) for folder in arguments] or sorted(KEPT.glob("*.json"))
    for file in kept:
        page = PAPERS / f"{file.stem}.md"
        text = page.read_text(encoding="utf-8")
        if BEGIN not in text:
            print(f"paper_tables: {page}: has no mark {BEGIN}", file=sys.stderr)
            return 1
        page.write_text(written(text, json.loads(file.read_text(encoding="utf-8"))), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
