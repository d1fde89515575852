"""The options that several verbs have, with one spelling and one meaning."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from legato.call import Pictures

Scenario = Annotated[str, typer.Argument(help="A TOML file, or a shipped scenario's name.", show_default=False)]
Changes = Annotated[
    list[str] | None, typer.Option("-o", "--option", metavar="KEY=VALUE", help="Change a value of the scenario.")
]
Seeds = Annotated[list[int] | None, typer.Option("--seed", help="A seed; repeat it for more calls. [default: 1]")]
SeedCount = Annotated[int, typer.Option("--seeds", min=1, help="How many: seeds 1 to N.")]
Controllers = Annotated[
    list[str] | None,
    typer.Option("--controller", help="Instead of the scenario's: gcc, or fixed@target_bitrate_bps=800000."),
]
ControllerNames = Annotated[str, typer.Option("--controllers", help="Names, separated by commas.", show_default=False)]
Traces = Annotated[
    list[str] | None, typer.Option("--traces", metavar="GLOB", help="Files, folders or globs of traces of capacity.")
]
Clips = Annotated[list[str] | None, typer.Option("--clips", metavar="GLOB", help="Clips: profiles or video files.")]
Log = Annotated[str, typer.Option(help="summary, series (every 100 ms and every frame) or packets.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the folder where it was stopped.")]
Threads = Annotated[int, typer.Option(min=0, help="Threads to use; 0 is one per core.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
FormatName = Annotated[str | None, typer.Option("--format", help="The format, where the file does not state it.")]

# Of the pictures that a real call sends.
Clip = Annotated[Path | None, typer.Option(help="A Y4M file to send, 8-bit 4:2:0. [default: a generated scene]")]
Size = Annotated[str, typer.Option(help="Of the generated scene.", metavar="WxH")]
FramesPerSecond = Annotated[int, typer.Option(help="Of the generated scene.", min=1, max=60)]
Codec = Annotated[str, typer.Option(help="h264; or vp8, vp9, if libvpx was present at the build.")]


def pictures(clip: Path | None, size: str, fps: int, codec: str) -> Pictures:
    """What these four ask for."""
    from legato.call import Pictures

    width, x, height = size.partition("x")
    if not (x and width.isdecimal() and height.isdecimal()) or int(width) > 1920 or int(height) > 1080:
        raise typer.BadParameter(f"--size {size}: WIDTHxHEIGHT up to 1920x1080 is needed")
    return Pictures(clip, int(width), int(height), fps, codec)
