"""``legato call``: a scenario's call for real."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from legato.cli import results, terminal
from legato.cli.run import next_free

HELP = """
Make the call of a scenario for real: WebRTC to a headless Chromium on this machine, over the link that the
scenario describes, steered by the controller that a simulation would run. Writes the run folder that
`legato run` writes.

Needs Chromium and Playwright, except with `--peers legato`; `legato call --check` says what is missing. A call
takes as long as it lasts, and its figures mean little on a busy machine.

Examples:

```sh
legato call --check
legato call cellular --controller gcc -o duration_s=30
legato call cellular --clip talk.y4m --seed 1 --seed 2 --out runs/real
legato call cellular --clip talk.y4m --peers chromium-chromium
legato call cellular --clip talk.y4m --peers chromium-chromium --link tun
legato call steady --controller gcc --link tun
legato call steady --codec vp9
legato call steady --controller ukf --direction receive
legato call steady --controller gcc --peers legato
legato call steady --controller gcc --peers legato --vmaf
legato call steady --controller gcc --peers legato --direction both
```
"""


def call(
    scenario: Annotated[
        str | None, typer.Argument(help="A TOML file, or a shipped scenario's name.", show_default=False)
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("-o", "--option", metavar="KEY=VALUE", help="Change a value of the scenario."),
    ] = None,
    seed: Annotated[list[int] | None, typer.Option(help="A seed; give it again for more calls. [default: 1]")] = None,
    controller: Annotated[
        list[str] | None,
        typer.Option(help="Instead of the scenario's: gcc, or fixed@target_bitrate_bps=800000."),
    ] = None,
    traces: Annotated[
        list[str] | None, typer.Option("--traces", help="Files, folders or globs, instead of the scenario's.")
    ] = None,
    clip: Annotated[
        Path | None, typer.Option(help="A Y4M file to send, 8-bit 4:2:0. [default: a generated scene]")
    ] = None,
    size: Annotated[str, typer.Option(help="Of the generated scene.", metavar="WxH")] = "1280x720",
    fps: Annotated[int, typer.Option(help="Of the generated scene.", min=1, max=60)] = 30,
    codec: Annotated[str, typer.Option(help="h264; or vp8, vp9, where libvpx was there at the build.")] = "h264",
    peers: Annotated[
        str,
        typer.Option(
            help="chromium: we call it. chromium-chromium: they call each other, as a reference. "
            "legato: we call an end of our own, without a browser."
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
    vmaf: Annotated[
        bool, typer.Option("--vmaf", help="Measure VMAF of what was viewed too, by an ffmpeg with libvmaf.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="The run folder. [default: the next free of runs/NAME-real, runs/NAME-real-2, ...]"),
    ] = None,
    log: Annotated[str, typer.Option(help="summary, series (each 100 ms and each frame) or packets.")] = "series",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with calls that were stopped.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Say what this machine can do, and make no call.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the folder and the summary as JSON.")] = False,
) -> int:
    if check:
        return _check(peers)
    if scenario is None:
        raise typer.BadParameter("name a scenario, or give --check")
    import legato
    from legato import overrides
    from legato.call import Pictures

    width, height = picture_size(size)
    folder = out or next_free(Path("runs") / f"{Path(scenario).stem}-real")
    with terminal.watch("call") as watch:
        made = legato.real_calls(
            scenario,
            out=folder,
            options=overrides.parse(option or []),
            controllers=controller or [],
            traces=traces or [],
            seeds=seed or 1,
            pictures=Pictures(clip=clip, width=width, height=height, fps=fps, codec=codec),
            peers=peers,
            direction=direction,
            link=link,
            vmaf=vmaf,
            log=log,
            resume=resume,
            on_progress=watch.real_call,
        )
    invalid = say_what_the_machine_did(made.folder)
    if as_json:
        print(json.dumps({"run": str(made.folder), "calls": made.summary()}, indent=2))
    else:
        results.show(made.folder, results.OF_CALLS_WITH_VMAF if vmaf else results.OF_CALLS)
        terminal.out().print(f"\nrun: {made.folder}")
        terminal.say(f"a report of it: legato report {made.folder}")
    return 1 if invalid else 0


def _check(peers: str) -> int:
    from legato.call import check

    found = check.findings(browser_needed=peers != "legato")
    rows = [("yes" if one.ok else "no", one.name, one.found, "" if one.ok else one.remedy) for one in found]
    terminal.table(("", "what", "found", "what to do"), rows)
    return 0 if all(one.ok or one.optional for one in found) else 1


def picture_size(text: str) -> tuple[int, int]:
    """``1280x720`` as its two numbers."""
    width, x, height = text.partition("x")
    if not (x and width.isdecimal() and height.isdecimal()) or int(width) > 1920 or int(height) > 1080:
        raise typer.BadParameter(f"--size {text}: WIDTHxHEIGHT up to 1920x1080 is needed")
    return int(width), int(height)


def say_what_the_machine_did(folder: Path) -> int:
    """Names calls whose link was late; how many."""
    invalid = 0
    for file in sorted((folder / "calls").glob("*.json")):
        told = json.loads(file.read_text(encoding="utf-8"))
        if not told["valid"]:
            invalid += 1
            terminal.say(
                f"call {told['call']} does not count: the emulated link was {told['lateness_p999_ms']:.1f} ms late at "
                f"the 99.9th percentile (load {told.get('load_after', 0):.1f}); 2 ms is the most"
            )
    return invalid
