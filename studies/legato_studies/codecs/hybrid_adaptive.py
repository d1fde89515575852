"""The hybrid codec where the sender hears of its losses, and adds copies of motion for them as calls do.

    python -m legato_studies.codecs.hybrid_adaptive CLIP... --out tables.md [--frames 96]

Clips, bytes per frame and quality are those of ``python -m legato_studies.codecs.hybrid``; what is lost, reported and
counted: :mod:`legato_studies.codecs.hybrid_reports`. Figures of each clip are kept beside the tables: a run that was
cut off goes on where it was.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from legato.profile.clip import Clip, Pictures
from legato.profile.x264 import X264
from legato_studies.codecs.hybrid import FIRST, KBPS, _above, _cell, _coded, _header
from legato_studies.codecs.hybrid_parts import Row, tabulate
from legato_studies.codecs.hybrid_reports import (
    KEY_WORTH,
    KINDS,
    LOSSES,
    REPORT_AFTER,
    WINDOW,
    Sender,
    choices,
    reported_db,
)

SENDERS = {"4 packets": Sender(4, 0), "8 packets, 1 copy": Sender(8, 1), "adaptive": Sender(4, None)}
DEFAULT = "4 packets"


def main(arguments: Sequence[str] | None = None) -> int:
    settings = repr(("adaptive", KBPS, KINDS, LOSSES, WINDOW, FIRST, KEY_WORTH, REPORT_AFTER, SENDERS, choices()))
    summary = __doc__.split("\n")[0]
    return tabulate("hybrid_adaptive", summary, settings, measure, tables, arguments)


def measure(clip: Clip, pictures: Pictures) -> Iterator[Row]:
    """All figures of a clip."""
    library = X264()
    for kbps in KBPS:
        plain = _coded(library, clip, pictures, kbps * 1000, slices=False)
        budget = float(np.mean([coded.size_bytes for coded in plain[FIRST:]]))
        for name, sender in SENDERS.items():
            for kind in KINDS:
                for loss in LOSSES:
                    value = reported_db(pictures, budget, sender, kind, loss)
                    yield Row(clip.name, kbps, name, f"{kind} {loss}", value)


def tables(rows: Sequence[Row]) -> str:
    """All figures as Markdown: dB, and dB below the default setting without loss on the same frames."""
    values: dict[tuple[int, str, str], list[tuple[str, float]]] = defaultdict(list)
    for row in rows:
        values[row.kbps, row.codec, row.figure].append((row.clip, row.value))
    lines: list[str] = []
    for kbps in KBPS:
        for below in (False, True):
            title = f"{kbps} kbit/s, dB" + f" below {DEFAULT} without loss" * below
            lines += [f"## {title}", "", _header(["loss", "sender", *(f"{loss:.0%}" for loss in LOSSES)])]
            for kind, said in KINDS.items():
                for name in SENDERS:
                    figures = [f"{kind} {loss}" for loss in LOSSES]
                    if below:
                        cells = [_above(values, kbps, DEFAULT, name, figures[0], figure) for figure in figures]
                    else:
                        cells = [_cell(values[kbps, name, figure]) for figure in figures]
                    lines.append(f"| {said} | {name} | " + " | ".join(cells) + " |")
            lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
