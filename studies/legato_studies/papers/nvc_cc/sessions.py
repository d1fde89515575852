"""Figures of many sessions, by setting, controller and network: means, differences and their intervals.

Sessions on one network are not independent of each other: intervals are over networks, each with all its clip
profiles. A network is a recording, or a seed where networks are drawn. All controllers meet the same networks, so that
differences are paired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legato.report.pages import counted
from legato.results.figures import Shown
from legato.results.query import parts
from legato.results.stats import Estimate, mean_intervals, of_groups, paired_differences
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

Array = NDArray[np.float64]


class Sessions:
    """Totals and counts of every figure, (networks, figures), by setting and controller."""

    def __init__(self, tables: Mapping[str, Mapping[str, tuple[Array, Array]]]) -> None:
        self._tables = tables

    @classmethod
    def read(cls, folders: Sequence[tuple[str, Path]], live_only: bool = False) -> Sessions:
        """Of run folders, each part of a setting; ``live_only``: without links that are dead for a second or more."""
        by_setting: dict[str, list[str]] = {}
        for setting, folder in folders:
            by_setting.setdefault(setting, []).extend(parts(folder, "summary"))
        return cls({setting: _totals(paths, live_only) for setting, paths in by_setting.items()})

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
        sessions, having = (self._column(setting, controller, name)[1].sum() for name in ("receiver_rate_bps", figure))
        return int(sessions - having)

    def mean(self, setting: str, controller: str, figure: str) -> Estimate:
        """Over sessions."""
        totals, counts = self._column(setting, controller, figure)
        return mean_intervals(totals, counts)[0]

    def difference(self, setting: str, controller: str, other: str, figure: str) -> Estimate:
        """``controller`` minus ``other``."""
        own, others = self._column(setting, controller, figure), self._column(setting, other, figure)
        return paired_differences(*own, *others)[0]

    def fewer(self, setting: str, controller: str, other: str, figure: str) -> Estimate:
        """The share by which ``controller`` is below ``other``: 0.2 is a fifth lower."""
        own, others = self._column(setting, controller, figure), self._column(setting, other, figure)

        def share(weights: Array) -> Array:
            with np.errstate(invalid="ignore", divide="ignore"):
                mine = (weights @ own[0]) / (weights @ own[1])
                theirs = (weights @ others[0]) / (weights @ others[1])
                return 1.0 - (mine / theirs).ravel()

        return of_groups(share, own[1].ravel())

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

    def _column(self, setting: str, controller: str, figure: str) -> tuple[Array, Array]:
        totals, counts = self._tables[setting][controller]
        at = FIGURES.index(figure)
        return totals[:, at : at + 1], counts[:, at : at + 1]


def _totals(paths: Sequence[str], live_only: bool) -> dict[str, tuple[Array, Array]]:
    import duckdb

    sums = ", ".join(f"coalesce(sum({figure}), 0), count({figure})" for figure in FIGURES)
    live = "where coalesce(dead_link_s, 0) = 0 " if live_only else ""
    rows = duckdb.sql(
        "select controller, split_part(coalesce(trace, ''), ' ', 1) as recording, "
        f"case when trace_family = 'generator' then seed end as drawn, {sums} from read_parquet({list(paths)}) {live}"
        "group by controller, recording, drawn order by controller, recording, drawn"
    ).fetchall()
    tables: dict[str, tuple[Array, Array]] = {}
    for controller in dict.fromkeys(row[0] for row in rows):
        figures = np.array([row[3:] for row in rows if row[0] == controller], dtype=np.float64)
        tables[controller] = (figures[:, 0::2], figures[:, 1::2])
    return tables
