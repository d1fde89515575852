"""What the charts across calls are drawn from: one point per call, or a sample and quantiles of them.

A report of a few thousand calls holds every one. Above `MAX_POINTS`, whole conditions are sampled by their hash, so the
same file comes out every time, and controllers stay paired. The distributions are drawn from quantiles, taken over all
calls or over a larger sample (`MAX_RANKED`).
"""

from __future__ import annotations

from typing import Any

from legato.results.figures import CDF_METRICS, METRICS, TRADE_OFF_METRICS
from legato.results.store import Store

MAX_POINTS = 4_000
"""Calls up to which every one is a point of the plots."""
QUANTILES = 200
"""Steps of a distribution drawn from quantiles."""
MAX_RANKED = 100_000
"""Calls up to which quantiles are over all of them: a share is within 0.5 % of that over more."""


def points(store: Store, calls: int) -> dict[str, Any]:
    """Columns of equal length: variant, trace, clip (as indices into lists), seed, call, and the plots' figures."""
    where = _sample(calls, MAX_POINTS)
    columns = list(dict.fromkeys((*TRADE_OFF_METRICS, *CDF_METRICS)))
    figures = ", ".join(store.column(column) for column in columns)
    rows = store.rows(
        f"SELECT variant, trace, clip, seed, run, call, {figures} FROM summary {where} ORDER BY run, call"
    )
    variant_at = {name: at for at, name in enumerate(store.variants)}
    traces = list(dict.fromkeys(row[1] for row in rows))
    clips = list(dict.fromkeys(row[2] for row in rows))
    trace_at = {name: at for at, name in enumerate(traces)}
    clip_at = {name: at for at, name in enumerate(clips)}
    return {
        "total": calls,
        "sampled": where != "",
        "traces": traces,
        "clips": clips,
        "variant": [variant_at[row[0]] for row in rows],
        "trace": [trace_at[row[1]] for row in rows],
        "clip": [clip_at[row[2]] for row in rows],
        "seed": [row[3] for row in rows],
        "run": [row[4] for row in rows],
        "call": [row[5] for row in rows],
        "figures": {
            column: [shortened(row[at], METRICS[column].scale) for row in rows] for at, column in enumerate(columns, 6)
        },
    }


def quantiles(store: Store, calls: int) -> dict[str, list[list[float | None] | None]]:
    """For each figure of `CDF_METRICS` and each variant, its quantiles at 0, 1/QUANTILES, … 1."""
    steps = "[" + ", ".join(str(at / QUANTILES) for at in range(QUANTILES + 1)) + "]"
    figures = ", ".join(f"quantile_cont({store.column(column)}, {steps})" for column in CDF_METRICS)
    rows = {
        row[0]: row[1:]
        for row in store.rows(f"SELECT variant, {figures} FROM summary {_sample(calls, MAX_RANKED)} GROUP BY variant")
    }

    def curve(name: str, at: int, column: str) -> list[float | None] | None:
        values = rows[name][at] if name in rows else None
        return None if values is None else [shortened(value, METRICS[column].scale) for value in values]

    return {column: [curve(name, at, column) for name in store.variants] for at, column in enumerate(CDF_METRICS)}


def _sample(calls: int, most: int) -> str:
    """A WHERE clause that keeps about `most` calls, by whole conditions; empty where there are no more than that."""
    keep = -(-calls // most)
    return f"WHERE condition % {keep} = 0" if keep > 1 else ""


def shortened(value: float | None, scale: float) -> float | None:
    """In the unit of display, to five significant digits: what a plot can show, and no more bytes than that."""
    return None if value is None else float(f"{value * scale:.5g}")
