"""The hybrid codec where the sender hears of its losses, and adds copies of motion for them as calls do.

    python -m legato_studies.codecs.adaptive CLIP... --out tables.md [--frames 96]

Clips, bytes per frame and quality are those of ``python -m legato_studies.codecs.hybrid``; losses, reports and counts
are those of :mod:`legato_studies.codecs.reports`. Figures of each clip are kept next to the tables, so an interrupted
run resumes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from legato.profile.clip import Clip, Pictures
from legato.profile.x264 import X264
from legato.report.pages import Section
from legato_studies.codecs.hybrid import FIRST, KBPS, budget_bytes
from legato_studies.codecs.measured import Row, Values, percent, tabulate
from legato_studies.codecs.reports import (
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
    settings = (KBPS, KINDS, LOSSES, WINDOW, FIRST, KEY_WORTH, REPORT_AFTER, SENDERS, choices())
    return tabulate("codecs.adaptive", __doc__, settings, measure, tables, arguments)


def measure(clip: Clip, pictures: Pictures) -> Iterator[Row]:
    """All figures of a clip."""
    library = X264()
    for kbps in KBPS:
        budget = budget_bytes(library, clip, pictures, kbps)
        for name, sender in SENDERS.items():
            for kind in KINDS:
                for loss in LOSSES:
                    value = reported_db(pictures, budget, sender, kind, loss)
                    yield Row(clip.name, kbps, name, f"{kind} {loss}", value)


def tables(values: Values) -> list[Section]:
    """All figures: dB, and dB below the default setting without loss on the same frames."""
    columns = ["loss", "sender", *percent(LOSSES)]
    sections = []
    for kbps in KBPS:
        own, below = [], []
        for kind, said in KINDS.items():
            figures = [f"{kind} {loss}" for loss in LOSSES]
            for name in SENDERS:
                own.append([said, name, *(values.cell(kbps, name, figure) for figure in figures)])
                less = (values.above(kbps, (DEFAULT, figures[0]), (name, figure)) for figure in figures)
                below.append([said, name, *less])
        title = f"{kbps} kbit/s, dB"
        sections.append(Section(title, columns=columns, rows=own))
        sections.append(Section(f"{title} below {DEFAULT} without loss", columns=columns, rows=below))
    return sections


if __name__ == "__main__":
    sys.exit(main())
