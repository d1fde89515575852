"""Lines over time: as SVG for a page or a separate file, and in a terminal with braille dots.

A page's style (``templates/page.css``) gives a line its colour by its class. Reports draw with D3 in the reader's
browser (:mod:`legato.report`), everything else is drawn here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

Point = tuple[float, float]
Label = tuple[float, str]
"""A value of an axis and its text."""

_RIGHT, _TOP, _GAP, _FOOT, _TITLE = 8, 6, 12, 22, 15
_LETTER = 9.6  # the width of one at the largest size a style gives, 15 units on a narrow screen, in a wide font
_BRAILLE_BLANK = 0x2800
# Unicode's numbering of the eight dots of a cell, by [row][column].
_BRAILLE_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_SCALE_ENDS = (1, 1.5, 2, 3, 4, 5, 6, 8)
_STEPS = (1, 2, 2.5, 5)
# A picture that stands alone, legible on light and on dark.
_STYLE = Markup(
    "<style>svg{background:#fff}text{font:12px system-ui,sans-serif;fill:#444}.grid{stroke:#ddd}"
    ".line{fill:none;stroke:#0b6bcb;stroke-width:1.5}"
    "@media(prefers-color-scheme:dark){svg{background:#16181c}text{fill:#bbb}.grid{stroke:#333}"
    ".line{stroke:#6cb2ff}}</style>"
)

# Colours of several lines; the pages' own, on light and on dark.
_COLOURED = ((".line", "stroke"), ("text", "fill"))
_COLOURS = ("#2759bb", "#aa2400", "#5f9459", "#7f4385"), ("#2191f2", "#c76b29", "#7dd086", "#b86ab0")


@dataclass(frozen=True)
class Line:
    """Points joined by a line."""

    kind: str
    """CSS classes: ``c0`` to ``c4``, ``other``, ``dashed``, ``available``; ``area`` is filled instead."""
    points: Sequence[Point]
    """NaN as a value lifts the pen; what lies beyond the axis is drawn at its end."""


@dataclass(frozen=True)
class Dot:
    """One point with a text."""

    kind: str
    at: Point
    hint: str
    opacity_ratio: float = 1.0


@dataclass(frozen=True)
class Axes:
    """A pair of axes; what several share is the horizontal one."""

    lines: Sequence[Line]
    dots: Sequence[Dot] = ()
    low: float = 0.0
    high: float | None = None
    """None: a round number that nothing is above."""
    height: int = 180
    labels: Sequence[Label] = ()
    """Of the vertical axis; none: round values."""
    title: str = ""
    """What the vertical axis shows, with its unit; written above it."""

    @property
    def points(self) -> list[Point]:
        """All points that are drawn."""
        of_lines = [point for line in self.lines for point in line.points if point[1] == point[1]]
        return of_lines + [dot.at for dot in self.dots]


def draw(
    axes: Sequence[Axes],
    title: str,
    *,
    width: int = 560,
    x_end: float | None = None,
    unit: str = "",
    x_marks: Sequence[float] = (),
) -> Markup:
    """Axes above each other, as an SVG element of a page.

    Args:
        axes: from top to bottom.
        title: of the picture, for readers that hear it.
        width: of the picture, in units of its text of about 10.
        x_end: of the horizontal axis, which begins at 0; None: the last point's.
        unit: written behind each number of the horizontal axis.
        x_marks: where vertical lines are drawn.
    """
    return _svg(axes, width, x_end, unit, x_marks, Markup(' role="img" aria-label="{}"').format(title), Markup(""))


def picture(axes: Sequence[Axes], title: str) -> Markup:
    """Axes above each other over seconds, as an SVG file that needs no page, 900 wide."""
    head = Markup('<title>{}</title>{}<text x="44" y="18">{}</text>').format(title, _STYLE, title)
    return (
        _svg(axes, 900, None, " s", (), Markup(' xmlns="http://www.w3.org/2000/svg" role="img"'), head, top=30) + "\n"
    )


def figure(axes: Sequence[Axes], *, title: str, names: Sequence[str], unit: str) -> Markup:
    """Axes above each other as an SVG file that needs no page, 900 wide; ``names`` are those of lines c0 to c3."""
    light, dark = (
        "".join(f"{kind}.c{n}{{{what}:{colour}}}" for n, colour in enumerate(colours) for kind, what in _COLOURED)
        for colours in _COLOURS
    )
    more = f".dashed{{stroke-dasharray:5 4}}{light}@media(prefers-color-scheme:dark){{{dark}}}</style>"
    style = str(_STYLE).replace("</style>", more)
    legend, at = [], 44
    for n, name in enumerate(names):
        legend.append(Markup('<text class="c{}" x="{}" y="18">{}</text>').format(n, at, name))
        at += 24 + round(_LETTER * len(name))
    head = Markup("<title>{}</title>").format(title) + Markup(style) + Markup("").join(legend)
    namespace = Markup(' xmlns="http://www.w3.org/2000/svg" role="img"')
    return _svg(axes, 900, None, unit, (), namespace, head, top=30) + Markup("\n")


def _svg(
    axes: Sequence[Axes],
    width: int,
    end: float | None,
    unit: str,
    marks: Sequence[float],
    attributes: Markup,
    head: Markup,
    *,
    top: int = _TOP,
) -> Markup:
    left = max(44, *(8 + round(_LETTER * len(text)) for each in axes for _, text in _labels(each)))
    points = [point for each in axes for point in each.points]
    end = end or max((x for x, _ in points), default=1.0) or 1.0
    height = top + sum(each.height + _title_height(each) for each in axes) + _GAP * (len(axes) - 1) + _FOOT

    def across(x: float) -> float:
        return left + (width - left - _RIGHT) * x / end

    parts: list[Markup] = []
    for each in axes:
        if each.title:
            parts.append(Markup('<text class="title" x="{}" y="{}">{}</text>').format(left, top + 9, each.title))
        top += _title_height(each)
        parts += _axes(each, across, top, left, width)
        parts += [
            Markup('<path class="grid" d="M{:.1f},{}V{}"/>').format(across(at), top, top + each.height) for at in marks
        ]
        top += each.height + _GAP
    for tick in ticks(0.0, end):
        x, label = across(tick), f"{tick:g}{unit}"
        # A label at the end of the axis stays within the picture.
        at, anchor = (width, "end") if x + _LETTER / 2 * len(label) > width else (x, "middle")
        text = Markup('<text x="{:.1f}" y="{}" text-anchor="{}">{}</text>')
        parts.append(text.format(at, height - 6, anchor, label))
    return Markup('<svg viewBox="0 0 {} {}"{}>{}{}</svg>').format(
        width, height, attributes, head, Markup("").join(parts)
    )


def _range(axes: Axes) -> tuple[float, float]:
    high = nice_ceiling(max((y for _, y in axes.points), default=1.0)) if axes.high is None else axes.high
    return axes.low, high if high > axes.low else axes.low + 1.0


def _labels(axes: Axes) -> Sequence[Label]:
    """Those of the vertical axis."""
    most = max(axes.height // 36, 2)
    return axes.labels or [(tick, f"{tick:g}") for tick in ticks(*_range(axes), most=most)]


def _title_height(axes: Axes) -> int:
    return _TITLE if axes.title else 0


def _axes(axes: Axes, across: Callable[[float], float], top: int, left: int, width: int) -> Iterator[Markup]:
    low, high = _range(axes)

    def down(y: float) -> float:
        return top + axes.height * (1 - (min(max(y, low), high) - low) / (high - low))

    for value, text in _labels(axes):
        y = down(value)
        yield Markup('<path class="grid" d="M{},{:.1f}H{}"/>').format(left, y, width - _RIGHT)
        yield Markup('<text x="{}" y="{:.1f}" text-anchor="end">{}</text>').format(left - 5, y + 3.5, text)
    for line in axes.lines:
        drawn = "".join(
            "M" + "L".join(f"{across(x):.1f},{down(y):.1f}" for x, y in part)
            for known, part in itertools.groupby(line.points, lambda point: point[1] == point[1])
            if known
        )
        if drawn:
            yield Markup('<path class="{}" d="{}"/>').format(f"line {line.kind}".rstrip(), drawn)
    for dot in axes.dots:
        yield Markup(
            '<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="4.5" opacity="{:.2f}"><title>{}</title></circle>'
        ).format(dot.kind, across(dot.at[0]), down(dot.at[1]), dot.opacity_ratio, dot.hint)


def nice_ceiling(value: float, mantissas_ratio: Sequence[float] = _SCALE_ENDS) -> float:
    """The smallest of ``mantissas_ratio`` times a power of ten that is not below ``value``; 1 for nothing."""
    if value <= 0.0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    candidates = (tick * power for tick in mantissas_ratio if tick * power >= value * (1 - 1e-9))
    return float(next(candidates, 10 * power))


def ticks(low: float, high: float, most: int = 8) -> list[float]:
    """At most about ``most`` round numbers from ``low`` to ``high``."""
    step = nice_ceiling(max(high - low, 1e-9) / most, _STEPS)
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [float(round(n * step, 12)) for n in range(first, last + 1)]


def in_terminal(
    times_s: Sequence[float], values: Sequence[float], *, unit: str, columns: int = 72, rows: int = 12
) -> list[str]:
    """The curve as lines of text: ``rows`` lines of plot under a scale, and a time axis.

    Each dot column shows the range of the values that fall into it, so a short outage is not lost.
    """
    dots_wide, dots_high = columns * 2, rows * 4
    lows, highs = _ranges(values, dots_wide)
    top = nice_ceiling(max(highs, default=0.0))
    cells = np.zeros((rows, columns), dtype=np.int64)
    for x, (low, high) in enumerate(zip(lows, highs, strict=True)):
        first = round(low / top * (dots_high - 1))
        last = round(high / top * (dots_high - 1))
        for y in range(first, last + 1):
            row, dot_row = divmod(dots_high - 1 - y, 4)
            cells[row, x // 2] |= _BRAILLE_DOTS[dot_row][x % 2]
    labels = {0: f"{top:g}", rows // 2: f"{top / 2:g}", rows - 1: "0"}
    width = max(len(label) for label in labels.values())
    lines = [f"{unit}"]
    for row in range(rows):
        label = labels.get(row, "")
        edge = "┤" if label else "│"
        lines.append(f"{label:>{width}} {edge}" + "".join(chr(_BRAILLE_BLANK + int(cell)) for cell in cells[row]))
    lines.append(" " * width + " └" + "─" * columns)
    start, end = f"{times_s[0]:.0f} s", f"{times_s[-1]:.0f} s"
    lines.append(" " * (width + 2) + start + " " * (columns - len(start) - len(end)) + end)
    return lines


def _ranges(values: Sequence[float], bins: int) -> tuple[list[float], list[float]]:
    array = np.asarray(values, dtype=np.float64)
    edges = itertools.pairwise(np.linspace(0, len(array), bins + 1))
    pieces = [array[int(low) : max(int(np.ceil(high)), int(low) + 1)] for low, high in edges]
    return [float(piece.min()) for piece in pieces], [float(piece.max()) for piece in pieces]
