"""The result in plain words, computed: the behaviour of each controller, and the significant differences.

A difference is reported only where its paired 95 % interval excludes zero; the rest is called undecided.
Controllers are set in `**` (a terminal may drop them, the page colours them).
"""

from __future__ import annotations

import re

from legato.results.comparison import Summary, TableRow
from legato.results.figures import METRICS

NAMED = re.compile(r"\*\*(.+?)\*\*")
"""A controller's name in a sentence."""
MAX_NAMED = 4
"""Controllers up to which each gets its own sentence; beyond, only the best and the worst are named."""

# Quality as viewed: over rendered frames alone, a call that is frozen most of the time can look good.
_QUALITY = "viewed_ssim_db_mean"
# And so can its delay. Folders that older versions wrote have only the second.
_DELAYS = {"viewed_delay_p95_ms": "p95 frame delay as viewed", "frame_delay_p98_ms": "p98 frame delay"}
_ON_TIME = "on_time_150ms_ratio"
_SHARES = {_ON_TIME: "frames on time (150 ms)", "stall_ratio": "time stalled"}


def reading(summary: Summary) -> tuple[list[str], list[str]]:
    """Two lists of sentences: observations, and conclusions. Needs the key metrics in `summary`."""
    few = len(summary.rows) <= MAX_NAMED
    seen = [_what_it_did(row, _delay(summary)) for row in summary.rows] if few else _extremes(summary)
    calls = {row.calls for row in summary.rows}
    if few and len(calls) == 1 and max(calls) > 1:
        seen[0] = f"On average over {max(calls):,} calls each, {seen[0]}"
    says = [sentence for row in summary.rows if (sentence := _compared(row, summary))] if few else []
    if not few:
        says.append("The table below compares each with the baseline, pair by pair.")
    if len(summary.rows) > 1 and not any(row.differences for row in summary.rows):
        says = ["No two controllers met the same trace, clip and seed, so none can be compared pair by pair."]
    elif says and few:
        says.append(f"In brackets: 95 % intervals of the paired difference, over {summary.over}.")
    if summary.without_intervals:
        says += [summary.without_intervals, "This shows what happened, not what would happen elsewhere."]
    return seen, says


def _delay(summary: Summary) -> str:
    """The delay that is judged."""
    return next((column for column in _DELAYS if any(_mean(row, column) is not None for row in summary.rows)), "")


def _judged(summary: Summary) -> dict[str, str]:
    """The compared figures, with their labels."""
    delay = _delay(summary)
    return {_QUALITY: "SSIM as viewed", **({delay: _DELAYS[delay]} if delay else {}), **_SHARES}


def _what_it_did(row: TableRow, judged: str) -> str:
    did = []
    delay, quality, on_time = _mean(row, judged), _mean(row, _QUALITY), _mean(row, _ON_TIME)
    at = f" at a {_DELAYS[judged]} of {_ms(delay)}" if delay is not None else ""
    if (used := _mean(row, "utilisation_ratio")) is not None:
        did.append(f"used {used * 100:.0f} % of the capacity{at}")
    elif at:
        did.append(f"ran{at}")
    if on_time is not None:
        did.append(f"had {on_time * 100:.1f} % of its frames on time (150 ms)")
    if quality is not None:
        did.append(f"showed {quality:.1f} dB SSIM as viewed")
    if (stalled := _mean(row, "stall_ratio")) is not None:
        floor = _mean(row, "stall_floor_ratio")
        alone = f" (the link alone: {_percent(floor)})" if floor else ""
        did.append("never stalled" if stalled == 0 else f"was stalled {_percent(stalled)} of the time{alone}")
    name = f"**{row.controller}**"
    return f"{name} {_listed(did)}." if did else f"{name} left no figure that could be scored."


def _compared(row: TableRow, summary: Summary) -> str | None:
    decided, undecided = [], []
    for column, label in _judged(summary).items():
        difference = row.differences.get(column)
        if difference is None or difference.mean is None or difference.low is None or difference.high is None:
            continue
        if difference.excludes_zero():
            low, high = sorted((abs(difference.low), abs(difference.high)))
            more = "more" if difference.mean > 0 else "less"
            amount, bounds = _amount(column, abs(difference.mean)), _bounds(column, low, high)
            decided.append(f"{amount} {more} {label} ({bounds})")
        elif (difference.low, difference.high) != (0, 0):
            undecided.append(label)
    start = f"Against **{summary.baseline}** in the same conditions, **{row.controller}**"
    if decided:
        ending = f"; {_listed(undecided)} cannot be told apart" if undecided else ""
        return f"{start} has {_listed(decided)}{ending}."
    return f"{start} cannot be told apart in {_listed(undecided)}." if undecided else None


def _extremes(summary: Summary) -> list[str]:
    sentences = []
    for column, label in (*_judged(summary).items(), ("utilisation_ratio", "utilisation")):
        ranked = sorted((m, row.controller) for row in summary.rows if (m := _mean(row, column)) is not None)
        if len(ranked) < 2:
            continue
        metric = METRICS[column]
        (low, lowest), (high, highest) = ranked[0], ranked[-1]
        sentences.append(
            f"Mean {label} runs from {metric.shown(low)} {metric.unit} (**{lowest}**) to {metric.shown(high)} "
            f"{metric.unit} (**{highest}**)."
        )
    return [f"{len(summary.rows)} controllers were compared.", *sentences]


def _mean(row: TableRow, column: str) -> float | None:
    estimate = row.estimates.get(column)
    return None if estimate is None else estimate.mean


def _amount(column: str, value: float) -> str:
    if column in _SHARES:
        return f"{value * 100:.{_places(value)}f} percentage points"
    return _ms(value) if column.endswith("_ms") else f"{value:.2f} dB"


def _bounds(column: str, low: float, high: float) -> str:
    if column.endswith("_ms"):
        return f"{low:.0f} to {high:.0f}"
    if column in _SHARES:
        return f"{low * 100:.{_places(high)}f} to {high * 100:.{_places(high)}f}"
    return f"{low:.2f} to {high:.2f}"


def _places(ratio: float) -> int:
    # Two digits that mean something, of a ratio in per cent.
    return 0 if ratio >= 0.0995 else 1 if ratio >= 0.00995 else 2


def _ms(value: float) -> str:
    return f"{value:.0f} ms" if value >= 9.95 else f"{value:.1f} ms"


def _percent(ratio: float) -> str:
    return f"{ratio * 100:.{_places(ratio)}f} %"


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
