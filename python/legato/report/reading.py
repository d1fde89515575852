"""The result in plain words, computed: what each controller did, and what can be told apart.

A difference is called one only where its paired 95 % interval leaves zero out; the rest is said to be undecided.
"""

from __future__ import annotations

from ..eval.stats import Estimate
from .metrics import METRICS
from .tables import Summary, TableRow

MAX_NAMED = 4
"""Controllers up to which each gets its own sentence; beyond, only the best and the worst are named."""


def reading(summary: Summary) -> list[str]:
    """Sentences, in order. Needs the key metrics in `summary`."""
    if len(summary.rows) <= MAX_NAMED:
        sentences = [_what_it_did(row) for row in summary.rows]
        sentences += [s for row in summary.rows if (s := _compared(row, summary.baseline))]
    else:
        sentences = _extremes(summary)
    if len(summary.rows) > 1 and not any(row.differences for row in summary.rows):
        sentences.append("No two controllers met the same trace, clip and seed, so none can be compared pair by pair.")
    elif (summary.conditions or 1_000) < 5:
        number = summary.conditions
        sentences.append(
            f"With {number} condition{'s' if number != 1 else ''} this shows what happened, "
            "not what would happen elsewhere."
        )
    return sentences


def _what_it_did(row: TableRow) -> str:
    did = []
    if (used := _mean(row, "utilisation_ratio")) is not None:
        did.append(f"used {used * 100:.0f} % of the capacity")
    delay, quality = _mean(row, "frame_delay_p98_ms"), _mean(row, "ssim_db_mean")
    if delay is not None:
        did.append(f"had a p98 frame delay of {_ms(delay)}")
    if quality is not None:
        did.append(f"showed {quality:.1f} dB SSIM")
    if (stalled := _mean(row, "stall_ratio")) is not None:
        did.append("never stalled" if stalled == 0 else f"was stalled {_percent(stalled)} of the time")
    return f"{row.controller} {_listed(did)}." if did else f"{row.controller} rendered no frame that could be scored."


def _compared(row: TableRow, baseline: str) -> str | None:
    told, open_ = [], []
    for column, phrase in (
        ("ssim_db_mean", lambda d: f"{abs(d):.2f} dB {'more' if d > 0 else 'less'} SSIM"),
        ("frame_delay_p98_ms", lambda d: f"{_ms(abs(d))} {'more' if d > 0 else 'less'} p98 frame delay"),
        ("stall_ratio", lambda d: f"{abs(d) * 100:.2g} points {'more' if d > 0 else 'less'} time stalled"),
    ):
        difference = row.differences.get(column)
        if difference is None or difference.mean is None:
            continue
        if difference.excludes_zero():
            told.append(f"{phrase(difference.mean)} ({_interval(column, difference)})")
        elif difference.low is not None and (difference.low, difference.high) != (0, 0):
            open_.append(METRICS[column].label.lower() if column != "ssim_db_mean" else "SSIM")
    if told:
        ending = f"; {_listed(open_)} cannot be told apart" if open_ else ""
        return f"Against {baseline} in the same conditions, {row.controller} has {_listed(told)}{ending}."
    if open_:
        return f"Against {baseline} in the same conditions, {row.controller} cannot be told apart in {_listed(open_)}."
    return None


def _extremes(summary: Summary) -> list[str]:
    sentences = []
    for column, phrase in (
        ("ssim_db_mean", "SSIM"),
        ("frame_delay_p98_ms", "p98 frame delay"),
        ("utilisation_ratio", "utilisation"),
    ):
        ranked = sorted((m, r.controller) for r in summary.rows if (m := _mean(r, column)) is not None)
        if len(ranked) < 2:
            continue
        metric = METRICS[column]
        shown = [f"{metric.shown(m)} {metric.unit} ({name})" for m, name in (ranked[0], ranked[-1])]
        sentences.append(f"Mean {phrase} runs from {shown[0]} to {shown[1]} over {len(ranked)} controllers.")
    return sentences


def _mean(row: TableRow, column: str) -> float | None:
    estimate = row.estimates.get(column)
    return None if estimate is None else estimate.mean


def _interval(column: str, estimate: Estimate) -> str:
    metric = METRICS[column]
    return f"95 % interval {metric.shown(estimate.low)} to {metric.shown(estimate.high)}"


def _ms(value: float) -> str:
    return f"{value:.0f} ms" if value >= 9.95 else f"{value:.1f} ms"


def _percent(ratio: float) -> str:
    return f"{ratio * 100:.0f} %" if ratio >= 0.0995 else f"{ratio * 100:.2g} %"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
