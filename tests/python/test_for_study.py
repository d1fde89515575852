"""Which learned controllers are for study: what the registry says is what docs/measured/generalisation.md measured."""

from __future__ import annotations

import re
from pathlib import Path

import legato

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measured" / "generalisation.md"


def tables() -> dict[str, dict[str, list[str]]]:
    """Cells of each controller, by the codec of the page's tables."""
    found = {}
    for part in PAGE.read_text(encoding="utf-8").split("\n## With ")[1:]:
        lines = [line for line in part.split("\n## ")[0].splitlines() if line.startswith("|")]
        head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        columns = zip(head[3:], zip(*(row[3:] for row in rows), strict=True), strict=True)
        found[part.splitlines()[0]] = {name: list(cells) for name, cells in columns}
    return found


def worse(cells: list[str]) -> bool:
    """Whether a figure is worse than GCC's by more than its interval."""
    return any(cell.startswith("**") for cell in cells)


def test_learned_controllers_that_lose_to_gcc_somewhere_with_their_own_codec_are_for_study():
    of = tables()
    h264, standin = of["H.264"], of["the loss-tolerant stand-in"]
    learned = {entry["name"]: entry for entry in legato.controllers() if entry["learned"]}
    assert set(h264) == set(learned)
    assert set(standin) == {"nvc-cc", "aurora", "onrl"}, "those trained for the stand-in"
    own_codec = h264 | standin
    losers = {name for name, cells in own_codec.items() if worse(cells)}
    assert losers == {name for name, entry in learned.items() if entry["for_study"]}
    assert losers == set(learned) - {"r3net"}
    assert not any(entry["for_study"] for entry in legato.controllers() if not entry["learned"])


def test_a_cell_counts_as_worse_where_the_page_says_so():
    assert worse(["+0.01 (-0.02 to 0.03)", "**-0.11 (-0.21 to -0.03)**"])
    assert not worse(["-0.09 (-0.23 to 0.04)", "+0.1"])


def test_the_list_names_what_is_for_study(capsys):
    from legato.cli import main

    try:
        main(["controllers", "list"])
    except SystemExit as done:
        assert not done.code
    shown = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "; for study" in shown
