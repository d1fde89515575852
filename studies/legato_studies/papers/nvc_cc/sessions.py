"""Figures of many sessions, by setting, controller and network: means, differences and their intervals.

Sessions on one network are not independent of each other: intervals are over networks, each with all its clip
profiles. A network is a recording, or a seed where networks are drawn. All controllers meet the same networks, so that
differences are paired.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from legato.report.pages import counted
from legato.results.figures import METRICS, Shown
from legato.results.query import network_totals
from legato.results.stats import Array, Estimate
from legato.results.totals import Totals, bounded
from legato_studies.papers.reproduction import Bounds, Grid

FIGURES = (
    "ssim_db_mean",
    "viewed_ssim_db_mean",
    "frame_delay_p98_ms",
    "stalls_per_s",
    "stall_ratio",
    "receiver_rate_bps",
    "one_way_delay_p98_ms",
    "loss_ratio",
    "utilisation_ratio",
    "qoe_p",
    "qoe_d",
    "viewed_delay_p95_ms",
    "viewed_delay_p98_ms",
    "on_time_150ms_ratio",
    "on_time_400ms_ratio",
    "stall_floor_ratio",
    "viewed_qoe_p",
    "viewed_qoe_d",
)
"""Columns of a run's summary."""


class Sessions:
    """Totals and counts of every figure, (networks, figures), by setting and controller."""

    def __init__(self, tables: Mapping[str, Mapping[str, tuple[Array, Array]]]) -> None:
        self._tables = tables

    @classmethod
    def read(cls, folders: Sequence[tuple[str, Path]], live_only: bool = False) -> Sessions:
        """Of run folders, each part of a setting; ``live_only``: without links that are dead for a second or more."""
        by_setting: dict[str, list[Path]] = {}
        for setting, folder in folders:
            by_setting.setdefault(setting, []).append(folder)
        return cls({setting: network_totals(of, FIGURES, live_only) for setting, of in by_setting.items()})

    def controllers(self, setting: str) -> list[str]:
        """The controllers that were run in a setting."""
        return list(self._tables.get(setting, {}))

    def networks(self, setting: str) -> int:
        """How many networks a setting has."""
        return next((len(totals) for totals, _ in self._tables.get(setting, {}).values()), 0)

    def count(self, setting: str) -> int:
        """Sessions of one controller."""
        counts = next((counts for _, counts in self._tables.get(setting, {}).values()), None)
        return 0 if counts is None else int(counts[:, FIGURES.index("receiver_rate_bps")].sum())

    def without(self, setting: str, controller: str, figure: str) -> int:
        """How many sessions have no such figure."""
        names = ("receiver_rate_bps", figure)
        sessions, having = (self._column(setting, controller, name).counts.sum() for name in names)
        return int(sessions - having)

    def mean(self, setting: str, controller: str, figure: str) -> Estimate:
        """Over sessions."""
        column = self._column(setting, controller, figure)
        return bounded(column.mean(), 0.0 if column.sums.min(initial=0.0) >= 0 else -math.inf, METRICS[figure].most)

    def difference(self, setting: str, controller: str, other: str, figure: str) -> Estimate:
        """``controller`` minus ``other``."""
        return self._column(setting, controller, figure).less(self._column(setting, other, figure)).mean()

    def fewer(self, setting: str, controller: str, other: str, figure: str) -> Estimate:
        """The share by which ``controller`` is below ``other``: 0.2 is a fifth lower."""
        return self._column(setting, controller, figure).below(self._column(setting, other, figure))

    def grid(
        self,
        table: str,
        title: str,
        setting: str,
        controllers: Sequence[str],
        columns: Sequence[Shown],
    ) -> Grid:
        """Means of those controllers that were run, a column per figure."""

        def bounds(controller: str, figure: str, scale: float) -> Bounds:
            ours = self.mean(setting, controller, figure)
            mean, low, high = (None if x is None else x * scale for x in (ours.mean, ours.low, ours.high))
            return mean, low, high

        return Grid(
            table,
            f"{title} ({counted(self.networks(setting), 'network')}, {self.count(setting):,} sessions each)",
            tuple((one.title, one.digits) for one in columns),
            tuple(
                (name, tuple(bounds(name, one.column, one.scale) for one in columns))
                for name in controllers
                if name in self.controllers(setting)
            ),
        )

    def means(self) -> dict[str, Any]:
        """Every mean with its interval, for reproduction.json."""

        def interval(*which: str) -> list[float | None]:
            estimate = self.mean(*which)
            return [estimate.mean, estimate.low, estimate.high]

        return {
            setting: {name: {figure: interval(setting, name, figure) for figure in FIGURES} for name in tables}
            for setting, tables in self._tables.items()
        }

    def _column(self, setting: str, controller: str, figure: str) -> Totals:
        totals, counts = self._tables[setting][controller]
        at = FIGURES.index(figure)
        return Totals(totals[:, at], counts[:, at])
