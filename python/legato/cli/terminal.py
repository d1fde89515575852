"""What a person sees: results on standard output, messages about them on standard error.

Progress is a bar on a terminal and a plain line every few seconds elsewhere; what ends sooner
shows none.
"""

from __future__ import annotations

import io
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from legato.errors import DataWarning
from legato.plan import shipped
from legato.runs.sweep import Interrupted
from legato.runs.sweep import Progress as SweepProgress

if TYPE_CHECKING:
    from legato.call.session import CallProgress
    from legato.train.run_folder import Progress as TrainingProgress
    from legato.train.seeds import SeedProgress

debug = False
"""Whether errors also show where they came from (``--debug``)."""

_BAR_AFTER_S = 1.0
_LINE_EVERY_S = 5.0


def show_anything() -> None:
    """Let whatever is printed be printable: bytes that are no text, signs that the terminal's encoding lacks.

    Warnings about the user's data become lines like those of errors.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    warnings.simplefilter("always", DataWarning)
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, DataWarning):
            err().print(f"[bold yellow]warning:[/] {escape(shipped.without_place(' '.join(str(message).split())))}")
        else:
            usual(message, category, *where, **more)

    warnings.showwarning = show


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
    err().print(f"[bold red]error:[/] {escape(shipped.without_place(' '.join(message.split())))}")
    if hint:
        err().print(f"[bold]hint:[/] {escape(' '.join(hint.split()))}")


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[str] = ()) -> None:
    """A table on standard output; columns named in ``right`` are set flush right. Nothing is cut off."""
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        grid.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(escape(str(cell)) for cell in row))
    console = Console(highlight=False)
    if console.is_terminal:
        console.print(grid)
        return
    console.width = 10_000  # a script that reads it needs one line per row
    with console.capture() as shown:
        console.print(grid)
    for line in shown.get().splitlines():
        print(line.rstrip())


class Watch:
    """Shows progress. Its methods are the callbacks of lengthy functions."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._console = err()
        self._started = self._last_line = time.monotonic()
        self._bar: Progress | None = None

    def calls(self, progress: SweepProgress, part: str = "") -> None:
        """A sweep: calls per second, and how many times faster it goes than the calls last; `part` of something."""
        wall_s = max(progress.wall_s, 1e-9)
        rates = f"{progress.calls_done / wall_s:.1f} calls/s, {progress.simulated_s / wall_s:,.0f}x real time"
        what = f"{self._what} {part}" if part else self._what
        self._show(what, progress.calls_done, progress.calls, f"calls, {rates}")

    def real_call(self, progress: CallProgress) -> None:
        """A real call: its second, the controller's target and the receiver rate."""
        what = f"{self._what} {progress.call + 1} of {progress.calls}" if progress.calls > 1 else self._what
        rates = f"target {progress.target_bps / 1e6:.2f}, received {progress.receiver_rate_bps / 1e6:.2f} Mbit/s"
        rest = f"s, {rates}, {progress.frames_decoded} frames"
        if progress.over:
            rest = "s, over: captured and shown pictures are compared"
        self._show(what, round(progress.time_s), round(progress.duration_s), rest)

    def clip(self, doing: str, share_ratio: float) -> None:
        """A clip being profiled: the step, and its progress, 0 to 1."""
        if share_ratio == 0:
            say(f"{self._what}: {doing}")
            return
        self._show(f"{self._what}: {doing}", round(share_ratio * 100), 100, "%")

    def training(self, progress: TrainingProgress) -> None:
        """A training: steps, how fast, the rewards of the last round and of held-out networks."""
        rest = f"steps, {progress.steps_per_s:,.0f}/s, reward {progress.reward:.3f}"
        if progress.evaluation_reward == progress.evaluation_reward:  # NaN before the first
            rest += f", held out {progress.evaluation_reward:.3f} (best {progress.best_reward:.3f})"
        self._show(self._what, progress.steps_done, progress.steps, rest)

    def training_seeds(self, seeds: Sequence[SeedProgress]) -> None:
        """Trainings side by side: the share done of all, and each seed's reward."""
        rewards = ", ".join(f"{s.seed}: {s.row['reward']:.3f}" for s in seeds if "reward" in s.row)
        done = sum(s.share_done for s in seeds) / len(seeds)
        self._show(f"{self._what}, {len(seeds)} seeds", round(done * 100), 100, f"%, rewards {rewards or 'to come'}")

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def _show(self, what: str, done: int, total: int, rest: str) -> None:
        now = time.monotonic()
        if not self._console.is_terminal:
            if now - self._last_line >= _LINE_EVERY_S:
                self._last_line = now
                say(f"{what}: {done}/{total} {rest}")
        elif self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=escape(what), completed=done, total=total, rest=rest)
        elif now - self._started >= _BAR_AFTER_S:
            columns = "{task.completed:.0f}/{task.total:.0f} {task.fields[rest]}"
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn(columns),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._bar.add_task(escape(what), total=total, completed=done, rest=rest)
            self._bar.start()


@contextmanager
def watch(what: str) -> Iterator[Watch]:
    """A :class:`Watch` for as long as the block lasts. Ctrl-C in it is explained here: typer would swallow it."""
    watching = Watch(what)
    try:
        yield watching
    except Interrupted as stop:
        watching.close()
        say(f"stopped: {stop.calls_done} of {stop.calls} calls are in {stop.folder}, readable as they are")
        say("to make the others: the same command with --resume")
        raise
    except KeyboardInterrupt:
        watching.close()
        say("stopped")
        raise
    finally:
        watching.close()
