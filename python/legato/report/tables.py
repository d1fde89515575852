"""Controllers × metrics: means with intervals, and differences to a baseline, paired by condition.

One pass of SQL gives the totals of every figure in every group of conditions (eval/stats.py says what a group is);
the rest is arithmetic on a small array, so time grows with reading the columns asked for and memory not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from legato.errors import ControllerError
from legato.eval import stats
from legato.eval.stats import Estimate
from legato.report.metrics import KEY_METRICS, METRICS, Metric
from legato.report.store import Store, base_name


@dataclass(frozen=True)
class TableRow:
    """One controller. `differences` is empty for the baseline and where no condition is shared with it."""

    controller: str
    calls: int
    estimates: dict[str, Estimate]
    differences: dict[str, Estimate]


@dataclass(frozen=True)
class Summary:
    """The figures of one report, before anything is drawn."""

    rows: list[TableRow]
    baseline: str
    metrics: list[Metric]
    calls_found: int
    calls_planned: int
    conditions: int | None
    """Distinct conditions; None where they were too many to keep apart and were resampled in blocks."""

    @property
    def complete(self) -> bool:
        return self.calls_found >= self.calls_planned

    @property
    def method(self) -> str:
        """How the intervals were made, in one sentence."""
        unit = "conditions (one trace, clip and seed)"
        if self.conditions is None:
            unit = f"{stats.BLOCKS} blocks of conditions (one trace, clip and seed, dealt by a hash)"
        return f"95 % percentile bootstrap over {unit}, {stats.RESAMPLES:,} resamples, the same for all controllers"

    def row(self, controller: str) -> TableRow:
        return next(row for row in self.rows if row.controller == controller)


def summarise(
    runs: Store | Sequence[str | Path] | str | Path,
    baseline: str | None = None,
    metrics: Sequence[str] = KEY_METRICS,
) -> Summary:
    """Means, 95 % intervals and paired differences of `metrics` (columns of `summary`) for every controller.

    Args:
        runs: one run folder or several, which are merged (store.py), or those that are open already.
        baseline: the controller the others are compared with; by default `gcc` if it ran, else the first.

    Raises:
        RunFolderError: a folder that cannot be read.
        ControllerError: no such baseline in these folders.
    """
    store = runs if isinstance(runs, Store) else Store([runs] if isinstance(runs, str | Path) else list(runs))
    baseline = choose_baseline(store.variants, baseline)
    chosen = [METRICS[column] for column in metrics]
    calls = dict(store.rows("SELECT variant, count(*) FROM summary GROUP BY variant"))
    exact = max(calls.values()) <= stats.EXACT_GROUPS
    totals, counts = _group_totals(store, chosen, exact, "")
    groups = totals.shape[1]
    weights = stats.resampling_weights(groups)

    paired_totals, paired_counts = totals, counts
    if not exact and len(set(calls.values())) > 1:
        # Blocks pair by their means, which is fair only if every controller met the same conditions.
        paired_totals, paired_counts = _group_totals(store, chosen, exact, _SHARED_BY_ALL)
    paired_weights = weights if paired_totals is totals else stats.resampling_weights(paired_totals.shape[1])
    base = store.variants.index(baseline)

    rows = []
    for at, variant in enumerate(store.variants):
        estimates = stats.mean_intervals(totals[at], counts[at], weights)
        differences = []
        if at != base and paired_totals.shape[1] > 0:
            differences = stats.paired_differences(
                paired_totals[at], paired_counts[at], paired_totals[base], paired_counts[base], paired_weights
            )
        rows.append(
            TableRow(
                variant,
                calls[variant],
                {metric.column: estimate for metric, estimate in zip(chosen, estimates, strict=True)},
                {m.column: d for m, d in zip(chosen, differences, strict=False) if d.count > 0},
            )
        )
    return Summary(
        rows=rows,
        baseline=baseline,
        metrics=chosen,
        calls_found=sum(calls.values()),
        calls_planned=sum(run.calls for run in store.runs),
        conditions=groups if exact else None,
    )


def choose_baseline(variants: Sequence[str], asked: str | None) -> str:
    """The variant that others are compared with: the one asked for, else `gcc`, else the first."""
    if asked is not None:
        if asked not in variants:
            raise ControllerError(f"baseline {asked}: did not run here", f"one of: {', '.join(variants)}")
        return asked
    return next((name for name in variants if base_name(name) == "gcc"), variants[0])


def _group_totals(store: Store, metrics: Sequence[Metric], exact: bool, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Sums and numbers of the non-null figures: two arrays (variants, groups, metrics)."""
    group = "condition" if exact else f"condition % {stats.BLOCKS}"
    figures = ", ".join(
        f"sum({store.column(m.column)}) AS t{at}, count({store.column(m.column)}) AS n{at}"
        for at, m in enumerate(metrics)
    )
    found = store.arrays(
        f"SELECT variant, {group} AS grp, {figures} FROM summary {where} GROUP BY variant, grp ORDER BY grp, variant"
    )
    variant_at = {name: at for at, name in enumerate(store.variants)}
    variants = np.array([variant_at[name] for name in found["variant"]], dtype=np.intp)
    names, groups = np.unique(np.ma.getdata(found["grp"]), return_inverse=True)
    shape = (len(store.variants), len(names), len(metrics))
    totals, counts = np.zeros(shape), np.zeros(shape)
    for at in range(len(metrics)):
        totals[variants, groups, at] = np.ma.filled(np.ma.asarray(found[f"t{at}"], dtype=float), 0.0)
        counts[variants, groups, at] = found[f"n{at}"]
    return totals, counts


_SHARED_BY_ALL = (
    "WHERE condition IN (SELECT condition FROM summary GROUP BY condition "
    "HAVING count(DISTINCT variant) = (SELECT count(DISTINCT variant) FROM summary))"
)
