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


def test_a_run_without_trainings_keeps_their_tables_and_says_of_which_version(paper_tables: ModuleType) -> None:
    row = {"published": 0.82, "why": "because", "mean": 1.0, "low": None, "high": None, "verdict": "undecidable"}
    before = {"paper": "concerto", "version": "old", "rows": [{**row, "table": "Table 3", "name": "2-state"}]}
    before["rows"].append({**row, "table": "Fig. 20", "name": "gone"})
    found = {"paper": "concerto", "version": "new", "rows": [{**row, "table": "Fig. 21", "name": "delay"}]}
    merged = paper_tables.with_earlier(found, before)
    assert [each["name"] for each in merged["rows"]] == ["delay", "2-state"]
    assert merged["earlier"] == {"Table 3": "old"}
    assert paper_tables.with_earlier({**found, "version": "newer"}, merged)["earlier"] == {"Table 3": "old"}
    assert "Of an earlier run, with old." in paper_tables.tables(merged)
    trained = {**found, "rows": [{**row, "table": "Table 3", "name": "loss 1"}]}
    assert "earlier" not in paper_tables.with_earlier(trained, merged)


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
