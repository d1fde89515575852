"""VMAF of a clip at every size and quantiser, next to its profile.

    python -m legato_studies.codecs.vmaf_table SOURCES NAME

A simulated call has no pixels, and so no direct VMAF. But it shows a picture of the clip, coded at a known size and
error; this table gives the VMAF of pictures of that size and PSNR. Needs the extra ``vmaf``. Writes ``NAME.vmaf.json``
next to ``NAME.safetensors``: for each height, by rising PSNR, means over the clip.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from legato import _core, atomic
from legato.call import vmaf
from legato.errors import ProfileError
from legato.profile.clip import Clip, Pictures, read_clip
from legato.profile.tables import LEAD_IN_FRAMES, LEVELS, X264Stream, enlarge, fps_text, quality
from legato.profile.x264 import X264
from legato_studies import command
from legato_studies.codecs.vmaf import FORMAT, path_of

ROUNDS = 2
"""Times the clip is coded on end; the last is measured, so that every picture has a coded one before it."""


def measure(clip: Clip, heights: list[int]) -> dict[str, Any]:
    """The table of a clip: by height, ``[PSNR in dB, VMAF]`` of every quantiser, both means over its pictures."""
    program, library = vmaf.found(), X264()
    full = clip.pictures(heights[-1])
    table = {}
    for height in heights:
        pictures = clip.pictures(height)
        table[str(height)] = sorted(_point(program, library, clip, pictures, full, qp) for qp in LEVELS)
    return {"format": FORMAT, "clip": clip.name, "model": "vmaf_v0.6.1", "encoder": "x264", "heights": table}


def _point(program: str, library: X264, clip: Clip, pictures: Pictures, full: Pictures, qp: int) -> tuple[float, float]:
    shown = coded(library, clip, pictures, full, [qp] * (ROUNDS * len(pictures.luma)))[-len(pictures.luma) :]
    _, psnr_db = quality(full.luma, np.stack(shown))
    return round(float(psnr_db.mean()), 3), round(float(np.mean(scores(program, full, shown))), 3)


def coded(library: X264, clip: Clip, pictures: Pictures, full: Pictures, qps: list[int]) -> list[np.ndarray]:
    """Luma at the full size of the clip played on, one picture per quantiser; a stream has one quantiser at a time."""
    streams = {qp: X264Stream(library, pictures, fps_text(clip), qp) for qp in sorted(set(qps))}
    for stream in streams.values():
        for index in clip.lead_in(LEAD_IN_FRAMES):
            stream.encode(pictures, index)
    shown = []
    for at, qp in enumerate(qps):
        index = at % len(pictures.luma)
        luma = {each: stream.encode(pictures, index)[1] for each, stream in streams.items()}[qp]
        shown.append(luma if pictures.height == full.height else enlarge(luma, full))
    return shown


def scores(program: str, full: Pictures, shown: list[np.ndarray]) -> list[float]:
    """VMAF of pictures that play the clip on from its first one."""
    count = len(full.luma)
    pairs = [(full.luma[at % count].tobytes(), plane.tobytes()) for at, plane in enumerate(shown)]
    return list(_core.vmaf(program, full.width, full.height, pairs))


OPTIONS: command.Options = {
    "sources": {"type": Path, "help": "folder of the source clips"},
    "name": {"help": "of the table"},
    "--table": {"type": Path, "default": Path("profiles/clips.toml"), "help": "of clips"},
    "--out": {"type": Path, "default": Path("profiles"), "help": "folder of the profiles"},
}


def main(arguments: Sequence[str] | None = None) -> int:
    return command.run("codecs.vmaf_table", __doc__, OPTIONS, _run, arguments)


def _run(given: command.Given) -> str:
    entry = tomllib.loads(given.table.read_text(encoding="utf-8")).get(given.name)
    if entry is None:
        raise ProfileError(f"{given.table}: has no clip {given.name}")
    clip = read_clip(given.sources / entry["file"], fps=entry.get("fps"))
    out = path_of(given.out / f"{given.name}.safetensors")
    return str(atomic.write_json(out, measure(clip, entry["heights"])))


if __name__ == "__main__":
    sys.exit(main())
