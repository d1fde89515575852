"""Writes docs/measured/encoders.md: how encoders follow a target that falls to a quarter, and how well their models do.

    python -m legato_studies.pages encoders --clips CLIP... [--calls] [--height ROWS] [--out FOLDER]

``scene`` in place of a clip is the generated scene of calls. With ``--calls`` encoders inside calls too: 5 minutes a
clip, on a quiet machine. The measurement is :mod:`legato_studies.codecs.step`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from legato.report import chart
from legato.report.pages import Section
from legato_studies.codecs.step import (
    BIN_FRAMES,
    BINS,
    CALLED,
    FPS,
    MODELS,
    REAL,
    Array,
    Response,
    error,
    excess_ms,
    measure,
    pairs,
    write_csv,
)
from legato_studies.page import Found, Options, Page, table

TOLERANCE_RATIO = 0.1
"""How far a model's bin may be from the real encoder's."""
BIN_S = BIN_FRAMES / FPS
_SPANS = (("0 to 100 ms", 0, 1), ("100 to 200", 1, 2), ("200 to 300", 2, 3), ("300 to 500", 3, 5),
          ("0.5 to 1 s", 5, 10), ("1 to 2 s", 10, 20), ("first second", 0, 10))  # fmt: skip
_DRAWN = ("OpenH264", "VP8", "VP9", "x264, 500 ms")


def play(options: Options) -> Found:
    """Every encoder on every clip."""
    contestants = (*REAL, *(CALLED if options.calls else ()), *MODELS)
    with tempfile.TemporaryDirectory() as scratch:
        say = lambda name: print(f"{name} ...", file=sys.stderr)  # noqa: E731
        found = measure(options.clips, options.out or Path(scratch), options.height, say, contestants)
    if options.out:
        write_csv(found, options.out / "step.csv")
    fall, rise = (sides(found, side) for side in ("fall", "rise"))
    values = {"clips": " ".join(options.clips), "fall": fall, "rise": rise, "models": models(found)}
    return Found(values, {"encoders.svg": picture(found)})


def sides(found: Sequence[Response], side: str) -> Section:
    """Bits over target after falls, or after rises."""

    def mean(first: int, last: int) -> Callable[[Response], str]:
        return lambda each: f"{getattr(each, side)[:, first:last].mean():.2f}"

    columns = {
        "clip": lambda each: f"{each.clip}, {(each.low_bps if side == 'fall' else each.high_bps) // 1000} kbit/s",
        "encoder": lambda each: each.contestant.name,
        **{name: mean(first, last) for name, first, last in _SPANS},
        "excess": lambda each: f"{excess_ms(getattr(each, side)):.0f} ms",
    }
    return table(columns, found)


def models(found: Sequence[Response]) -> Section:
    """How far each model is from its encoder."""
    rows = []
    for model, real in pairs(found):
        for side in ("fall", "rise"):
            off = error(model, real, side)
            worst = int(np.argmax(np.abs(off)))
            beyond = [n for n in range(BINS) if abs(off[n]) > TOLERANCE_RATIO]
            ratios: Array = getattr(real, side)
            apart = np.sqrt(2.0) * np.sqrt(ratios.var(axis=0, ddof=1).mean())
            first = getattr(model, side)[:, :10].mean() / ratios[:, :10].mean() - 1.0
            figures = [f"{np.sqrt((off**2).mean()):.1%}", f"{off[worst]:+.1%} at {100 * worst} ms", _list(beyond)]
            rows.append([model.clip, real.contestant.name, side, *figures, f"{first:+.1%}", f"{apart:.0%}"])
    columns = [
        "clip",
        "model of",
        "after a",
        "root mean square",
        "largest",
        "beyond 10 %",
        "first second",
        "one change",
    ]
    return Section("", columns=columns, rows=rows)


def _list(beyond: Sequence[int]) -> str:
    """Bins by their number, as ranges of their starts in ms."""
    runs: list[list[int]] = []
    for n in beyond:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    said = ", ".join(f"{100 * a}" if a == b else f"{100 * a} to {100 * b}" for a, b in runs)
    return f"{len(beyond)} of {BINS}" + (f": {said}" if said else "")


def picture(found: Sequence[Response]) -> str:
    """One pair of axes per clip, a line per encoder; dashed: its model."""
    axes = []
    for clip in dict.fromkeys(r.clip for r in found):
        lines = []
        for each in found:
            of = each.contestant.model_of
            name = of or each.contestant.name
            if each.clip != clip or name not in _DRAWN:
                continue
            kind = f"c{_DRAWN.index(name)}" + (" dashed" if of else "")
            points = [(BIN_S * (n + 0.5), float(y)) for n, y in enumerate(each.fall.mean(axis=0))]
            lines.append(chart.Line(kind, points))
        axes.append(chart.Axes(lines, high=4.0, height=190, title=f"{clip}: bits over target (dashed: the model)"))
    title = "Bits over target after a fall to a quarter"
    return chart.figure(axes, title=title, names=_DRAWN, unit=" s")


PAGE = Page(
    "encoders",
    play,
    {
        "--clips": {"nargs": "+", "required": True, "help": "video files, or `scene`"},
        "--height": {"type": int, "help": "rows to compare at [default: the clip's, at most 360]"},
        "--calls": {"action": "store_true", "help": "in calls too: 5 minutes a clip, on a quiet machine"},
        "--out": {"type": Path, "help": "folder for profiles and step.csv"},
    },
)
