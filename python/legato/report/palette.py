"""One colour per controller, the same in every report.

Eight colours in the spirit of Okabe and Ito (2008, "Color Universal Design"). A search chose them so that any two stay
well apart for the three kinds of dichromats, and each stands out from the ground (a test holds it). The file report.css
has them for light and dark.

Controllers that Legato ships have theirs by name. Any other starts from a colour given by its name and takes the
next free one, so that it keeps its colour from report to report as long as no other wants it. Past eight, colours
return with another marker.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from legato.results.store import base_name

COLOURS = 8
_NAMED = {"gcc": 0, "nada": 1, "oracle": 2, "scream": 3, "remote": 4, "fixed": 5, "salsify": 6, "learned": 7}


def assign(variants: Sequence[str]) -> list[tuple[int, int]]:
    """(colour, marker) of each variant; no pair twice up to 56 of them."""
    taken: dict[str, tuple[int, int]] = {}
    used = [0] * COLOURS
    # Controllers with a fixed colour choose first, whatever the order of the run.
    for name in sorted(variants, key=lambda name: (base_name(name) not in _NAMED, variants.index(name))):
        base = base_name(name)
        wish = _NAMED.get(base, zlib.crc32(base.encode()) % COLOURS)
        fewest = min(used)
        colour = next(c % COLOURS for c in range(wish, wish + COLOURS) if used[c % COLOURS] == fewest)
        taken[name] = (colour, (colour + used[colour]) % 7)
        used[colour] += 1
    return [taken[name] for name in variants]
