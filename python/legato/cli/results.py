"""The few figures of a run that are worth a look at once: one row per controller."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from legato.cli import terminal
from legato.results.query import query
from legato.runs.sweep import Run

Figures = Sequence[tuple[str, str, float, int]]
"""Column of the summary, heading, divisor, decimals. The whole list is in docs/run-folder.md."""

OF_CALLS: Figures = (
    ("goodput_bps", "goodput\nkbit/s", 1000, 0),
    ("utilisation_ratio", "used\n%", 0.01, 1),
    ("loss_ratio", "loss\n%", 0.01, 2),
    ("queue_delay_p95_ms", "queue\np95 ms", 1, 0),
    ("viewed_delay_p95_ms", "viewed\np95 ms", 1, 0),
    ("on_time_150ms_ratio", "on time\n150 ms %", 0.01, 1),
    ("viewed_ssim_db_mean", "viewed\nSSIM dB", 1, 2),
    ("stall_ratio", "stalled\n%", 0.01, 2),
)

OF_CALLS_WITH_VMAF: Figures = (*OF_CALLS, ("viewed_vmaf_mean", "viewed\nVMAF", 1, 1))
"""Where it was measured."""

OF_LINKS: Figures = (
    ("receiver_rate_bps", "received\nkbit/s", 1000, 0),
    ("utilisation_ratio", "used\n%", 0.01, 1),
    ("loss_ratio", "loss\n%", 0.01, 2),
    ("one_way_delay_p50_ms", "delay\np50 ms", 1, 1),
    ("one_way_delay_p95_ms", "delay\np95 ms", 1, 1),
    ("queue_delay_p95_ms", "queue\np95 ms", 1, 0),
)
"""Where nothing is known of frames."""


def means(folder: Path, figures: Figures = OF_CALLS) -> list[dict[str, Any]]:
    """Each controller's mean over its calls that count, in the order the plan names them; null where it has no
    figure."""
    from legato.results.late import late_calls, without

    counted = f"filter (where {without(late.call for late in late_calls(folder))})"
    columns = ", ".join(f"avg({column}) {counted} as {column}" for column, *_ in figures)
    calls = f"count(*) {counted} as calls"
    sql = f"select controller, {calls}, {columns} from summary group by controller order by min(call)"
    return query(folder, sql)


def finish(run: Run, figures: Figures = OF_CALLS, *, as_json: bool) -> None:
    """What a verb prints of the run it made: all of it as JSON, or the means and where it is."""
    if as_json:
        print(json.dumps({"run": str(run.folder), "calls": run.summary()}, indent=2))
        return
    show(run.folder, figures)
    terminal.out().print(f"\nrun: {run.folder}")
    terminal.say(f"a report of it: legato report {run.folder}")


def show(folder: Path, figures: Figures = OF_CALLS) -> None:
    """The means as a table."""
    headings = [heading for _, heading, *_ in figures]
    rows = [
        (row["controller"], row["calls"], *(_figure(row[column], per, places) for column, _, per, places in figures))
        for row in means(folder, figures)
    ]
    terminal.table(["controller", "calls", *headings], rows, right=["calls", *headings])


def _figure(value: float | None, per: float, places: int) -> str:
    return "–" if value is None else f"{value / per:.{places}f}"
