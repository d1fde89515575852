"""The common part of all reproductions of published tables: rows with verdicts, a file of figures and a page.

A paper's module measures, judges and explains; this one plays its plans and writes ``reproduction.json`` and
``reproduction.html``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from legato import atomic
from legato.plan import Plan
from legato.report import pages, repeat
from legato.report.pages import Cell, Section
from legato.results.stats import FEWEST, Estimate
from legato.runs.sweep import Progress, sweep
from legato_studies.papers.verdict import Claim, Verdict, judged

FORMAT = 1

AS_PRINTED, STRICTER = "as printed", "stricter"
SETUPS = (AS_PRINTED, STRICTER)
"""The paper's own set-up, as nearly as can be had; and ours, with today's rivals, waiting charged, unseen networks."""


@dataclass(frozen=True)
class Row:
    """A figure as printed, ours with its interval, and the verdict."""

    table: str
    name: str
    published: float | str | None
    """A figure, or a claim in words; None: the paper says nothing of it, and there is no verdict."""
    mean: float | None
    low: float | None
    high: float | None
    unit: str | None = field(default=None, kw_only=True)
    verdict: Verdict
    why: str
    values: Mapping[str, float] | None = field(default=None, kw_only=True)
    """Each controller's own mean, where the figure is a change between them."""
    groups: int | None = field(default=None, kw_only=True)
    """Independent networks (or what the page names) that the interval is over; fewer than five give none."""
    setup: str | None = field(default=None, kw_only=True)
    """One of :data:`SETUPS`, where a claim was run in both."""
    version: str | None = field(default=None, kw_only=True)
    """Of Legato, where a row that is kept is of an earlier run than the others."""

    @classmethod
    def of(
        cls,
        table: str,
        name: str,
        published: float | str | None,
        ours: Estimate,
        verdict: Verdict,
        why: str,
        **more: Any,
    ) -> Row:
        """The row of an estimate."""
        # A paper may print a measured figure for some networks and not for others.
        if published is None and verdict == "not comparable":
            verdict = "no claim"
        if 0 < ours.groups < FEWEST:
            why += f"; an interval takes {FEWEST} of what it is over, there {'is' if ours.groups == 1 else 'are'} "
            why += f"{ours.groups}"
        more["groups"] = ours.groups or None
        return cls(table, name, published, ours.mean, ours.low, ours.high, verdict, why, **more)

    @classmethod
    def judged(
        cls, table: str, name: str, published: float | str | None, ours: Estimate, claim: Claim, **more: Any
    ) -> Row:
        """The row of a claim, judged by the one rule of :mod:`legato_studies.papers.verdict`.

        A claim without a printed figure is shown in its own words.
        """
        published = claim.words if published is None else published
        return cls.of(table, name, published, ours, *judged(claim, ours), **more)

    def document(self) -> dict[str, Any]:
        """As ``reproduction.json`` has it."""
        absent = {name for name in ("unit", "values", "groups", "setup", "version") if getattr(self, name) is None}
        return {name: value for name, value in asdict(self).items() if name not in absent}


@dataclass(frozen=True)
class Paper:
    """How a paper's tables are shown."""

    name: str
    """On the command line and in ``reproduction.json``."""
    title: str
    tables: Mapping[str, str]
    """Titles, by the tables' names in rows."""
    digits: str = ""
    """Of its figures, as a format; empty: about three significant ones."""
    printed_zero: str | None = None
    """What a printed 0 stands for, where it is not a figure."""
    over: str = "networks"
    """What intervals are over."""
    own: Callable[[Row, str], str] | None = None
    """Shows a controller's own mean of a row."""

    def number(self, value: float | str | None) -> str:
        """A figure as a reader sees it."""
        if isinstance(value, str):
            return value
        if value is None or value != value:
            return "–"
        size = abs(value)
        if self.digits:
            # Without an exponent, which three significant digits would need from 1000 on.
            return minus(f"{value:.0f}" if self.digits.endswith("g") and size >= 1_000 else f"{value:{self.digits}}")
        return minus(f"{value:.{0 if size >= 100 else 1 if size >= 10 else 2 if size >= 0.1 else 3}f}")

    def published(self, row: Row) -> str:
        """The printed figure as a reader sees it."""
        return self.printed_zero if self.printed_zero and row.published == 0 else self.number(row.published)

    def verdict(self, row: Row) -> str:
        """The verdict as a reader sees it."""
        return "–" if row.verdict == "no claim" else row.verdict

    def note(self, rows: Sequence[Row]) -> str:
        """What the intervals of a table are over, and why some rows have none."""
        groups = [row.groups for row in rows if row.groups]
        enough = [number for number in groups if number >= FEWEST]
        if not enough:
            return f"No intervals: {max(groups)} {self.over} at most, and an interval takes {FEWEST}." if groups else ""
        fewest, most = min(enough), max(enough)
        over = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
        few = f"; rows over fewer than {FEWEST} have none" if len(enough) < len(groups) else ""
        return f"Intervals are over {over} {self.over}{few}."

    def interval(self, row: Row) -> str:
        """The interval as a reader sees it, or how few there were."""
        if row.low is None and row.groups is not None and row.groups < FEWEST:
            return f"none: {row.groups} {self.over}" if row.groups > 1 else "none: only one"
        return "–" if row.low is None or row.high is None else f"{self.number(row.low)} … {self.number(row.high)}"


def minus(text: str) -> str:
    """A number's text with a minus sign in place of a hyphen."""
    return text.replace("-", "−")


@dataclass(frozen=True)
class Reproduction:
    """Rows of a paper's tables, the calls behind them, and the folder of both."""

    paper: Paper
    folder: Path
    version: str
    rows: tuple[Row, ...]
    calls: tuple[Any, ...] = ()
    real: bool = False
    """Of real calls."""

    @property
    def seeds(self) -> int:
        """How many seeds the calls have."""
        return len({call.seed for call in self.calls})

    def tables(self) -> list[tuple[str, list[Row]]]:
        """Titles of tables that have rows, with those."""
        by_title = (
            (title, [row for row in self.rows if row.table == name]) for name, title in self.paper.tables.items()
        )
        return [(title, rows) for title, rows in by_title if rows]

    def write(
        self,
        introduction: Sequence[str],
        sections: Sequence[Section] = (),
        *,
        title: str = "",
        before_rows: Mapping[str, Any] | None = None,
        behind_rows: Mapping[str, Any] | None = None,
        first: Sequence[Section] = (),
    ) -> Reproduction:
        """Write ``reproduction.json``, for scripts, and ``reproduction.html``, for readers.

        Args:
            introduction: the page's first paragraphs.
            sections: of the page, behind the tables.
            title: of the page; empty: the paper's.
            before_rows: keys of the JSON file in front of the rows.
            behind_rows: those behind rows and calls.
            first: sections in front of the tables.
        """
        document = {"format": FORMAT, "paper": self.paper.name} | ({"real": True} if self.real else {})
        document |= {"version": self.version, **(before_rows or {})}
        document["rows"] = [row.document() for row in self.rows]
        if self.calls:
            document["calls"] = [asdict(call) for call in self.calls]
        atomic.write_json(self.folder / "reproduction.json", {**document, **(behind_rows or {})})
        pages.write_sections(
            self.folder / "reproduction.html",
            title or f"{self.paper.title}, reproduced",
            introduction,
            [*first, *(self._table(title, rows) for title, rows in self.tables()), *sections, *self._to_repeat()],
            kind="reproduction",
        )
        return self

    def _to_repeat(self) -> list[Section]:
        """The commands that make each of the run folders again."""
        lines = repeat.lines(repeat.below(self.folder))
        return [Section("To repeat its runs", note=lines)] if lines else []

    def _table(self, title: str, rows: Sequence[Row]) -> Section:
        if any(row.setup for row in rows):
            return self._by_setup(title, rows)
        paper = self.paper
        own = list(rows[0].values or {}) if paper.own else []
        unit = ["unit"] if rows[0].unit is not None else []
        cells: list[list[str | Cell]] = []
        for row in rows:
            line: list[str | Cell] = [row.name, paper.published(row), paper.number(row.mean), paper.interval(row)]
            line += [paper.own(row, name) for name in own] if paper.own else []
            line += [row.unit or ""] if unit else []
            cells.append([*line, self._verdict(row)])
        return Section(
            title,
            paper.note(rows),
            columns=["figure", "published", "ours", "interval", *own, *unit, Cell("verdict", "verdict")],
            rows=cells,
        )

    def _by_setup(self, title: str, rows: Sequence[Row]) -> Section:
        """A claim a row, each set-up with its own figure and verdict."""
        paper = self.paper
        setups = [setup for setup in SETUPS if any(row.setup == setup for row in rows)]
        cells: list[list[str | Cell]] = []
        for name in dict.fromkeys(row.name for row in rows):
            of_name = {row.setup: row for row in rows if row.name == name}
            line: list[str | Cell] = [name, paper.published(next(iter(of_name.values())))]
            for setup in setups:
                row = of_name.get(setup)
                line += [paper.number(row.mean), paper.interval(row), self._verdict(row)] if row else ["–", "–", "–"]
            cells.append(line)
        head = [column for setup in setups for column in (setup, "interval", Cell("verdict", "verdict"))]
        notes = (f"{setup.capitalize()}: {paper.note([row for row in rows if row.setup == setup])}" for setup in setups)
        return Section(title, " ".join(notes), columns=["figure", "published", *head], rows=cells)

    def _verdict(self, row: Row) -> Cell:
        return Cell(self.paper.verdict(row), f"verdict {row.verdict.replace(' ', '-')}", row.why)


Bounds = tuple[float | None, float | None, float | None]
"""A mean and its interval."""


@dataclass(frozen=True)
class Grid:
    """Figures of several controllers in one setting, without claims: a controller a line, a figure a column."""

    table: str
    """The row that precedes it."""
    title: str
    columns: tuple[tuple[str, int], ...]
    """Each one's title and digits behind the point."""
    lines: tuple[tuple[str, tuple[Bounds, ...]], ...]

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Grid:
        """As ``reproduction.json`` has it."""
        lines = ((name, tuple(tuple(bounds) for bounds in cells)) for name, cells in document["lines"])
        columns = ((title, digits) for title, digits in document["columns"])
        return cls(document["table"], document["title"], tuple(columns), tuple(lines))

    def shown(self) -> list[list[str]]:
        """The lines as a reader sees them."""
        return [
            [name, *(_bounds(cell, digits) for cell, (_, digits) in zip(cells, self.columns, strict=True))]
            for name, cells in self.lines
        ]


def _bounds(cell: Bounds, digits: int) -> str:
    # Zero is added, so that what rounds to nothing has no sign.
    mean, low, high = ("" if x is None else minus(f"{round(x, digits) + 0.0:.{digits}f}") for x in cell)
    return f"{mean} ({low} to {high})" if mean and low else mean or "–"


def pairs(calls: Sequence[Any], own: str, other: str, key: Callable[[Any], Hashable]) -> list[tuple[Any, Any]]:
    """The calls of two controllers that have the same ``key``, side by side."""
    others = {key(call): call for call in calls if call.controller == other}
    return [(call, others[key(call)]) for call in calls if call.controller == own and key(call) in others]


Figure = tuple[str, float, int]
"""A column of a table of means: its title, what values are multiplied by, and digits behind the point."""
SEEN: Mapping[str, Figure] = {
    "viewed_delay_p95_ms": ("p95 frame delay as viewed ms", 1.0, 0),
    "on_time_150ms_ratio": ("on time, 150 ms %", 100.0, 1),
    "stall_ratio": ("time stalled %", 100.0, 2),
    "utilisation_ratio": ("utilisation %", 100.0, 0),
    "loss_ratio": ("loss %", 100.0, 1),
    "qoe_p": ("QoE p", 1.0, 3),
    "qoe_d": ("QoE d", 1.0, 3),
    "viewed_qoe_p": ("QoE p as viewed", 1.0, 3),
    "viewed_qoe_d": ("QoE d as viewed", 1.0, 3),
}
"""Columns of the means behind a paper's figures, by the columns of calls."""
Means = tuple[str, Sequence[float | None]]
"""A row of such a table: its name, and a mean for each column."""


def means(title: str, columns: Sequence[Figure], rows: Sequence[Means], note: str = "") -> Section:
    """The means that follow a paper's figures."""

    def shown(value: float | None, column: Figure) -> str:
        return "–" if value is None or value != value else minus(f"{value * column[1]:.{column[2]}f}")

    cells = [[name, *(shown(*pair) for pair in zip(values, columns, strict=True))] for name, values in rows]
    return Section(title, note, ["", *(name for name, _, _ in columns)], cells)


def play(
    plans: Mapping[str, Plan],
    folder: Path,
    *,
    threads: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
) -> dict[str, Path]:
    """Make the calls of several plans one after the other, each below ``folder`` in a run folder of its name.

    Parts that are finished are not made again.
    """
    calls, done = sum(plan.sessions for plan in plans.values()), (0, 0.0, 0.0)
    for name, plan in plans.items():

        def watched(now: Progress, before: tuple[int, float, float] = done) -> None:
            made = (now.calls_done, now.simulated_s, now.wall_s)
            if on_progress is not None:
                calls_done, simulated_s, wall_s = (sum(pair) for pair in zip(before, made, strict=True))
                on_progress(Progress(int(calls_done), calls, simulated_s, wall_s))

        run = sweep(plan, folder / name, threads=threads, resume=True, on_progress=watched)
        done = done[0] + run.calls, done[1] + run.simulated_s, done[2] + run.wall_s
    return {name: folder / name for name in plans}
