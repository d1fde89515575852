"""The tables of docs/papers are those of the reproductions that are kept beside them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

PAPERS = Path(__file__).resolve().parents[2] / "docs" / "papers"
KEPT = sorted((PAPERS / "reproduced").glob("*.json"))


@pytest.fixture(scope="module")
def paper_tables(tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("paper_tables")


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_a_page_has_the_tables_of_its_reproduction(paper_tables: ModuleType, kept: Path) -> None:
    page = (PAPERS / f"{kept.stem}.md").read_text(encoding="utf-8")
    assert paper_tables.written(page, json.loads(kept.read_text(encoding="utf-8"))) == page


def test_set_ups_stand_side_by_side(paper_tables: ModuleType) -> None:
    row = {"table": "III", "name": "gain", "published": 0.79, "why": "because", "low": -0.5, "high": 0.5}
    rows = [
        {**row, "mean": 0.1, "verdict": "not met", "setup": "stricter"},
        {**row, "mean": 0.8, "verdict": "met", "setup": "as printed"},
        {**row, "name": "extra", "mean": 1.0, "low": None, "high": None, "verdict": "undecidable", "setup": "stricter"},
    ]
    text = paper_tables.tables({"paper": "vtfrc", "rows": rows})
    assert "| figure | published | as printed | verdict | stricter | verdict |" in text
    assert "| gain | 0.79 | 0.80 (−0.50 to 0.50) | met | 0.10 (−0.50 to 0.50) | not met |" in text
    assert "| extra | 0.79 | – | – | 1.00 | undecidable |" in text
