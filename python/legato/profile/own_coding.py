"""Whether a source's own coding shows: a clip from the web or a phone has been through a lossy encoder already.

A profile calls the source's pictures perfect. Where a level of the profile is finer than the source's own coding, it
spends its bits on that coding's artefacts and is given a quality that no camera's picture would have there. The source
is as fine as the quantiser at which our encoder spends as many bytes on a picture as the file itself does. Pictures
reduced to half the height or less are free of this: several pixels are averaged into one.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from legato.errors import DataWarning
from legato.profile.clip import Clip, Pictures

FINE_QP = 20.0
"""A source at most this coarse passes: at QP 26 and above it seems less than 1 dB better than it is
(docs/reference/profile-format.md)."""
REDUCED = 0.5
"""Of the source's height: up to this its coding is averaged away."""


def found(clip: Clip, full: Pictures, sizes: Mapping[str, np.ndarray], levels: Sequence[int]) -> dict[str, Any]:
    """What a profile keeps of it: ``height``, ``bits_per_pixel`` of the file and ``like_qp``.

    Args:
        clip: the source.
        full: its pictures at the largest size measured.
        sizes: mean bytes of a picture at each level, by encoder; the coarsest estimate counts.
        levels: the quantisers.
    """
    pixels = clip.source_width * clip.source_height
    bits_per_pixel = 8 * clip.coded_bytes / pixels
    # By its bits per pixel at the size measured; log bytes are nearly straight over the quantiser.
    own = np.log(max(clip.coded_bytes * full.width * full.height / pixels, 1.0))
    like = [np.interp(-own, -np.log(np.maximum(bytes_, 1.0)), levels) for bytes_ in sizes.values()]
    return {
        "height": clip.source_height,
        "measured_height": full.height,
        "bits_per_pixel": round(bits_per_pixel, 4),
        "like_qp": round(float(max(like)), 1),
    }


def warn(about: Mapping[str, Any]) -> None:
    """Warn of a profile whose largest size shows its source's coding."""
    source = about.get("source") or {}
    if not source or source["measured_height"] <= REDUCED * source["height"] or source["like_qp"] <= FINE_QP:
        return
    warnings.warn(
        f"{about['clip']}: its own coding shows: {source['bits_per_pixel']:.3f} bits per pixel, about QP "
        f"{source['like_qp']:.0f}; finer quantisers code its artefacts and seem better than they are. Give a less "
        f"compressed source, or --height {2 * (source['height'] // 4)} or less, where the reduction hides it",
        DataWarning,
        stacklevel=2,
    )


def warn_of_profile(path: Path) -> None:
    """The same for a profile that was measured before."""
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    warn(json.loads(header["__metadata__"]["legato_profile"]))
