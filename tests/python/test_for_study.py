"""Which learned controllers are for study: what the registry says is what docs/generalisation.md measured."""

from __future__ import annotations

import re
from pathlib import Path

import legato

PAGE = Path(__file__).resolve().parents[2] / "docs" / "generalisation.md"


def losers() -> tuple[set[str], set[str]]:
    """Controllers of the page's first table, and those that a score of the whole call puts below GCC somewhere."""
    lines = PAGE.read_text(encoding="utf-8").split("## With H.264")[1].split("\n## ")[0].splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    names = table[0][3:]
    worse = {
        name
        for row in table[2:]
        if row[2].startswith("QoE")
        for name, cell in zip(names, row[3:], strict=True)
        if cell.startswith("**")
    }
    return set(names), worse


def test_learned_controllers_that_lose_to_gcc_somewhere_are_for_study():
    measured, worse = losers()
    learned = {entry["name"]: entry for entry in legato.controllers() if entry["learned"]}
    assert measured == set(learned)
    assert worse == {name for name, entry in learned.items() if entry["for_study"]}
    assert "r3net" not in worse
    assert not any(entry["for_study"] for entry in legato.controllers() if not entry["learned"])


def test_the_list_names_what_is_for_study(capsys):
    from legato.cli import main

    try:
        main(["controllers", "list"])
    except SystemExit as done:
        assert not done.code
    shown = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "; for study" in shown
