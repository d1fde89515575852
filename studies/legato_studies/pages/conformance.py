"""Writes the tables of docs/measured/conformance.md from what ``legato conformance`` found.

    python -m legato_studies.pages conformance runs/rfc8867/verdicts.json [--changes]

The page keeps all of its words; its tables stand between marks. The table of changed verdicts is kept too, but with
``--changes``: then it compares with the verdicts that were kept before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from legato import atomic, controllers
from legato_studies.page import DOCS, KEPT, Options, Tables, lines

PATH = DOCS / "measured" / "conformance.md"
DATA = KEPT / "conformance.json"
REFERENCES = ("fixed", "oracle")
COMPARED_WITH = ("-reference", "-plain")
"""Runs that another case is compared with: no cases themselves."""
PUBLISHED = [
    "webrtc-rs, published",
    "73 %, 25.3 s",
    "79.6 %, loss 19.8 %, never",
    "2.7 %, never",
    "42.3 %",
    "59.9 %, 37.7 s",
]
"""Of the five shapes, as webrtc-rs prints them."""
MARKED = re.compile(r"(<!-- conformance: (\w+) -->)\n.*?(<!-- end of table -->)", re.S)
Table = Mapping[str, Any]
"""``columns`` and ``rows``."""


def shown(verdicts: list[dict[str, Any]]) -> list[str]:
    """The controllers of the table: the ones that follow rules, by name."""
    learned = {row["name"] for row in controllers() if row["learned"]}
    return sorted({row["controller"] for row in verdicts} - learned - set(REFERENCES) - {"clairvoyant"})


def cell(row: dict[str, Any] | None) -> str:
    """Pass, or how many of the figures miss their marks."""
    if row is None:
        return "—"
    missed = sum(not check["passed"] for check in row["checks"])
    ratio = f"{missed}/{len(row['checks'])}"
    return ratio if row["reference"] else "pass" if row["passed"] else f"**{missed}**/{len(row['checks'])}"


def table(verdicts: list[dict[str, Any]]) -> Table:
    """A row per case, and the numbers of passes last."""
    rows = {(row["case"], row["controller"]): row for row in verdicts}
    cases = list(dict.fromkeys(row["case"] for row in verdicts))
    names = shown(verdicts)
    cells = [[case, *(cell(rows.get((case, name))) for name in (*names, *REFERENCES))] for case in cases]
    passes = [f"{sum(rows[case, name]['passed'] for case in cases)}/{len(cases)}" for name in names]
    columns = ["case", *(f"`{name}`" for name in names), *(f"*{name}*" for name in REFERENCES)]
    return {"columns": columns, "rows": [*cells, ["passes", *passes, "", ""]]}


def worst(row: dict[str, Any]) -> str:
    """The first figure that misses its mark, with both."""
    check = next(check for check in row["checks"] if not check["passed"])
    value = "never" if check["value"] is None else f"{check['value']:.3g}"
    return f"{check['name']} {value}, mark {check['mark']}"


def changes(before: Table, verdicts: list[dict[str, Any]]) -> Table:
    """A row per case with the verdicts that turned; a failing one with a figure that misses its mark."""
    names = [name.strip("`*") for name in before["columns"][1:]]
    old = {(row[0], name): text for row in before["rows"] for name, text in zip(names, row[1:], strict=True)}
    turned: dict[str, list[str]] = {}
    kept = set(shown(verdicts))
    for row in verdicts:
        was = old.get((row["case"], row["controller"]))
        if row["controller"] in kept and was is not None and (was == "pass") != row["passed"]:
            what = "pass" if row["passed"] else f"fail ({worst(row)})"
            turned.setdefault(row["case"], []).append(f"`{row['controller']}` {what}")
    return {"columns": ["case", "verdicts now"], "rows": [[case, "; ".join(said)] for case, said in turned.items()]}


def shapes(found: list[dict[str, Any]], names: Sequence[str]) -> Table:
    """Controllers over the published path shapes."""
    kinds = list(dict.fromkeys(row["shape"] for row in found))
    rows = {(row["controller"], row["shape"]): row for row in found}

    def figures(row: dict[str, Any]) -> str:
        converged = "never" if row["converged_s"] is None else f"{row['converged_s']:.1f} s"
        return f"{100 * row['utilisation_ratio']:.1f} %, loss {100 * row['loss_ratio']:.1f} %, {converged}"

    own = [[f"`{name}`", *(figures(rows[name, kind]) for kind in kinds)] for name in names]
    return {"columns": ["controller", *kinds], "rows": [PUBLISHED[: 1 + len(kinds)], *own]}


def tables(found: dict[str, Any], before: Mapping[str, Table], *, changed: bool) -> dict[str, Table]:
    """All tables of what was found; those of changes only on request, else as before."""
    verdicts = [row for row in found["verdicts"] if not row["case"].endswith(COMPARED_WITH)]
    return {
        "verdicts": table(verdicts),
        "shapes": shapes(found["shapes"], shown(verdicts)),
        "changes": changes(before["verdicts"], verdicts) if changed else before["changes"],
    }


def written(page: str, kept: Mapping[str, Table]) -> str:
    """The page with its tables."""
    return MARKED.sub(lambda mark: "\n".join([mark[1], "", *lines(**kept[mark[2]]), "", mark[3]]), page)


def run(options: Options) -> None:
    """Keep the tables, and write the page."""
    found = json.loads(options.verdicts.read_text(encoding="utf-8"))
    atomic.write_json(DATA, tables(found, json.loads(DATA.read_text(encoding="utf-8")), changed=options.changes))
    PAGE.write()


def texts() -> dict[Path, str]:
    """The page of what is kept."""
    return {PATH: written(PATH.read_text(encoding="utf-8"), json.loads(DATA.read_text(encoding="utf-8")))}


PAGE = Tables(
    run,
    texts,
    {
        "verdicts": {"type": Path, "nargs": "?", "help": "verdicts.json of a whole run"},
        "--changes": {"action": "store_true", "help": "also write which verdicts changed since those that are kept"},
    },
)
