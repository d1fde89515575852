"""The few figures of a run that are worth a look at once: one row a controller."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from legato.cli import terminal

# Column of the summary, heading, divisor, decimals. The whole list is in docs/run-folder.md.
_FIGURES = (
    ("goodput_bps", "goodput\nkbit/s", 1000, 0),
    ("utilisation_ratio", "used\n%", 0.01, 1),
    ("loss_ratio", "loss\n%", 0.01, 2),
    ("queue_delay_p95_ms", "queue\np95 ms", 1, 0),
    ("frame_delay_p98_ms", "frames\np98 ms", 1, 0),
    ("viewed_ssim_db_mean", "viewed\nSSIM dB", 1, 2),
    ("stall_ratio", "stalled\n%", 0.01, 2),
)


def means(folder: Path) -> list[dict[str, Any]]:
    """Each controller's mean over its calls, in the order the plan names them; null where it has no figure."""
    import duckdb

    figures = ", ".join(f"avg({column}) AS {column}" for column, *_ in _FIGURES)
    table = duckdb.read_parquet(str(folder / "summary" / "*.parquet")).aggregate(
        f"controller, count(*) AS calls, {figures}, min(call) AS first", "controller"
    )
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.order("first").fetchall()]
    for row in rows:
        del row["first"]
    return rows


def show(folder: Path) -> None:
    """The means as a table."""
    headings = [heading for _, heading, *_ in _FIGURES]
    rows = [
        [
            row["controller"],
            row["calls"],
            *(_figure(row[column], per, places) for column, _, per, places in _FIGURES),
        ]
        for row in means(folder)
    ]
    terminal.table(["controller", "calls", *headings], rows, right=["calls", *headings])


def _figure(value: float | None, per: float, places: int) -> str:
    return "–" if value is None else f"{value / per:.{places}f}"
