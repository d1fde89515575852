"""One line over time, drawn small: in a terminal with braille dots, or as an SVG.

For a look at a trace without leaving the shell; reports are drawn elsewhere (legato.report).
"""

from __future__ import annotations

import html
import itertools
from collections.abc import Sequence

import numpy as np

_BRAILLE_BLANK = 0x2800
# Unicode's numbering of the eight dots of a cell, by [row][column].
_BRAILLE_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_SCALE_ENDS = (1, 1.5, 2, 3, 4, 5, 6, 8)
_STEPS = (1, 2, 5)


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


def as_svg(times_s: Sequence[float], values: Sequence[float], *, title: str, unit: str) -> str:
    """The curve as an SVG picture of 900 by 320, legible on light and on dark."""
    width, height, left, right, head, foot = 900, 320, 56, 16, 36, 32
    top = nice_ceiling(float(np.max(values)))
    start, end = float(times_s[0]), float(times_s[-1])
    span = (end - start) or 1.0

    def x(time_s: float) -> float:
        return left + (time_s - start) / span * (width - left - right)

    def y(value: float) -> float:
        return height - foot - value / top * (height - head - foot)

    points = " ".join(f"{x(t):.1f},{y(v):.1f}" for t, v in zip(times_s, values, strict=True))
    grid = "".join(
        f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        f'<text x="{left - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
        for tick in np.linspace(0.0, top, 5)
    )
    times = "".join(
        f'<text x="{x(tick):.1f}" y="{height - 10}" text-anchor="middle">{tick:g} s</text>'
        for tick in time_ticks(start, end)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
        f"<title>{html.escape(title)}</title>"
        "<style>svg{background:#fff}text{font:12px system-ui,sans-serif;fill:#444}.grid{stroke:#ddd}"
        ".line{fill:none;stroke:#0b6bcb;stroke-width:1.5}"
        "@media(prefers-color-scheme:dark){svg{background:#16181c}text{fill:#bbb}.grid{stroke:#333}"
        ".line{stroke:#6cb2ff}}</style>"
        f'<text x="{left}" y="20">{html.escape(title)}, {html.escape(unit)}</text>{grid}{times}'
        f'<polyline class="line" points="{points}"/></svg>\n'
    )


def as_html(picture: str, *, title: str) -> str:
    """A page that holds one SVG picture and nothing else."""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
        '<meta name="color-scheme" content="light dark"><style>body{margin:2em;max-width:60em}</style>'
        f"{picture}</html>\n"
    )


def nice_ceiling(value: float, mantissas_ratio: Sequence[float] = _SCALE_ENDS) -> float:
    """The smallest of ``mantissas_ratio`` times a power of ten that is not below ``value``; 1 for nothing."""
    if value <= 0.0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    candidates = (tick * power for tick in mantissas_ratio if tick * power >= value * (1 - 1e-9))
    return float(next(candidates, 10 * power))


def time_ticks(start_s: float, end_s: float, most: int = 8) -> list[float]:
    """At most about ``most`` round times from ``start_s`` to ``end_s``."""
    step = nice_ceiling(max(end_s - start_s, 1e-9) / most, _STEPS)
    return [float(tick) for tick in np.arange(np.ceil(start_s / step) * step, end_s + step / 1e6, step)]


def _ranges(values: Sequence[float], bins: int) -> tuple[list[float], list[float]]:
    array = np.asarray(values, dtype=np.float64)
    edges = np.linspace(0, len(array), bins + 1)
    lows, highs = [], []
    for low_edge, high_edge in itertools.pairwise(edges):
        piece = array[int(low_edge) : max(int(np.ceil(high_edge)), int(low_edge) + 1)]
        lows.append(float(piece.min()))
        highs.append(float(piece.max()))
    return lows, highs
