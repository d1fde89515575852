"""Writes what ``legato reproduce PAPER`` found: every figure into studies/notebooks/papers, verdicts into docs/papers.

    python -m legato_studies.pages papers               writes the pages of all that are kept
    python -m legato_studies.pages papers runs/vtfrc    keeps its rows in studies/results/papers/vtfrc.json and its
                                                        pictures in docs/images, writes the pages
    python -m legato_studies.pages papers runs/nvc-cc --earlier "Fig. 4" "Fig. 7"
                                                        the same; rows of these tables that the run has not made, for
                                                        want of trainings, stay as they were, marked as of an earlier
                                                        version

A page of docs counts the verdicts between its marks; the words around them are left alone. A mark that names a group
has the tables whose names begin with it, ``Real`` those of real calls; the mark without a name has all others.
"""

from __future__ import annotations

import importlib
import json
import re
import shutil
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from legato.report.pages import Section
from legato_studies.page import DOCS, ROOT, Options, Tables
from legato_studies.page import KEPT as DATA
from legato_studies.page import lines as markdown
from legato_studies.papers import real_calls
from legato_studies.papers.reproduction import SETUPS, Grid, Paper, Row

PAPERS = DOCS / "papers"
KEPT = DATA / "papers"
IMAGES = DOCS / "images"
NOTEBOOKS = ROOT / "studies" / "notebooks" / "papers"
BEGIN, END = "<!-- verdicts: legato_studies.pages.papers", "<!-- end of verdicts -->"
MARKED = re.compile(rf"({re.escape(BEGIN)}(?:, (\w+))? -->)\n.*?{re.escape(END)}", re.S)
COUNTED = ("met", "in reach", "not met", "undecidable")
KEYS = ("format", "paper", "real", "version", "rows", "grids", "cells")
REAL = "-real"
"""Behind the name of a paper, where it was reproduced in real calls."""


def paper_of(found: dict[str, Any]) -> Paper:
    """How a paper's figures are shown."""
    if found.get("real"):
        return real_calls.shown(found["paper"])
    study = importlib.import_module(f"legato_studies.papers.{found['paper'].replace('-', '_')}.study")
    paper: Paper = study.PAPER
    return paper


def page_of(kept: Path) -> Path:
    """The page of docs that counts the verdicts of a file."""
    return PAPERS / f"{kept.stem.removesuffix(REAL)}.md"


def keep(folder: Path, earlier: Sequence[str] = ()) -> Path:
    """Keep the rows of a reproduction, and pictures that it wrote; the file that has the rows.

    Args:
        folder: of the reproduction.
        earlier: tables whose rows stay as they were where this reproduction has not made them.
    """
    found = json.loads((folder / "reproduction.json").read_text(encoding="utf-8"))
    if found.get("real"):  # calls are not made again for a rule
        found["rows"] = [row.document() for row in real_calls.judged_again(found["paper"], found["calls"])]
    kept = KEPT / f"{found['paper']}{REAL if found.get('real') else ''}.json"
    kept.parent.mkdir(exist_ok=True)
    if earlier:
        found["rows"] += _not_made_again(found["rows"], json.loads(kept.read_text(encoding="utf-8")), earlier)
    document = {key: found[key] for key in KEYS if key in found}
    kept.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for picture in folder.glob("*.svg"):
        shutil.copyfile(picture, IMAGES / f"{found['paper']}-{picture.name}")
    return kept


def _not_made_again(rows: list[dict[str, Any]], before: dict[str, Any], of: Sequence[str]) -> list[dict[str, Any]]:
    made = {(row["table"], row["name"], row.get("setup")) for row in rows}
    return [
        {**row, "version": row.get("version", before["version"])}
        for row in before["rows"]
        if row["table"] in of and (row["table"], row["name"], row.get("setup")) not in made
    ]


def tables(found: dict[str, Any], of: Callable[[str], bool] = lambda name: True) -> str:
    """Tables as Markdown, of the names that are asked for."""
    paper = paper_of(found)
    rows = [Row(**row) for row in found["rows"]]
    grids = [Grid.read(grid) for grid in found.get("grids", [])]
    parts = []
    for name, title in ((name, title) for name, title in paper.tables.items() if of(name)):
        if of_table := [row for row in rows if row.table == name]:
            parts += [f"**{title}**", "", *_table(paper, of_table), ""]
            if earlier := dict.fromkeys(row.version for row in of_table if row.version):
                parts += [f"† Of an earlier run, Legato {', '.join(earlier)}.", ""]
        for grid in (grid for grid in grids if grid.table == name):
            head = ["", *(title for title, _ in grid.columns)]
            parts += [f"**{grid.title}**", "", *markdown(head, grid.shown()), ""]
    for section in _kept_sections(found) if of("") else []:
        parts += [f"**{section.title}**", "", *_section(section), ""]
    return "\n".join(parts)


def _kept_sections(found: dict[str, Any]) -> list[Section]:
    """The parts of a paper's page other than rows; not of real calls."""
    module = importlib.import_module(f"legato_studies.papers.{found['paper'].replace('-', '_')}.study")
    return [] if found.get("real") or not hasattr(module, "kept_sections") else module.kept_sections(found)


def _section(section: Section) -> list[str]:
    note = [*textwrap.wrap(str(section.note), 120, break_on_hyphens=False), ""] if section.note else []
    return [*note, *markdown(section.columns, section.rows)]


def _table(paper: Paper, rows: Sequence[Row]) -> list[str]:
    setups: list[str | None] = [setup for setup in SETUPS if any(row.setup == setup for row in rows)] or [None]
    head = ["figure", "published"]
    for setup in setups:
        head += [setup or "ours", "verdict"]
    cells = []
    for name in dict.fromkeys(row.name for row in rows):
        of_name = {row.setup: row for row in rows if row.name == name}
        first = next(iter(of_name.values()))
        named = f"{name} ({first.unit})" if first.unit else name
        line = [f"{named} †" if first.version else named, paper.published(first)]
        for setup in setups:
            line += _cells(paper, of_name.get(setup))
        cells.append(line)
    return markdown(head, cells)


def _cells(paper: Paper, row: Row | None) -> list[str]:
    if row is None:
        return ["–", "–"]
    interval = "" if row.low is None else f" ({paper.number(row.low)} to {paper.number(row.high)})"
    return [f"{paper.number(row.mean)}{interval}", paper.verdict(row)]


def verdicts(found: dict[str, Any], of: Callable[[str], bool]) -> str:
    """How many claims of each table have each verdict, in the set-ups side by side, as Markdown."""
    paper = paper_of(found)
    rows = [row for row in found["rows"] if row["verdict"] in COUNTED]
    setups: list[str | None] = [one for one in SETUPS if any(row.get("setup") == one for row in rows)] or [None]
    cells = []
    for name, title in paper.tables.items():
        own = [row for row in rows if row["table"] == name]
        if own and of(name):
            counts = (
                [sum((row.get("setup"), row["verdict"]) == (setup, verdict) for row in own) for setup in setups]
                for verdict in COUNTED
            )
            cells.append([title, *(" / ".join(map(str, each)) if any(each) else "" for each in counts)])
    if not cells:
        return ""
    sides = f" ({' / '.join(map(str, setups))})" if len(setups) > 1 else ""
    link = f"../../studies/notebooks/papers/{found['paper']}.md"
    return "\n".join([f"Verdicts by table{sides}; [every figure]({link}):", "", *markdown(["table", *COUNTED], cells)])


def written(page: str, found: dict[str, Any]) -> str:
    """The page of docs with its counts of verdicts."""
    groups = [group for _, group in MARKED.findall(page) if group]

    def group_of(name: str) -> str:
        return "Real" if found.get("real") else next((group for group in groups if name.startswith(group)), "")

    def filled(match: re.Match[str]) -> str:
        mark, group = match[1], match[2] or ""
        made = verdicts(found, lambda name: group_of(name) == group)
        # A mark of the other file's stays as it is.
        return f"{mark}\n\n{made}\n\n{END}" if made else match[0]

    return MARKED.sub(filled, page)


def notebook(name: str, every: Sequence[dict[str, Any]]) -> str:
    """The page of every figure of a paper."""
    parts = [
        f"# {name}: every figure\n\nWritten by `python -m legato_studies.pages papers`. What they mean:\n"
        f"[docs/papers/{name}.md](../../../docs/papers/{name}.md); how claims are judged:\n"
        "[docs/concepts/verdicts.md](../../../docs/concepts/verdicts.md).\n"
    ]
    for found in every:
        parts += ["## Real calls\n"] if found.get("real") else []
        parts.append(tables(found))
    return "\n".join(parts)


def texts() -> dict[Path, str]:
    """Every page from the kept data; two files may be of one paper."""
    kept: dict[Path, list[dict[str, Any]]] = {}
    for file in sorted(KEPT.glob("*.json")):
        kept.setdefault(page_of(file), []).append(json.loads(file.read_text(encoding="utf-8")))
    made: dict[Path, str] = {}
    for page, every in kept.items():
        made[NOTEBOOKS / page.name] = notebook(page.stem, sorted(every, key=lambda found: bool(found.get("real"))))
        text = page.read_text(encoding="utf-8")
        if BEGIN not in text:
            raise SystemExit(f"{page}: has no mark {BEGIN} -->")
        for found in every:
            text = written(text, found)
        made[page] = text
    return made


def run(options: Options) -> None:
    """Keep what reproductions found, and write the pages."""
    for folder in options.folders:
        keep(folder, options.earlier)
    PAGE.write()


PAGE = Tables(
    run,
    texts,
    {
        "folders": {"nargs": "*", "type": Path, "help": "of reproductions"},
        "--earlier": {"nargs": "*", "default": (), "type": str, "metavar": "TABLE", "help": "tables not made again"},
    },
)
