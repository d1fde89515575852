"""The few figures of a run that are worth a look at once: one row per controller."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from legato.cli import terminal
from legato.results.figures import METRICS, Shown
from legato.results.query import query
from legato.runs.sweep import Run

Figures = Sequence[Shown]
"""With the headings of a table. The whole list is in docs/reference/run-folder.md."""

OF_CALLS: Figures = (
    METRICS["goodput_bps"].named("goodput\nkbit/s", unit="kbit/s", digits=0),
    METRICS["utilisation_ratio"].named("used\n%", digits=1),
    METRICS["loss_ratio"].named("loss\n%"),
    METRICS["queue_delay_p95_ms"].named("queue\np95 ms", digits=0),
    METRICS["viewed_delay_p95_ms"].named("viewed\np95 ms", digits=0),
    METRICS["on_time_150ms_ratio"].named("on time\n150 ms %", digits=1),
    METRICS["viewed_ssim_db_mean"].named("viewed\nSSIM dB"),
    METRICS["stall_ratio"].named("stalled\n%"),
)

OF_CALLS_WITH_VMAF: Figures = (*OF_CALLS, METRICS["viewed_vmaf_mean"].named("viewed\nVMAF"))
"""Where it was measured."""

OF_LINKS: Figures = (
    METRICS["receiver_rate_bps"].named("received\nkbit/s", unit="kbit/s", digits=0),
    METRICS["utilisation_ratio"].named("used\n%", digits=1),
    METRICS["loss_ratio"].named("loss\n%"),
    METRICS["one_way_delay_p50_ms"].named("delay\np50 ms"),
    METRICS["one_way_delay_p95_ms"].named("delay\np95 ms"),
    METRICS["queue_delay_p95_ms"].named("queue\np95 ms", digits=0),
)
"""Where there are no records of frames."""


def means(folder: Path, figures: Figures = OF_CALLS) -> list[dict[str, Any]]:
    """Each controller's mean over its calls that count, in the order the plan names them; null where it has no
    figure."""
    from legato.results.late import late_calls, without

    counted = f"filter (where {without(late.call for late in late_calls(folder))})"
    columns = ", ".join(f"avg({one.column}) {counted} as {one.column}" for one in figures)
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
    headings = [one.title for one in figures]
    found = means(folder, figures)
    rows = [(row["controller"], row["calls"], *(one.text(row[one.column]) for one in figures)) for row in found]
    terminal.table(["controller", "calls", *headings], rows, right=["calls", *headings])
