"""``legato gap``: how far a simulation is from a call."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated, Any

import typer

from legato.cli import options, terminal
from legato.cli.run import next_free
from legato.errors import ControllerError
from legato.plan import overrides, specs

HELP = """
Simulate a scenario's call and make it for real, several times each, and report how far apart they are. Prints a table
of differences with intervals, and writes gap.html with the target, rate and delay of all calls over each other.

Examples:

```sh
legato gap steady --repeats 5
legato gap cellular --controller gcc -o duration_s=30
legato gap steady cellular lossy --controller gcc --controller nada --repeats 2
legato gap steady --controller ukf --peers legato
legato gap steady --controller gcc --peers legato --direction both
```

The simulation begins with the clip's first picture, as a call does, and keeps the pictures' size where the call does.
It plays the scenario's `video.clip`: a profile of the sent clip (`legato profile CLIP --frames N --looped`) shows the
same pictures at the same time.

With several scenarios or controllers, prints one row for each: called minus simulated of rate, 95th percentile of
packet delay in ms, and loss in percentage points. It marks differences above 10 %, 20 ms and 1 point.
"""


def gap(
    scenarios: Annotated[
        list[str], typer.Argument(help="TOML files, or shipped scenarios' names.", metavar="SCENARIO...")
    ],
    option: options.Changes = None,
    controller: options.Controllers = None,
    duration_s: options.DurationS = None,
    repeats: Annotated[int, typer.Option(min=1, help="Calls each way.")] = 3,
    clip: options.Clip = None,
    size: options.Size = "1280x720",
    fps: options.FramesPerSecond = 30,
    codec: options.Codec = "h264",
    peers: Annotated[
        str, typer.Option(help="chromium: we call it. legato: we call ourselves, without a browser.")
    ] = "chromium",
    direction: Annotated[
        str, typer.Option(help="send: we send video. both: the other end does too, in reverse; a table each way.")
    ] = "send",
    out: Annotated[
        Path | None, typer.Option(help="The folder. [default: the next free of runs/NAME-gap, runs/NAME-gap-2, ...]")
    ] = None,
    resume: options.Resume = False,
) -> int:
    from legato import gap as gaps

    # Options of a controller hold commas too.
    controllers = [
        name
        for given in controller or []
        for name in ([given] if "@" in given else specs.names([given], "controllers", ControllerError))
    ]
    specs.once(zip(scenarios, scenarios, strict=True), "scenarios")
    specs.once(zip(controllers, controllers, strict=True), "controllers", ControllerError)
    alone = len(scenarios) == 1 and len(controllers) < 2
    name = Path(scenarios[0]).stem if len(scenarios) == 1 else "pairs"
    folder = out or next_free(Path("runs") / f"{name}-gap")
    how: dict[str, Any] = {
        "repeats": repeats,
        "options": overrides.parse(option or []),
        "controllers": controllers,
        "duration_s": duration_s,
        "pictures": options.pictures(clip, size, fps, codec),
        "peers": peers,
        "direction": direction,
        "resume": resume,
    }
    pairs: dict[str, gaps.Gap] = {}
    with terminal.watch("call") as watch:
        if alone:
            found = gaps.measure(scenarios[0], folder, on_progress=watch.real_call, **how)
        else:
            for scenario, name in itertools.product(scenarios, controllers or [""]):
                pair = "-".join(filter(None, (Path(scenario).stem, name)))
                how["controllers"] = [name] if name else []
                for one in gaps.measure(scenario, folder / pair, on_progress=watch.real_call, **how):
                    pairs[" ".join(filter(None, (pair, one.flow)))] = one
    if alone:
        for one in found:
            columns = (one.way(), "simulated", "called", "difference")
            terminal.table(columns, gaps.text_rows(one), right=columns[1:])
        terminal.out().print(f"\ngap: {folder / 'gap.html'}")
        if all(one.invalid_calls() >= repeats for one in found):
            terminal.say(f"no call counts: the emulated link was late in all {repeats}")
            return 1
    else:
        judged = [column for column, *_ in gaps.WITHIN]
        numbers = tuple(figure.title for figure in gaps.FIGURES if figure.column in judged)
        terminal.table(("pair", *numbers, "too far", "late calls"), gaps.pair_rows(pairs), right=numbers)
        near = sum(not gap.misses() for gap in pairs.values())
        terminal.out().print(f"\nnear: {near} of {len(pairs)} pairs; gap.html of each is below {folder}")
    return 0
