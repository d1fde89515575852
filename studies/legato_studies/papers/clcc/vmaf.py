"""VMAF of simulated calls, from what pictures of the clip have at the size and PSNR that were shown.

A simulation has no pixels. Its clip has a table of VMAF by size and PSNR (:mod:`legato_studies.codecs.vmaf_table`),
measured of real pictures by libvmaf; a call's VMAF is the mean over the frames that were shown, as its PSNR is.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from legato.plan import shipped
from legato.results.query import parts, query
from legato_studies.codecs.vmaf import read as read_table
from legato_studies.codecs.vmaf import vmaf_of


def read(folder: Path, clip: str) -> dict[int, float]:
    """The VMAF of each call of a run folder, by its number; empty where frames were not logged."""
    if not parts(folder, "frames"):
        return {}
    table = read_table(next(path for path in shipped.profiles() if path.stem == clip))
    sums: dict[int, np.ndarray] = {}
    # A tenth of a dB is a fifth of a point at most.
    for row in query(
        folder,
        "select call, height, round(psnr_db, 1)::double as psnr_db, count(*) as frames "
        "from frames where rendered_ms is not null group by all order by all",
    ):
        score = float(vmaf_of(table, row["height"], np.array([row["psnr_db"]]))[0])
        sums[row["call"]] = sums.get(row["call"], np.zeros(2)) + np.array([score, 1.0]) * row["frames"]
    return {call: float(total / frames) for call, (total, frames) in sums.items()}
