"""The leaderboard's page in a browser, wide and narrow."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from legato_studies.leaderboard import Size, leaderboard, write_page
from test_pages_browser import browser, fits, opened  # noqa: F401 - a fixture

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_as_wide_as_the_screen_and_cuts_no_label(browser: object, tmp_path: Path, width: int) -> None:  # noqa: F811
    board = leaderboard(["gcc"], out=tmp_path / "board", families=["cellular"], parts=["networks"], size=Size(2, 5.0))
    fits(opened(browser, write_page(board, tmp_path / "leaderboard.html"), width), width)
