"""SQL over a run folder's tables, and the errors where one is absent or damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from legato.errors import RunFolderError
from legato.results.query import query, summary_rows
from run_folders import write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", controllers=("fixed", "gcc"), duration_s=2.0)


def test_tables_have_the_names_of_their_folders(run: Path) -> None:
    rows = query(
        run, "select controller, count(*) as bins from summary join series using (call) group by all order by 1"
    )
    assert [row["controller"] for row in rows] == ["fixed", "gcc"]
    assert all(row["bins"] > 0 for row in rows)


def test_a_table_that_is_not_there_is_named(run: Path) -> None:
    with pytest.raises(RunFolderError, match=r"run: Table with name gauges_of_mine does not exist: it was not logged"):
        query(run, "from gauges_of_mine")


def test_a_damaged_table_is_in_the_way_of_its_own_queries_only(run: Path) -> None:
    next((run / "series").glob("*.parquet")).write_bytes(b"damaged")
    assert len(summary_rows(run)) == len(query(run, "from summary")) > 0
    with pytest.raises(RunFolderError, match=r"run: .*parquet"):
        query(run, "from series")
