"""Pages: inserted text is escaped, and files appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from markupsafe import Markup

from legato import atomic
from legato.errors import Error
from legato.report import pages


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
