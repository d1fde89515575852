"""``legato demo``: the main job on shipped traces and clips."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Annotated

import typer

import legato
from legato.cli import options, results, terminal
from legato.errors import Error, RunFolderError
from legato.plan import shipped, specs

HELP = """
Compare controllers on real traces with real clips, all of them shipped, and write the report.

Example:

```sh
legato demo --out runs/demo
```
"""

_CONTROLLERS = ("fixed@target_bitrate_bps=1000000,label=fixed 1 Mbit/s", "gcc", "oracle")
# A minute of each that is difficult but not hopeless: dips below 1 Mbit/s, no outage of seconds. Fast ones are
# slowed to what a call can use: above a few Mbit/s every controller stays at its maximum.
_TRACES = (
    ("fcc/1.4s/trace_10137_http---www.amazon.com", "@start_s=45"),
    ("fcc/1.4s/trace_12066_http---www.amazon.com", "@start_s=60"),
    ("nyc-lte/trace-1552767958-taxi1.gz", "@scale=0.12,start_s=30"),
    ("nyc-lte/trace-1553114405-bus.gz", "@scale=0.2,start_s=30"),
    ("copyleft/mahimahi/ATT-LTE-driving.down.gz", "@scale=0.4,start_s=180"),
    ("copyleft/mahimahi/TMobile-UMTS-driving.down.gz", "@start_s=255"),
    ("copyleft/ucc-5g/Driving/B_2020.02.27_17.30.15.csv", "@scale=0.5,start_s=165"),
    ("copyleft/wifi-zhuge/rest-wifi_13.pitree-trace", "@scale=0.2,start_s=15"),
)
# Clips that can use such links: a real-time encoder at its finest quantiser has enough of grid-lrwp9a at 0.75 Mbit/s.
_CLIPS = ("asl-night", "asl-please", "foreman")


def demo(
    out: Annotated[Path, typer.Option(help="The run folder. A run that is there is replaced.")] = Path("runs/demo"),
    seeds: options.SeedCount = 2,
) -> None:
    from legato.report.pages import counted

    traces = choose_traces()
    _clear(out)
    started = time.monotonic()
    with terminal.watch("demo") as watch:
        made = legato.compare(_CONTROLLERS, traces=traces, clips=_CLIPS, seeds=seeds, out=out, on_progress=watch.calls)
    took_s = time.monotonic() - started
    page = legato.write_report([made.folder], made.folder / "report.html")
    results.show(made.folder)
    lists = {"controller": len(_CONTROLLERS), "trace": len(traces), "clip": len(_CLIPS), "seed": seeds}
    crossed = " x ".join(counted(number, what) for what, number in lists.items())
    terminal.say(f"\n{made.calls} calls ({crossed}), {made.simulated_s / 60:.0f} minutes of video, in {took_s:.1f} s")
    terminal.out().print(f"run: {made.folder}")
    terminal.out().print(f"report: {page}")


def choose_traces() -> list[str]:
    """The traces of the demo that are here: a wheel has none of the copyleft ones."""
    folder = shipped.traces_folder()
    chosen = [f"{specs.from_here(folder / name)}{options}" for name, options in _TRACES if (folder / name).is_file()]
    if not chosen:
        raise Error(f"{folder}: holds none of the demo's traces")
    return chosen


def _clear(folder: Path) -> None:
    if not folder.exists():
        return
    if folder.is_dir() and (folder / "manifest.json").is_file():
        shutil.rmtree(folder)
    elif not folder.is_dir() or any(folder.iterdir()):
        raise RunFolderError(
            f"{folder}: exists and is not a run folder, so it is left as it is", hint="give another --out"
        )
