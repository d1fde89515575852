"""Two pictures: controllers as points over two figures, and as bars with intervals. SVG, styled by the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from legato.report.chart import ticks

WIDTH, LEFT, RIGHT, TOP, FOOT = 720, 60, 18, 30, 42
LETTER = 6.2
"""Width of a letter of a name, in units of the picture; on a narrow screen it is half as much again."""
ROW = 19
_ACROSS = Markup('<path class="grid" d="M{0:.1f},{1}V{2}"/><text x="{0:.1f}" y="{3}" text-anchor="middle">{4:g}</text>')
"""A mark of the horizontal axis."""


@dataclass(frozen=True)
class Point:
    """A controller in the plane."""

    name: str
    x: float
    y: float
    kind: str = "other"
    """CSS class of its colour."""
    hint: str = ""


@dataclass(frozen=True)
class Bar:
    """A controller's figure; None where there is no interval."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    kind: str = "other"


@dataclass(frozen=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def scatter(
    points: Sequence[Point], *, x_title: str, y_title: str, x_end: float, y_low_db: float, height: int = 470
) -> Markup:
    """Points with their names; a point right of ``x_end`` or below ``y_low_db`` is drawn at the edge."""
    drawn = [point for point in points if point.x == point.x and point.y == point.y]
    low = max(min((point.y for point in drawn), default=0.0) - 0.3, y_low_db)
    high = max((point.y for point in drawn), default=1.0) + 0.3

    def across(x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(x, x_end) / x_end

    def down(y: float) -> float:
        return TOP + (height - TOP - FOOT) * (high - max(y, low)) / (high - low)

    parts = [Markup('<text class="title" x="{}" y="16">{}</text>').format(LEFT, y_title)]
    for tick in ticks(0.0, x_end):
        parts.append(_ACROSS.format(across(tick), TOP, height - FOOT, height - FOOT + 14, tick))
    for tick in ticks(low, high):
        parts.append(
            Markup('<path class="grid" d="M{},{:.1f}H{}"/><text x="{}" y="{:.1f}" text-anchor="end">{:g}</text>')
            .format(LEFT, down(tick), WIDTH - RIGHT, LEFT - 6, down(tick) + 3.5, tick)
        )  # fmt: skip
    title = Markup('<text class="title" x="{}" y="{}" text-anchor="end">{}</text>')
    parts.append(title.format(WIDTH - RIGHT, height - 8, x_title))
    taken = [_Box(across(p.x) - 5, down(p.y) - 5, across(p.x) + 5, down(p.y) + 5) for p in drawn]
    for point in drawn:
        x, y = across(point.x), down(point.y)
        dot = Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="4.5"><title>{}</title></circle>')
        parts.append(dot.format(point.kind, x, y, point.hint or point.name))
        beyond = [f"{point.x:.0f}"] * (point.x > x_end) + [f"{point.y:.1f}"] * (point.y < low)
        name = f"{point.name} ({', '.join(beyond)})" if beyond else point.name
        box = _place(name, x, y, taken, height)
        taken.append(box)
        parts.append(
            Markup('<text class="name {}" x="{:.1f}" y="{:.1f}">{}</text>').format(
                point.kind, box.left, box.bottom - 2, name
            )
        )
    return _svg(height, f"{y_title} over {x_title}", parts)


def _place(name: str, x: float, y: float, taken: Sequence[_Box], height: int) -> _Box:
    """The place of a name next to its point where it covers no other; the first place if none is free."""
    wide = LETTER * len(name)
    places = []
    for away in (0, 12, 24, 36):
        for dy in (-away, away):
            places += [(x + 8 + away / 3, y + dy), (x - 8 - away / 3 - wide, y + dy)]
        places += [(x - wide / 2, y - 12 - away), (x - wide / 2, y + 12 + away)]
    boxes = [_Box(left, middle - 6, left + wide, middle + 6) for left, middle in places]
    inside = [b for b in boxes if b.left > LEFT and b.right < WIDTH and b.top > TOP - 8 and b.bottom < height - FOOT]
    free = [box for box in inside if not any(box.meets(other) for other in taken)]
    return (free or inside or boxes)[0]


def bars(rows: Sequence[Bar], *, title: str, low: float, high: float) -> Markup:
    """Horizontal bars from zero with their intervals, in the given order; ``low`` and ``high`` end the axis."""
    left = 12 + 1.45 * LETTER * max((len(row.name) for row in rows), default=1)
    height = TOP + ROW * len(rows) + FOOT - 14

    def across(x: float) -> float:
        return left + (WIDTH - left - RIGHT - 40) * (min(max(x, low), high) - low) / (high - low)

    parts = [Markup('<text class="title" x="{:.1f}" y="16">{}</text>').format(left, title)]
    for tick in ticks(low, high):
        parts.append(_ACROSS.format(across(tick), TOP - 4, height - FOOT + 16, height - FOOT + 30, tick))
    for at, row in enumerate(rows):
        middle = TOP + ROW * at + ROW / 2 - 3
        ends = sorted((across(0.0), across(row.value)))
        name = Markup('<text class="name {}" x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>')
        bar = Markup('<rect class="bar {}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="11"/>')
        parts.append(name.format(row.kind, left - 8, middle + 4, row.name))
        parts.append(bar.format(row.kind, ends[0], middle - 5.5, max(ends[1] - ends[0], 0.8)))
        far = ends[1]
        if row.low is not None and row.high is not None:
            whisker = Markup(
                '<path class="whisker" d="M{0:.1f},{2:.1f}V{3:.1f}M{0:.1f},{4:.1f}H{1:.1f}M{1:.1f},{2:.1f}V{3:.1f}"/>'
            )
            parts.append(whisker.format(across(row.low), across(row.high), middle - 3, middle + 3, middle))
            far = max(far, across(row.high))
        parts.append(Markup('<text x="{:.1f}" y="{:.1f}">{:.0f}</text>').format(far + 6, middle + 4, row.value))
    return _svg(height, title, parts)


def _svg(height: float, title: str, parts: Sequence[Markup]) -> Markup:
    head = Markup('<svg viewBox="0 0 {} {:.0f}" role="img" aria-label="{}">').format(WIDTH, height, title)
    return head + Markup("").join(parts) + Markup("</svg>")
