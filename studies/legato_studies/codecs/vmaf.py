"""Which VMAF pictures of a clip have at a size and PSNR, from a table that was measured of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from legato.errors import ProfileError

FORMAT = 1


def path_of(profile: Path) -> Path:
    """Where the table of a profile is."""
    return profile.with_suffix(".vmaf.json")


def read(profile: Path) -> dict[int, np.ndarray]:
    """The table of a profile, by height: rows of PSNR in dB and VMAF.

    Raises:
        ProfileError: there is none, or it is of another format.
    """
    path = path_of(profile)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ProfileError(f"{path}: {error}") from error
    if found.get("format") != FORMAT:
        raise ProfileError(f"{path}: format = {found.get('format')}: this reads {FORMAT}")
    return {int(height): np.array(rows, dtype=np.float64) for height, rows in found["heights"].items()}


def vmaf_of(table: dict[int, np.ndarray], height: int, psnr_db: np.ndarray) -> np.ndarray:
    """VMAF of pictures of this height with these errors; between the table's points a straight line, beyond it its end.

    A height between those of the table lies between theirs.
    """
    heights = sorted(table)
    curves: np.ndarray = np.array([np.interp(psnr_db, *table[each].T) for each in heights])
    at = float(np.interp(height, heights, range(len(heights))))
    low = min(int(at), len(heights) - 2) if len(heights) > 1 else 0
    high = min(low + 1, len(heights) - 1)
    between: np.ndarray = curves[low] + (at - low) * (curves[high] - curves[low])
    return between
