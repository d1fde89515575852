"""How busy the machine was while a call lasted: without this, a late link could not be distinguished from a bug."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from legato.call import awake

_STAT = Path("/proc/stat")
_IDLE, _WAITING, _STOLEN = 3, 4, 7


class Processor:
    """Counts from when it was made. Shares of all processors' time are Linux's; elsewhere they are missing."""

    def __init__(self) -> None:
        self._before, self._counted_s = _ticks(), awake.counted_s()
        self._load = _load()

    def since(self) -> dict[str, Any]:
        """``cpus``, ``kept_awake`` by us or not; ``load_before`` and ``load_after``; ``busy_ratio`` of all processors'
        time, by whomever but what keeps them awake; and ``stolen_ratio``, which the host of a virtual machine gave to
        others."""
        found: dict[str, Any] = {
            "cpus": os.cpu_count(),
            "kept_awake": awake.counting(),
            "load_before": self._load,
            "load_after": _load(),
        }
        now = _ticks()
        if self._before and now:
            spent = [after - before for before, after in zip(self._before, now, strict=True)]
            total = max(sum(spent), 1)
            counted = (awake.counted_s() - self._counted_s) * os.sysconf("SC_CLK_TCK")
            found["busy_ratio"] = round(max(0.0, 1 - (spent[_IDLE] + spent[_WAITING] + counted) / total), 3)
            found["stolen_ratio"] = round(spent[_STOLEN] / total, 3)
        return found


def _load() -> float | None:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _ticks() -> list[int]:
    """User, nice, system, idle, waiting, two kinds of interrupt, stolen; the guests' time is in the first two."""
    try:
        return [int(word) for word in _STAT.read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
    except OSError:
        return []
