"""Run folders are read in one place: studies ask `legato.results`, and open no table themselves."""

from __future__ import annotations

import re
from pathlib import Path

SOURCES = sorted((Path(__file__).parents[1] / "legato_studies").rglob("*.py"))


def test_no_study_opens_a_table_of_a_run_by_itself() -> None:
    assert len(SOURCES) > 60
    for source in SOURCES:
        text = source.read_text(encoding="utf-8")
        assert not re.search(r"\bimport duckdb\b|read_parquet", text), source
