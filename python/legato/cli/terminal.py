"""What a person sees: results on standard output, everything said about them on standard error.

Progress is a bar on a terminal and a plain line every few seconds elsewhere; whatever is over sooner
says nothing of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from legato.sweep import Interrupted
from legato.sweep import Progress as SweepProgress

debug = False
"""Whether errors also show where they came from (``--debug``)."""

_BAR_AFTER_S = 1.0
_LINE_EVERY_S = 5.0


def out() -> Console:
    """Standard output, for results; looked up at each use, so that tests may redirect it."""
    return Console(highlight=False, soft_wrap=True)


def err() -> Console:
    """Standard error, for everything else."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(message: str) -> None:
    """One line on standard error."""
    err().print(escape(message))


def say_error(message: str, hint: str | None) -> None:
    """An ``error:`` line and, where there is one, a ``hint:`` line. A message of several lines becomes one."""
    err().print(f"[bold red]error:[/] {escape(' '.join(message.split()))}")
    if hint:
        err().print(f"[bold]hint:[/] {escape(' '.join(hint.split()))}")


def say_stopped(stop: Interrupted) -> None:
    """After Ctrl-C: what there is, and how to get the rest."""
    say(f"stopped: {stop.calls_done} of {stop.calls} calls are in {stop.folder}, readable as they are")
    say("to make the others: the same command with --resume")


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[str] = ()) -> None:
    """A table on standard output; columns named in ``right`` are set flush right."""
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        grid.add_column(column, justify="right" if column in right else "left", no_wrap=column in right)
    for row in rows:
        grid.add_row(*(escape(str(cell)) for cell in row))
    Console(highlight=False).print(grid)


@contextmanager
def sweep_progress(what: str) -> Iterator[Callable[[SweepProgress], None]]:
    """A progress callback for a sweep: calls per second and how many times faster than the calls last."""
    with _progress(what, "calls") as show:

        def on_progress(progress: SweepProgress) -> None:
            wall_s = max(progress.wall_s, 1e-9)
            rates = f"{progress.calls_done / wall_s:.1f} calls/s, {progress.simulated_s / wall_s:,.0f}x real time"
            show(progress.calls_done, progress.calls, rates)

        yield on_progress


@contextmanager
def share_progress(what: str) -> Iterator[Callable[[str, float], None]]:
    """A progress callback for work measured as a share: what is being done, and how much is done (0 to 1)."""
    with _progress(what, "%") as show:
        yield lambda doing, share: show(round(share * 100), 100, doing)


@contextmanager
def _progress(what: str, unit: str) -> Iterator[Callable[[int, int, str], None]]:
    console = err()
    started = last_line = time.monotonic()
    if not console.is_terminal:

        def say_line(done: int, total: int, rates: str) -> None:
            nonlocal last_line
            now = time.monotonic()
            if now - last_line >= _LINE_EVERY_S:
                last_line = now
                console.print(escape(f"{what}: {done}/{total} {unit}, {rates}"))

        yield say_line
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(f"{{task.completed:.0f}}/{{task.total:.0f}} {unit}"),
        TextColumn("{task.fields[rates]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task(escape(what), total=1, rates="")
    shown = False

    def move_bar(done: int, total: int, rates: str) -> None:
        nonlocal shown
        if not shown and time.monotonic() - started >= _BAR_AFTER_S:
            bar.start()
            shown = True
        bar.update(task, completed=done, total=max(total, 1), rates=rates)

    try:
        yield move_bar
    finally:
        if shown:
            bar.stop()
