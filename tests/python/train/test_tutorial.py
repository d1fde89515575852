"""The tutorial's policy of a minute is trained and compared as printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from fixtures import ROOT, Legato
from test_documents import runs_from_top_to_bottom

pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)


@pytest.mark.slow
def test_the_commands_of_the_tutorial_run_one_after_the_other(legato: Legato, tmp_path: Path):
    runs_from_top_to_bottom(ROOT / "docs/tutorial/train-in-a-minute.md", legato, tmp_path)
