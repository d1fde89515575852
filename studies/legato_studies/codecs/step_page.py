"""The page and the picture of :mod:`legato_studies.codecs.step`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from legato.report import chart
from legato_studies.codecs.step import BIN_FRAMES, BINS, CALLED, CHANGES, FPS, Array, Response, error, excess_ms, pairs

TOLERANCE_RATIO = 0.1
"""How far a model's bin may be from the real encoder's."""
BIN_S = BIN_FRAMES / FPS
_SPANS = (("0 to 100 ms", 0, 1), ("100 to 200", 1, 2), ("200 to 300", 2, 3), ("300 to 500", 3, 5),
          ("0.5 to 1 s", 5, 10), ("1 to 2 s", 10, 20), ("first second", 0, 10))  # fmt: skip
_DRAWN = ("OpenH264", "VP8", "VP9", "x264, 500 ms")

HEAD = """# How encoders follow their target

Written by

    python -m legato_studies.codecs.step --page docs/encoders.md {option}\\
        --clips {clips}

A controller's verdict is worth what its source is worth. When a link falls to a quarter, the controller asks for a
quarter; what reaches the link in the next second is what the *encoder* makes of that. [rfc8867] section 4.3 wants a
source that answers a new rate within 100 ms and keeps within 5 % of it over a second.

Here each encoder works alone, without a call, at 30 pictures a second. Its target falls to a quarter and comes back,
{changes} times each, 4 s and a little more apart, at other pictures and in other places of the rate control's own
groups of frames. Bits over target, in bins of 100 ms (three frames); the first frame of the first bin is the first one
coded at the new target. Means over the {changes} changes. OpenH264, VP8 and VP9 are those of `legato call`, with
libwebrtc's settings for real time and its differences given in `crates/h264` and `crates/vpx`; x264 is superfast,
zerolatency, its rate buffer (VBV) moved along with the bitrate. *Excess* is the most that had been sent above the
target at any time in the 2 s, in ms of the new target.
{calls}
![Bits over target after a fall to a quarter, by encoder](images/encoders.svg)

"""

CALLS = """
*OpenH264, in a call* is the same encoder in a call between two ends of ours (`legato call --peers legato`), at the pace
of the clock: `fixed` has the same targets plus 16 kbit/s for headers, and bits are counted over the target that the
encoder was given. *Chromium's* encoders are those of a page that calls itself, limited by `maxBitrate`; means over 8
changes. Chromium leaves out pictures where its encoder made too much, and its limit holds from the next picture or the
one after it.
"""


def write(found: Sequence[Response], page: Path) -> None:
    """The page, and its picture in ``images`` beside it."""
    clips = {r.clip: r for r in found}
    has_calls = any(r.contestant in CALLED for r in found)
    option, calls = ("--calls ", CALLS) if has_calls else ("", "")
    head = HEAD.format(clips=" ".join(_typed(clips)), changes=CHANGES, option=option, calls=calls)
    page.write_text(head + tables(found) + "\n" + page_notes(page), encoding="utf-8")
    images = page.parent / "images"
    images.mkdir(exist_ok=True)
    (images / "encoders.svg").write_text(picture(found), encoding="utf-8")


def page_notes(page: Path) -> str:
    """What was written by hand under the last table: kept."""
    marker = "## What follows from it"
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    return "\n" + before[before.index(marker) :] if marker in before else ""


def _typed(clips: Iterable[str]) -> Iterable[str]:
    shipped = {path.stem: f"data/clips/{path.name}" for path in Path("data/clips").glob("*.m*")}
    return (shipped.get(name, name) for name in clips)


def tables(found: Sequence[Response]) -> str:
    """All tables, as Markdown."""
    parts = ["## The encoders", ""]
    for side, title in (("fall", "A fall to a quarter"), ("rise", "The rise back")):
        parts += [f"### {title}", "", *_sides(found, side), ""]
    parts += ["## The models", "", *_models(found)]
    return "\n".join(parts)


def _sides(found: Sequence[Response], side: str) -> list[str]:
    lines = [
        "| clip | encoder | " + " | ".join(name for name, _, _ in _SPANS) + " | excess |",
        "|---" * (len(_SPANS) + 3) + "|",
    ]
    for each in found:
        ratios: Array = getattr(each, side)
        means = (f"{ratios[:, first:last].mean():.2f}" for _, first, last in _SPANS)
        new = each.low_bps if side == "fall" else each.high_bps
        where = f"{each.clip}, {new // 1000} kbit/s"
        lines.append(f"| {where} | {each.contestant.name} | {' | '.join(means)} | {excess_ms(ratios):.0f} ms |")
    return lines


def _models(found: Sequence[Response]) -> list[str]:
    lines = [
        f"Model over real, minus 1, in each bin of 100 ms (mean over the {CHANGES} changes). *Beyond 10 %* names the",
        "bins, by their start in ms. *One change* is how far two single changes of the real encoder are apart in a bin",
        "(root mean square): what no mean can be held to.",
        "",
        "| clip | model of | after a | root mean square | largest | beyond 10 % | first second | one change |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for model, real in pairs(found):
        for side in ("fall", "rise"):
            off = error(model, real, side)
            worst = int(np.argmax(np.abs(off)))
            beyond = [n for n in range(BINS) if abs(off[n]) > TOLERANCE_RATIO]
            ratios: Array = getattr(real, side)
            apart = np.sqrt(2.0) * np.sqrt(ratios.var(axis=0, ddof=1).mean())
            first = getattr(model, side)[:, :10].mean() / ratios[:, :10].mean() - 1.0
            lines.append(
                f"| {model.clip} | {real.contestant.name} | {side} | {np.sqrt((off**2).mean()):.1%} "
                f"| {off[worst]:+.1%} at {100 * worst} ms | {_list(beyond)} | {first:+.1%} | {apart:.0%} |"
            )
    return lines


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
