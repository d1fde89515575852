"""What a reproduction writes: its rows as JSON and as a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from legato.results.stats import Estimate
from legato_studies.papers.reproduction import Paper, Reproduction, Row


def test_a_reproduction_is_its_rows_as_json_and_as_a_page(tmp_path: Path):
    paper = Paper("some", "Some <paper>", {"1": "Table 1", "2": "Table 2"}, digits="+.1f", printed_zero="better")
    ours = Estimate(-1.25, -2.0, -0.5, 3)
    row = Row.of("1", "delay", 0.0, ours, "met", "why <it> is", unit="ms")
    done = Reproduction(paper, tmp_path, "0.1", (row,)).write(["About it."], before_rows={"seeds": 2})
    assert json.loads((tmp_path / "reproduction.json").read_text()) == {
        "format": 1,
        "paper": "some",
        "version": "0.1",
        "seeds": 2,
        "rows": [
            {"table": "1", "name": "delay", "published": 0.0, "mean": -1.25, "low": -2.0, "high": -0.5, "unit": "ms",
             "verdict": "met", "why": "why <it> is"}
        ],
    }  # fmt: skip
    page = (tmp_path / "reproduction.html").read_text(encoding="utf-8")
    assert "Some &lt;paper&gt;, reproduced" in page and "Table 1" in page and "Table 2" not in page
    assert "better" in page and "−1.2" in page and "−2.0 … −0.5" in page and "why &lt;it&gt; is" in page
    assert done.tables() == [("Table 1", [row])]


@pytest.mark.parametrize(
    ("digits", "value", "text"),
    [("", 0.0123, "0.012"), ("", 12.34, "12.3"), ("", -123.4, "−123"), (".3g", 73.5, "73.5"), (".3g", 1150.2, "1150"),
     (".2f", None, "–"), (".2f", float("nan"), "–"), (".2f", "about half", "about half")],
)  # fmt: skip
def test_figures_are_shown_with_the_papers_digits(digits: str, value: float | str | None, text: str):
    assert Paper("p", "P", {}, digits).number(value) == text
