"""Writes the tables of docs/conformance.md and, on request, which verdicts changed since an earlier commit.

    python -m legato_studies.pages conformance runs/rfc8867/verdicts.json [--changes-since REVISION]

The verdicts are what `legato conformance --out runs/rfc8867` wrote. The page keeps all of its text; its tables are
replaced. The table of changes is replaced only with `--changes-since`: it compares with the page of that commit.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from legato import atomic, controllers
from legato_studies.page import DOCS, Options, Tables
from legato_studies.page import lines as markdown

PATH = DOCS / "conformance.md"
REFERENCES = ("fixed", "oracle")
COMPARED_WITH = ("-reference", "-plain")
"""Runs that another case is compared with: no cases themselves."""
BEGIN, END = "| case | `", "And the five published shapes:"
SHAPES_BEGIN, SHAPES_END = "| controller | steady |", "\n## "
CHANGES_BEGIN, CHANGES_END = "| case | verdicts now |", "\n## "


def shown(verdicts: list[dict[str, Any]]) -> list[str]:
    """The controllers of the table: those that follow rules, by name."""
    learned = {row["name"] for row in controllers() if row["learned"]}
    return sorted({row["controller"] for row in verdicts} - learned - set(REFERENCES) - {"clairvoyant"})


def cell(row: dict[str, Any] | None) -> str:
    """Pass, or how many of the figures miss their marks."""
    if row is None:
        return "—"
    missed = sum(not check["passed"] for check in row["checks"])
    ratio = f"{missed}/{len(row['checks'])}"
    return ratio if row["reference"] else "pass" if row["passed"] else f"**{missed}**/{len(row['checks'])}"


def table(verdicts: list[dict[str, Any]]) -> list[str]:
    """The rows of the table, its head first and the numbers of passes last."""
    rows = {(row["case"], row["controller"]): row for row in verdicts}
    cases = list(dict.fromkeys(row["case"] for row in verdicts))
    names = shown(verdicts)
    head = ["case", *(f"`{name}`" for name in names), *(f"*{name}*" for name in REFERENCES)]
    cells = [[case, *(cell(rows.get((case, name))) for name in (*names, *REFERENCES))] for case in cases]
    passes = [f"{sum(rows[case, name]['passed'] for case in cases)}/{len(cases)}" for name in names]
    return markdown(head, [*cells, ["passes", *passes, "", ""]])


def cells(lines: list[str]) -> dict[tuple[str, str], str]:
    """The cells of a table by case and controller."""
    split = [[part.strip() for part in line.strip().strip("|").split("|")] for line in lines]
    names = [name.strip("`*") for name in split[0][1:]]
    return {(row[0], name): text for row in split[2:] for name, text in zip(names, row[1:], strict=False)}


def worst(row: dict[str, Any]) -> str:
    """The first figure that misses its mark, with both."""
    check = next(check for check in row["checks"] if not check["passed"])
    value = "never" if check["value"] is None else f"{check['value']:.3g}"
    return f"{check['name']} {value}, mark {check['mark']}"


def changes(before: dict[tuple[str, str], str], verdicts: list[dict[str, Any]]) -> list[str]:
    """A row a case with the verdicts that turned; a failing one with a figure that misses its mark."""
    turned: dict[str, list[str]] = {}
    names = set(shown(verdicts))
    for row in verdicts:
        old = before.get((row["case"], row["controller"]))
        if row["controller"] in names and old is not None and (old == "pass") != row["passed"]:
            what = "pass" if row["passed"] else f"fail ({worst(row)})"
            turned.setdefault(row["case"], []).append(f"`{row['controller']}` {what}")
    return [f"{CHANGES_BEGIN}", "|---|---|", *(f"| {case} | {'; '.join(said)} |" for case, said in turned.items())]


def shapes(found: list[dict[str, Any]], names: list[str]) -> list[str]:
    """The rows of controllers over the published path shapes."""
    kinds = list(dict.fromkeys(row["shape"] for row in found))
    rows = {(row["controller"], row["shape"]): row for row in found}

    def figures(row: dict[str, Any]) -> str:
        converged = "never" if row["converged_s"] is None else f"{row['converged_s']:.1f} s"
        return f"{100 * row['utilisation_ratio']:.1f} %, loss {100 * row['loss_ratio']:.1f} %, {converged}"

    return [f"| `{name}` | {' | '.join(figures(rows[name, kind]) for kind in kinds)} |" for name in names]


def replaced(text: str, begin: str, end: str, lines: list[str]) -> str:
    """The page with what stands from ``begin`` up to ``end`` replaced."""
    start = text.index(begin)
    stop = text.index(end, start)
    between = "\n" if end.startswith("\n") else "\n\n"
    return text[:start] + "\n".join(lines) + between + text[stop:]


def verdict_table(page: str) -> list[str]:
    """The lines of the page's table of verdicts."""
    return page[page.index(BEGIN) : page.index(END)].strip().splitlines()


def at_revision(revision: str) -> str:
    """The page as it was in a commit."""
    command = ["git", "-C", str(PATH.parent), "show", f"{revision}:./{PATH.name}"]
    shown_page = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if shown_page.returncode:
        raise SystemExit(f"--changes-since {revision}: {shown_page.stderr.strip()}")
    return shown_page.stdout


def rewritten(text: str, found: dict[str, Any], before: str | None = None) -> str:
    """The page with the tables of what was found; with the changes since the page ``before``, where one is given."""
    verdicts = [row for row in found["verdicts"] if not row["case"].endswith(COMPARED_WITH)]
    if before is not None:
        text = replaced(text, CHANGES_BEGIN, CHANGES_END, changes(cells(verdict_table(before)), verdicts))
    text = replaced(text, BEGIN, END, table(verdicts))
    published = re.search(r"\| webrtc-rs, published .*", text)
    head = text[text.index(SHAPES_BEGIN) :].splitlines()[:2]
    kept = [*head, *([published[0]] if published else [])]
    return replaced(text, SHAPES_BEGIN, SHAPES_END, [*kept, *shapes(found["shapes"], shown(verdicts))])


def run(options: Options) -> None:
    """Write the page."""
    found = json.loads(options.verdicts.read_text(encoding="utf-8"))
    before = at_revision(options.changes_since) if options.changes_since else None
    atomic.write_text(PATH, rewritten(PATH.read_text(encoding="utf-8"), found, before))


PAGE = Tables(
    run,
    options={
        "verdicts": {"type": Path, "help": "verdicts.json of a whole run"},
        "--changes-since": {"metavar": "REVISION", "help": "also write which verdicts changed since a commit"},
    },
)
