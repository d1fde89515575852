"""``legato call``: a scenario's call for real."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import legato
from legato.cli import options, results, terminal
from legato.cli.run import next_free
from legato.plan import Choice, overrides

HELP = """
Make the call of a scenario for real: WebRTC to a headless Chromium on this machine, over the link that the scenario
describes, with the same controller as in a simulation. Writes the same run folder as `legato run`.

Needs Chromium and Playwright, except with `--peers legato`; `legato call --check` names anything missing. Calls run in
real time, and their figures mean little on a busy machine.

Examples:

```sh
legato call --check
legato call cellular --controller gcc -o duration_s=30
legato call cellular --clip talk.y4m --seed 1 --seed 2 --out runs/real
legato call cellular --clip talk.y4m --peers chromium-chromium
legato call cellular --clip talk.y4m --peers chromium-chromium --link tun
legato call steady --controller gcc --link tun
legato call steady --codec vp9
legato call lossy --codec hybrid --peers legato --size 640x360
legato call lossy --parity adaptive --peers legato --size 640x360
legato call lossy --recovery references --peers legato --size 640x360
legato call steady --controller ukf --direction receive
legato call steady --controller legato-receiver --direction receive --feedback remb
legato call steady --controller gcc --peers legato
legato call steady --controller gcc --peers legato --vmaf
legato call steady --controller gcc --peers legato --direction both
legato call drawn --controller onrl --peers legato --seed 1 --seed 2 --learn runs/learned
```
"""


def call(
    scenario: Annotated[
        str | None, typer.Argument(help="A TOML file, or a shipped scenario's name.", show_default=False)
    ] = None,
    option: options.Changes = None,
    seed: options.Seeds = None,
    controller: options.Controllers = None,
    traces: options.Traces = None,
    strict: options.Strict = False,
    clip: options.Clip = None,
    size: options.Size = "1280x720",
    fps: options.FramesPerSecond = 30,
    codec: options.Codec = "h264",
    parity: options.Parity = "controller",
    recovery: options.Recovery = "nack",
    peers: Annotated[
        str,
        typer.Option(
            help="chromium: we call it. chromium-chromium: they call each other, as a reference. "
            "legato: Legato at both ends, without a browser."
        ),
    ] = "chromium",
    direction: Annotated[
        str,
        typer.Option(
            help="send: the near end sends video. receive: Chromium sends to us, and a receiver-side controller caps "
            "it. both: the near end sends forward, the far one in reverse."
        ),
    ] = "send",
    link: Annotated[
        str,
        typer.Option(help="inside this process. tun: between network namespaces (with browsers; the superuser)."),
    ] = "inside",
    feedback: Annotated[
        str,
        typer.Option(
            help="What a browser that sends gets: twcc, with REMB as a cap on its own rate control; or remb alone."
        ),
    ] = "twcc",
    vmaf: Annotated[
        bool, typer.Option("--vmaf", help="Also measure VMAF as viewed, by an ffmpeg with libvmaf.")
    ] = False,
    learn: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Let the learned controller go on learning in these calls, under a safeguard; FOLDER gets its policy.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The run folder. [default: the next free of runs/NAME-real, runs/NAME-real-2, ...]"),
    ] = None,
    log: options.Log = "series",
    duration_s: options.DurationS = None,
    resume: options.Resume = False,
    check: Annotated[bool, typer.Option("--check", help="Report what this machine can do, without a call.")] = False,
    as_json: options.Json = False,
) -> int:
    if check:
        return _check(peers)
    if scenario is None:
        raise typer.BadParameter("name a scenario, or give --check")
    folder = out or next_free(Path("runs") / f"{Path(scenario).stem}-real")
    changes, seeds = overrides.parse(option or []), options.seeds(seed, "--seed")
    choice = Choice(scenario, changes, controller or [], traces or [], (), seeds, log, duration_s, strict)
    with terminal.watch("call") as watch:
        made = legato.real_calls(
            choice,
            out=folder,
            pictures=options.pictures(clip, size, fps, codec, parity, recovery),
            peers=peers,
            direction=direction,
            link=link,
            feedback=feedback,
            vmaf=vmaf,
            learn=learn,
            resume=resume,
            on_progress=watch.real_call,
        )
    invalid = say_what_the_machine_did(made.folder)
    results.finish(made, results.OF_CALLS_WITH_VMAF if vmaf else results.OF_CALLS, as_json=as_json)
    return 1 if invalid else 0


def _check(peers: str) -> int:
    from legato.call import check

    found = check.findings(browser_needed=peers != "legato")
    rows = [("yes" if one.ok else "no", one.name, one.found, "" if one.ok else one.remedy) for one in found]
    terminal.table(("", "what", "found", "what to do"), rows)
    return 0 if all(one.ok or one.optional for one in found) else 1


def records(folder: Path) -> list[dict[str, Any]]:
    """What the machine did in each call of a run."""
    files = sorted((folder / "calls").glob("*.json"))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def say_what_the_machine_did(folder: Path) -> int:
    """Reports calls whose link was late; returns how many."""
    invalid = [record for record in records(folder) if not record["valid"]]
    for record in invalid:
        terminal.say(
            f"call {record['call']} does not count: the emulated link was {record['lateness_p999_ms']:.1f} ms late "
            f"at the 99.9th percentile (load {record.get('load_after', 0):.1f}); 2 ms is the limit"
        )
    return len(invalid)
