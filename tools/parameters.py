"""Writes docs/reference/parameters.md: every parameter of every controller, its unit, range, default and meaning.

    python tools/parameters.py [--check]

With --check it writes nothing and fails if the page is out of date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from legato import _core

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "parameters.md"
HEAD = """# Parameters of the controllers

Written by `python tools/parameters.py` from the fields of the code, their doc comments and their ranges. `legato
controllers show NAME` prints the same for one controller, `NAME@KEY=VALUE` sets a parameter wherever a controller is
named, and `controller.config` in a scenario. A ratio, share or factor of what the sentence names has the unit *ratio*
or *factor*.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for entry in _core.controllers():
        rows = [row(parameter) for parameter in _core.controller_parameters(entry["name"])]
        head = "| parameter | unit | range | default | meaning |\n|---|---|---|---|---|\n"
        parts.append(f"## {entry['name']}\n\n{entry['summary']}.\n\n{head}" + "".join(rows) if rows else "")
    return "\n".join(part for part in parts if part)


def row(parameter: dict[str, str | None]) -> str:
    """One line of a table."""
    default = "absent" if parameter["default_toml"] is None else f"`{parameter['default_toml']}`"
    meaning = (parameter["meaning"] or "").replace("|", "\\|")
    return f"| `{parameter['key']}` | {parameter['unit']} | {parameter['range'] or ''} | {default} | {meaning} |\n"


def main(arguments: list[str]) -> int:
    text = page()
    if arguments == ["--check"]:
        same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        if not same:
            print("docs/reference/parameters.md is not what the code says: python tools/parameters.py", file=sys.stderr)
        return 0 if same else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
