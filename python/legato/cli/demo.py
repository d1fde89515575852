"""``legato demo``: the main job on what comes with Legato."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Annotated

import typer

from legato.cli import results, terminal
from legato.errors import Error, RunFolderError

HELP = """
Compare controllers on real traces with real clips, all of them shipped, and write the report.

Example:

```sh
legato demo --out runs/demo
```
"""

_CONTROLLERS = ("fixed", "gcc", "oracle")
_CLIPS = 3
# Fast ones are slowed to what a call can use: above a few Mbit/s every controller sits at its cap.
_TRACES = (
    ("copyleft/mahimahi/ATT-LTE-driving.up.gz", "@duration_s=60"),
    ("copyleft/mahimahi/Verizon-LTE-short.down.gz", "@scale=0.3"),
    ("nyc-lte/trace-1553114405-bus.gz", "@scale=0.2"),
    ("nyc-lte/trace-1552767958-taxi1.gz", "@scale=0.2"),
)


def demo(
    out: Annotated[Path, typer.Option(help="The run folder. A run that is there is replaced.")] = Path("runs/demo"),
    seeds: Annotated[int, typer.Option(min=1, help="How many: seeds 1 to N.")] = 2,
) -> None:
    import legato

    traces, clips = choose_traces(), choose_clips()
    _clear(out)
    started = time.monotonic()
    with terminal.watch("demo") as watch:
        made = legato.compare(_CONTROLLERS, traces=traces, clips=clips, seeds=seeds, out=out, on_progress=watch.calls)
    simulated_s = time.monotonic() - started
    page = legato.write_report([made.folder], made.folder / "report.html")
    results.show(made.folder)
    families = len({Path(str(trace).partition("@")[0]).parent for trace in traces})
    terminal.say(
        f"\n{made.calls} calls, {len(_CONTROLLERS)} controllers x {len(traces)} traces of {families} families x "
        f"{len(clips)} clips x {seeds} seeds, {made.simulated_s / 60:.0f} minutes of video in {simulated_s:.1f} s"
    )
    terminal.out().print(f"run: {made.folder}")
    terminal.out().print(f"report: {page}")


def choose_traces() -> list[str]:
    """The traces of the demo that are here: a wheel has none of the copyleft ones."""
    from legato import shipped

    folder = shipped.traces_folder()
    chosen = [f"{folder / name}{options}" for name, options in _TRACES if (folder / name).is_file()]
    if not chosen:
        raise Error(f"{folder}: holds none of the demo's traces")
    return chosen


def choose_clips() -> list[str]:
    """The first of the shipped profiles."""
    from legato import shipped

    clips = shipped.profiles()[:_CLIPS]
    if len(clips) < _CLIPS:
        raise Error(f"{len(clips)} clip profiles come with this Legato, the demo needs {_CLIPS}")
    return [str(path) for path in clips]


def _clear(folder: Path) -> None:
    if not folder.exists():
        return
    if folder.is_dir() and (folder / "manifest.json").is_file():
        shutil.rmtree(folder)
    elif not folder.is_dir() or any(folder.iterdir()):
        raise RunFolderError(f"{folder}: is there and is no run, so it is left alone", hint="give another --out")
