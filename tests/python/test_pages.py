"""Pages: what is inserted is escaped, and files appear whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from markupsafe import Markup

from legato import atomic, pages
from legato.errors import Error
from legato.published.reproduction import Paper, Reproduction, Row
from legato.results.stats import Estimate


def test_what_a_page_is_given_is_escaped_and_markup_is_not(tmp_path: Path):
    section = pages.Section("<t>", "<n>", ["<c>"], [["<r>", pages.Cell("<x>", hint='"<h>')]], [("c0", "<l>")])
    page = pages.write_sections(tmp_path / "page.html", "<title>", [Markup("<b>{}</b>").format("<v>")], [section])
    text = page.read_text(encoding="utf-8")
    for name in ("t", "n", "c", "r", "x", "h", "l", "v"):
        assert f"<{name}>" not in text.partition("<body>")[2] and f"&lt;{name}&gt;" in text
    assert "<b>&lt;v&gt;</b>" in text and "<h1>&lt;title&gt;</h1>" in text


def test_a_name_that_a_template_lacks_is_an_error():
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="title"):
        pages.render("sections.html", introduction=[], sections=[])


def test_a_file_that_cannot_be_written_leaves_what_was_there(tmp_path: Path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("x")
    with pytest.raises(Error, match="there: cannot be written"):
        atomic.write_text(tmp_path / "there", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_json_holds_null_where_a_figure_is_not_finite(tmp_path: Path):
    path = atomic.write_json(tmp_path / "new" / "x.json", {"a": [float("nan"), (1.5, float("inf"))]})
    assert path.read_text() == '{\n "a": [\n  null,\n  [\n   1.5,\n   null\n  ]\n ]\n}\n'


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
