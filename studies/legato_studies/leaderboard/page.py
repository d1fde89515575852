"""A leaderboard as a page and as Markdown: the sorted table first, then pictures, then every figure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from legato import atomic
from legato.report import pages
from legato.report.pages import Cell, Section
from legato_studies.leaderboard import tables
from legato_studies.leaderboard.board import BASE, CEILING, Board
from legato_studies.leaderboard.measures import P95, PICTURE, STALLED
from legato_studies.leaderboard.pictures import Bar, Point, bars, scatter
from legato_studies.page import markdown

TITLE = "Leaderboard"
OWN = "legato"
COLOURS = {OWN: "c0", BASE: "c1", CEILING: "c2", "oracle": "c2"}
WORST_P95_MS = 700.0
WORST_PICTURE_DB = 15.0
"""Where the axes of the picture end; points beyond are drawn at their edges."""


def sections(board: Board) -> list[Section]:
    """All of the page, in its order."""
    order = list(tables.standing(board))
    found = [tables.first(board, order)]
    if board.networks is not None:
        found += _pictures(board, order)
        found += tables.of_networks(board, order)
    if board.company is not None:
        found.append(tables.of_company(board.company, order))
    if board.edges is not None:
        found.append(tables.of_edges(board.edges, order))
    if (judged := tables.of_conformance(board, order)) is not None:
        found.append(judged)
    return [*found, *tables.of_papers(board, order)]


def introduction(board: Board) -> list[str]:
    """The calls played."""
    said = [
        f"{len(board.controllers)} controllers in one table: on recorded links, in company, in edge cases, in the "
        "cases of RFC 8867 and 8869, and in the settings of two papers."
    ]
    if board.networks is not None:
        said.append(
            f"Each plays the same {len(board.networks)} recorded links with {', '.join(board.clips)} by "
            f"{' and '.join(board.encoders)}, {board.size.duration_s:g} s per call, seed 1. Live links have no second "
            "below 50 kbit/s. Delays are those of every captured frame until something as new is shown; on time is of "
            "all captured frames. legato was tuned on every second file of each family; these links are of the others, "
            "and the clips too were not in its tuning. clairvoyant knows when each byte will cross the link; oracle "
            "knows the capacity alone. Means have 95 % intervals over networks, where there are five or more."
        )
    return said


def write_page(board: Board, path: str | Path) -> Path:
    """The HTML page."""
    shown = [_with_own_row(section) for section in sections(board)]
    return pages.write_sections(path, TITLE, introduction(board), shown, kind="leaderboard")


def write_markdown(board: Board, path: str | Path, command: str) -> Path:
    """The same tables as Markdown; ``command`` is the one that writes it."""
    text = f"# {TITLE}\n\n{said(board, command)}\n\n{markdown(marked(sections(board)))}\n"
    return atomic.write_text(path, text)


def said(board: Board, command: str) -> str:
    """The calls played, and the command that writes the page."""
    first, *rest = introduction(board)
    return "\n\n".join(map(_wrapped, [f"Written by `{command}`. {first}", *rest]))


def marked(found: Sequence[Section]) -> list[Section]:
    """Sections for Markdown, without their pictures: the first cell is a name, a goal that is met is bold, others are
    slanted.
    """
    return [
        Section(
            section.title,
            _wrapped(section.note),
            [str(column) for column in section.columns],
            [[f"`{row[0]}`", *map(_cell, row[1:])] for row in section.rows],
        )
        for section in found
        if section.rows
    ]


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 119, break_long_words=False, break_on_hyphens=False)


def _cell(cell: str | Cell) -> str:
    if isinstance(cell, str):
        return cell
    mark = {"met": "**", "not-met": "*"}.get(cell.kind, "")
    return f"{mark}{cell.text}{mark}"


def _with_own_row(section: Section) -> Section:
    rows = [
        tuple(cell if isinstance(cell, Cell) else Cell(cell, "own") for cell in row) if row[0] == OWN else row
        for row in section.rows
    ]
    note = section.note.replace("`", "").replace("**Bold**", "Green").replace("*slanted*", "red")
    columns = [column.replace("`", "") if isinstance(column, str) else column for column in section.columns]
    return Section(section.title.replace("`", ""), note, columns, rows, section.legend, section.charts)


def _pictures(board: Board, order: Sequence[str]) -> list[Section]:
    assert board.networks is not None, "pictures are of networks"
    alive = tables.live(board.networks)
    points = []
    for name in order:
        delay, picture, stalled = (alive.mean(name, measure).mean for measure in (P95, PICTURE, STALLED))
        if delay is not None and picture is not None and stalled is not None:
            hint = f"{name}: p95 {delay:.0f} ms, {picture:.2f} dB, stalled {100 * stalled:.2f} %"
            points.append(Point(name, delay, picture, COLOURS.get(name, "other"), hint))
    rows = [
        Bar(name, 100 * share.mean, None if share.low is None else 100 * share.low,
            None if share.high is None else 100 * share.high, COLOURS.get(name, "other"))
        for name, share in tables.standing(board).items()
        if share.mean is not None
    ]  # fmt: skip
    plane = scatter(
        points,
        x_title="p95 delay as viewed, ms",
        y_title="SSIM as viewed, dB",
        x_end=WORST_P95_MS,
        y_low_db=WORST_PICTURE_DB,
    )
    shares = bars(rows, title=f"% of the way from {BASE} to {CEILING}", low=-100, high=100)
    note = "Live links, means over clips and encoders."
    return [
        Section("What a viewer sees, and how late", f"{note} The best are at the top left.", charts=[("", plane)]),
        Section("Headroom closed", note, charts=[("", shares)]),
    ]
