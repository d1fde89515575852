"""The tutorial's policy of a minute is trained and compared as printed."""

from __future__ import annotations

from pathlib import Path

import pytest

import printed_tables

pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)


@pytest.mark.slow
def test_the_commands_of_the_tutorial_run_one_after_the_other(tmp_path: Path):
    list(printed_tables.run(printed_tables.ROOT / "docs/tutorial/train-in-a-minute.md", tmp_path))
