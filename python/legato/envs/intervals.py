"""The figures of a decision interval for many calls at once: the arguments of rewards."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from legato import _core

COLUMNS: tuple[str, ...] = tuple(_core.CallBatch.columns())
"""The names of an interval's figures; ground truth, which no controller may know, begins with ``true_``."""

_PLACES = {name: place for place, name in enumerate(COLUMNS)}


class Intervals:
    """A table of one row per call: ``intervals["true_rtt_ms"]`` is a column. Unknown figures are NaN."""

    def __init__(self, rows: NDArray[np.float32]) -> None:
        self.rows = rows

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        return self.rows[:, _PLACES[name]]

    def __len__(self) -> int:
        return len(self.rows)

    def mbps(self, name: str) -> NDArray[np.float32]:
        """A rate in Mbit/s; ``name`` is without its unit."""
        return self[f"{name}_bps"] * np.float32(1e-6)

    def seconds(self, name: str) -> NDArray[np.float32]:
        """A duration in seconds, 0 where unknown; ``name`` is without its unit."""
        return np.nan_to_num(self[f"{name}_ms"]) * np.float32(1e-3)
