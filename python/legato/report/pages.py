"""Pages: each one self-contained HTML file, filled in by a template of ``templates/``.

Jinja2 escapes all inserted text. Text that holds markup is a :class:`markupsafe.Markup`, and values formatted into one
are escaped too.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from legato import atomic

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class Cell:
    """A cell of a table that needs more than its text."""

    text: str
    kind: str = ""
    """Its CSS class."""
    hint: str = ""
    """Shown where the pointer rests on it."""


@dataclass(frozen=True)
class Section:
    """A part of a page: any of a note, a table, a legend and charts."""

    title: str
    note: str = ""
    columns: Sequence[str | Cell] = ()
    rows: Sequence[Sequence[str | Cell]] = ()
    """Cells by row; the first names the row."""
    legend: Sequence[tuple[str, str]] = ()
    """Line classes of :mod:`legato.report.chart`, and the text that explains each."""
    charts: Sequence[tuple[str, str]] = ()
    """Captions and pictures."""


def counted(number: int, what: str) -> str:
    """``1 clip``, ``6 clips``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def write_sections(
    path: str | Path, title: str, introduction: Sequence[str], sections: Sequence[Section], *, kind: str = ""
) -> Path:
    """Write a page of one section after the other; ``kind`` follows the product's name."""
    return write(path, "sections.html", title=title, introduction=introduction, sections=sections, kind=kind)


def write(path: str | Path, template: str, **values: Any) -> Path:
    """Write the page that a template makes of ``values``; it appears whole or not at all."""
    return atomic.write_text(path, render(template, **values))


def render(template: str, **values: Any) -> str:
    """The page that a template makes of ``values``; a name that the template needs and that is absent is an error."""
    return _environment().get_template(template).render(**values)


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("legato.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
