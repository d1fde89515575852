"""Pages of docs that studies write: what a study found is kept as data, and its page is rendered from that.

A study declares a :class:`Page` and finds the facts and sections; `python -m legato_studies.pages` plays, renders and
checks them all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from legato import atomic
from legato.report.pages import Section
from legato_studies import command

ROOT = Path(__file__).resolve().parents[2]
"""Of the checkout: pages are written there, not where the package is installed."""
DOCS = ROOT / "docs"
KEPT = ROOT / "studies" / "results"
TEMPLATES = Path(__file__).with_name("pages")

Options = command.Given
T = TypeVar("T")


@dataclass(frozen=True)
class Found:
    """What a study found, as its page shows it."""

    values: Mapping[str, Any]
    """For the places of the page's template: numbers, text, a :class:`Section` or several."""
    pictures: Mapping[str, str] = field(default_factory=dict)
    """SVG by its file name in docs/images. Not kept as data."""


@dataclass(frozen=True)
class Page:
    """A page that a study writes as a whole: the template is NAME.md.in next to the study, the data studies/results."""

    name: str
    play: Callable[[Options], Found]
    """Measures, in the time that the study takes."""
    options: command.Options = field(default_factory=dict)
    folder: str = "docs/measured"

    @property
    def path(self) -> Path:
        """The file of the page."""
        return ROOT / self.folder / f"{self.name}.md"

    @property
    def data(self) -> Path:
        """The file of its data."""
        return KEPT / f"{self.name}.json"

    def run(self, options: Options) -> None:
        """Play, keep the findings, and write the page."""
        self.keep(self.play(options))

    def keep(self, found: Found) -> None:
        """Keep the findings, and write the page."""
        atomic.write_json(self.data, {name: _document(value) for name, value in found.values.items()})
        for name, picture in found.pictures.items():
            atomic.write_text(DOCS / "images" / name, picture)
        self.write()

    def kept(self) -> Mapping[str, Any] | None:
        """The findings of the last time it was played."""
        return json.loads(self.data.read_text(encoding="utf-8")) if self.data.exists() else None

    def texts(self) -> Mapping[Path, str]:
        """The page of the kept findings; nothing if it was never played."""
        found = self.kept()
        template = (TEMPLATES / f"{self.name}.md.in").read_text(encoding="utf-8")
        return {} if found is None else {self.path: render(template, found)}

    def write(self) -> None:
        """Write the page of what is kept."""
        write(self.texts())


@dataclass(frozen=True)
class Tables:
    """Tables of pages whose words are written by hand."""

    run: Callable[[Options], None]
    """Keeps the findings, and writes the pages."""
    texts: Callable[[], Mapping[Path, str]] = dict
    """Every page as its data give it; nothing where no data are kept."""
    options: command.Options = field(default_factory=dict)

    def write(self) -> None:
        """Write the pages of what is kept."""
        write(self.texts())


def write(texts: Mapping[Path, str]) -> None:
    """Write pages, each whole or not at all."""
    for path, text in texts.items():
        atomic.write_text(path, text)


def stale(page: Page | Tables) -> list[Path]:
    """Pages that are not what their data give."""
    return [path for path, text in page.texts().items() if path.read_text(encoding="utf-8") != text]


def render(template: str, values: Mapping[str, Any]) -> str:
    """A template with its places filled: tables and sections as Markdown, all else as ``str.format`` has it."""
    return template.format(**{name: _shown(value) for name, value in values.items()})


def markdown(sections: Iterable[Section]) -> str:
    """Of each section the title, the note and the table, an empty line apart."""
    return str(_shown([_document(section) for section in sections]))


_FIELDS = ("title", "note", "columns", "rows")


def _document(value: Any) -> Any:
    if isinstance(value, Section):
        return {name: getattr(value, name) for name in _FIELDS if getattr(value, name)}
    return [_document(each) for each in value] if isinstance(value, list) else value


def _shown(value: Any) -> Any:
    if isinstance(value, list):
        return "\n\n".join(map(_shown, value))
    if not isinstance(value, dict):
        return value
    blocks = [f"## {value['title']}"] if "title" in value else []
    blocks += [value["note"]] if "note" in value else []
    blocks += ["\n".join(lines(value["columns"], value["rows"]))] if "columns" in value else []
    return "\n\n".join(blocks)


def lines(columns: Sequence[Any], rows: Iterable[Sequence[Any]]) -> list[str]:
    """A table as Markdown."""
    head, *rest = ("|" + "".join(f" {cell} |" if str(cell) else " |" for cell in row) for row in (columns, *rows))
    return [head, "|" + "---|" * len(columns), *rest]


def table(columns: Mapping[str, Callable[[T], str]], rows: Iterable[T], title: str = "", note: str = "") -> Section:
    """A section with a table, by what each column shows of a row."""
    shown = [[cell(row) for cell in columns.values()] for row in rows]
    return Section(title, note, list(columns), shown)
