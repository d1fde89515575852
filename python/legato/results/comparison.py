"""Controllers × metrics: means with intervals, and differences to a baseline, paired by condition.

SQL gives the totals of every figure, and of its differences to the baseline's in the same condition, over each network
(networks.py; stats.py says how an interval comes of them). The rest is arithmetic on a small array, so time grows
with reading the columns asked for and memory not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from legato.errors import ControllerError
from legato.results import headroom, stats
from legato.results.figures import KEY_METRICS, METRICS, Metric
from legato.results.networks import quoted
from legato.results.stats import Estimate
from legato.results.store import Store, base_name
from legato.results.totals import bounded

PAIRED_CALLS = 100_000
"""Calls up to which differences are taken call by call; of more, network by network: memory does not grow then."""


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
    networks: int
    """Independent ones, which intervals are over."""
    network: str
    """What one is: "trace", or "network" where not all are recorded."""
    ceiling: str | None = None
    """The controller that bounds the others, if it ran."""
    closed: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    """Of the way from the baseline to the ceiling, the share each other controller goes: by name, then by column."""

    @property
    def groups(self) -> int:
        """What an interval is made from: networks, or blocks of them."""
        return self.networks if self.networks <= stats.EXACT_GROUPS else stats.BLOCKS

    @property
    def complete(self) -> bool:
        return self.calls_found >= self.calls_planned

    @property
    def has_intervals(self) -> bool:
        return self.networks >= stats.FEWEST

    @property
    def over(self) -> str:
        """What the intervals are over: "44 traces"."""
        return f"one {self.network}" if self.networks == 1 else f"{self.networks:,} {self.network}s"

    @property
    def without_intervals(self) -> str | None:
        """Why there are no intervals, in one line; None where there are."""
        if self.has_intervals:
            return None
        return (
            f"No intervals: {self.over}, and an interval takes {stats.FEWEST} independent networks. More traces give "
            "them, or more seeds of a scenario that draws its network; more calls over the same network do not."
        )

    @property
    def method(self) -> str:
        """How the intervals were made, in a sentence without its stop."""
        blocks = f", dealt into {stats.BLOCKS} blocks by a hash" if self.networks > stats.EXACT_GROUPS else ""
        return (
            f"95 % intervals over {self.over}{blocks}: Student's interval of the networks' totals, made longer on the "
            "side to which they are skewed, by Hall's transformation"
        )

    def row(self, controller: str) -> TableRow:
        return next(row for row in self.rows if row.controller == controller)


def summarise(
    runs: Store | Sequence[str | Path] | str | Path,
    baseline: str | None = None,
    metrics: Sequence[str] = KEY_METRICS,
    *,
    late_calls: bool = False,
) -> Summary:
    """Means, 95 % intervals and paired differences of `metrics` (columns of `summary`) for every controller.

    Args:
        runs: one run folder or several, which are merged (store.py), or those that are open already.
        baseline: the controller the others are compared with; by default `gcc` if it ran, else the first.
        late_calls: count real calls whose emulated link was late; they are left out otherwise.

    Raises:
        RunFolderError: a folder that cannot be read.
        ControllerError: no such baseline in these folders.
    """
    if not isinstance(runs, Store):
        runs = Store([runs] if isinstance(runs, str | Path) else list(runs), late_calls=late_calls)
    store = runs
    baseline = choose_baseline(store.variants, baseline)
    chosen = [METRICS[column] for column in metrics]
    calls = dict(store.rows("SELECT variant, count(*) FROM summary GROUP BY variant"))
    networks, network = store.networks()
    totals, counts = _group_totals(store, chosen, networks)
    paired, pairs = _paired_totals(store, chosen, networks, calls, baseline, totals, counts)
    if store.none_counts:
        for array in (totals, counts, paired, pairs):
            array[:] = 0  # no mean is made of them

    left_out = 0 if store.late_counted or store.none_counts else sum(map(len, store.late))
    most = [metric.most for metric in chosen]
    rows = []
    for at, variant in enumerate(store.variants):
        # No end below zero where no network's total is, none above the largest possible.
        least = np.where(totals[at].min(axis=0, initial=0.0) < 0, -np.inf, 0.0)
        means = stats.mean_intervals(totals[at], counts[at])
        estimates = [bounded(mean, *ends) for mean, *ends in zip(means, least, most, strict=True)]
        differences = stats.mean_intervals(paired[at], pairs[at]) if variant != baseline else []
        rows.append(
            TableRow(
                variant,
                calls[variant],
                {metric.column: estimate for metric, estimate in zip(chosen, estimates, strict=True)},
                {
                    m.column: bounded(d, -m.most, m.most)
                    for m, d in zip(chosen, differences, strict=False)
                    if d.count > 0
                },
            )
        )
    top = headroom.ceiling(store.variants, baseline)
    return Summary(
        rows=rows,
        baseline=baseline,
        metrics=chosen,
        calls_found=sum(calls.values()),
        calls_planned=sum(run.calls for run in store.runs) - left_out,
        networks=networks,
        network=network,
        ceiling=top,
        closed={} if top is None else _closed(store.variants, chosen, paired, pairs, (baseline, top)),
    )


def choose_baseline(variants: Sequence[str], asked: str | None) -> str:
    """The variant that others are compared with: the one asked for, else `gcc`, else the first."""
    if asked is not None:
        if asked not in variants:
            raise ControllerError(f"baseline {asked}: did not run here", f"one of: {', '.join(variants)}")
        return asked
    return next((name for name in variants if base_name(name) == "gcc"), variants[0])


def _closed(
    variants: Sequence[str], metrics: Sequence[Metric], paired: np.ndarray, pairs: np.ndarray, ends: tuple[str, str]
) -> dict[str, dict[str, Estimate]]:
    """The headroom that each controller between the two ends closes."""
    top = variants.index(ends[1])
    return {
        variant: headroom.closed(metrics, (paired[at], pairs[at]), (paired[top], pairs[top]))
        for at, variant in enumerate(variants)
        if variant not in ends
    }


def _paired_totals(
    store: Store,
    metrics: Sequence[Metric],
    networks: int,
    calls: Mapping[str, int],
    baseline: str,
    totals: np.ndarray,
    counts: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Totals and numbers of the differences to the baseline's figures in the same condition."""
    if sum(calls.values()) <= PAIRED_CALLS:
        return _group_totals(store, metrics, networks, less=baseline)
    if len(set(calls.values())) > 1:
        # Networks pair by their means, which is fair only if every controller met the same conditions.
        totals, counts = _group_totals(store, metrics, networks, _SHARED_BY_ALL)
    base = store.variants.index(baseline)
    return stats.differences(totals, counts, totals[base], counts[base])


def _group_totals(
    store: Store, metrics: Sequence[Metric], networks: int, where: str = "", less: str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Sums and numbers of the non-null figures, or of their differences to the controller `less` in the same condition:
    two arrays (variants, groups, metrics).
    """
    group = "network" if networks <= stats.EXACT_GROUPS else f"network % {stats.BLOCKS}"
    # Columns that a run does not have are one null between them.
    columns = list(dict.fromkeys(store.column(metric.column) for metric in metrics))
    named = {column: f"f{at}" for at, column in enumerate(columns)}
    figures = ", ".join(f"{column} AS {name}" for column, name in named.items())
    source = f"SELECT variant, condition, network, {figures} FROM summary {where}"
    if less is not None:
        differences = ", ".join(f"own.{name} - base.{name} AS {name}" for name in named.values())
        source = (
            f"WITH calls AS ({source}) SELECT own.variant, own.network, {differences} FROM calls own JOIN calls base "
            f"USING (condition) WHERE base.variant = {quoted(less)} AND own.variant != base.variant"
        )
    sums = ", ".join(f"sum({name}) AS t_{name}, count({name}) AS n_{name}" for name in named.values())
    found = store.arrays(f"SELECT variant, {group} AS grp, {sums} FROM ({source}) GROUP BY ALL ORDER BY grp, variant")
    variant_at = {name: at for at, name in enumerate(store.variants)}
    variants = np.array([variant_at[name] for name in found["variant"]], dtype=np.intp)
    names, groups = np.unique(np.ma.getdata(found["grp"]), return_inverse=True)
    shape = (len(store.variants), len(names), len(metrics))
    totals, counts = np.zeros(shape), np.zeros(shape)
    for at, metric in enumerate(metrics):
        name = named[store.column(metric.column)]
        totals[variants, groups, at] = np.ma.filled(np.ma.asarray(found[f"t_{name}"], dtype=float), 0.0)
        counts[variants, groups, at] = found[f"n_{name}"]
    return totals, counts


_SHARED_BY_ALL = (
    "WHERE condition IN (SELECT condition FROM summary GROUP BY condition "
    "HAVING count(DISTINCT variant) = (SELECT count(DISTINCT variant) FROM summary))"
)
