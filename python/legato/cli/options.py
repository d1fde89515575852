"""The options that several verbs have, with one spelling and one meaning."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from legato.errors import Error

if TYPE_CHECKING:
    from legato.call.pictures import Pictures

Scenario = Annotated[str, typer.Argument(help="A TOML file, or a shipped scenario's name.", show_default=False)]
Changes = Annotated[
    list[str] | None, typer.Option("-o", "--option", metavar="KEY=VALUE", help="Change a value of the scenario.")
]
Seeds = Annotated[list[str] | None, typer.Option("--seed", metavar="N", help="A seed, or several: 1,2. [default: 1]")]
SeedCount = Annotated[int, typer.Option("--seeds", min=1, help="How many: seeds 1 to N.")]
SeedCountOrList = Annotated[
    list[str] | None,
    typer.Option("--seeds", metavar="N", help="How many, seeds 1 to N; or several of them: 3,5. [default: 1]"),
]
Controllers = Annotated[
    list[str] | None,
    typer.Option("--controller", help="Instead of the scenario's: gcc, or fixed@target_bitrate_bps=800000."),
]
ControllerNames = Annotated[
    list[str],
    typer.Option("--controllers", metavar="NAME", help="Names: gcc,nada or one per option.", show_default=False),
]
Traces = Annotated[
    list[str] | None,
    typer.Option("--traces", metavar="GLOB", help="Capacity: files, folders, globs, shipped names."),
]
Clips = Annotated[
    list[str] | None, typer.Option("--clips", metavar="GLOB", help="Profiles, video files, shipped names.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse a trace or clip that cannot be read among several.")]
Log = Annotated[str, typer.Option(help="summary, series (every 100 ms and every frame) or packets.")]
DurationS = Annotated[float | None, typer.Option(help="Length of a call, instead of the scenario's.")]
CallsPerPart = Annotated[
    int | None, typer.Option(min=1, help="How many calls share a file; a stopped run loses at most these.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the folder where it was stopped.")]
Threads = Annotated[int, typer.Option(min=0, help="Threads to use; 0 is one per core.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
FormatName = Annotated[str | None, typer.Option("--format", help="The format, where the file does not state it.")]

# Of the pictures that a real call sends.
Clip = Annotated[Path | None, typer.Option(help="A Y4M file to send, 8-bit 4:2:0. [default: a generated scene]")]
Size = Annotated[str, typer.Option(help="Of the generated scene.", metavar="WxH")]
FramesPerSecond = Annotated[int, typer.Option(help="Of the generated scene.", min=1, max=60)]
Parity = Annotated[
    str,
    typer.Option(
        help="Reed-Solomon parity with Legato at both ends: a share of each frame's packets from 0 to 0.5; adaptive: "
        "as the losses reported need; controller: as it decides.",
        metavar="SHARE",
    ),
]
Recovery = Annotated[
    str,
    typer.Option(
        help="From losses. nack: lost packets are sent again. references: with Legato at both ends h264 shows "
        "incomplete frames and predicts the next from one that arrived whole; nothing is sent again.",
    ),
]
Codec = Annotated[
    str, typer.Option(help="h264; vp8, vp9: if the build found libvpx; hybrid: with Legato at both ends.")
]


def seeds(given: list[str] | None, option: str, *, counted: bool = False) -> list[int] | int:
    """What ``--seed 1,2 --seed 3`` asks for; 1 if it was not given.

    Args:
        given: the values of the option.
        option: its name, for errors.
        counted: a single number is how many.
    """
    if given is None:
        return 1
    typed = f"{option} = {', '.join(given)}"
    texts = [part.strip() for text in given for part in text.split(",") if part.strip()]
    if not texts:
        raise Error(f"{typed}: names none")
    if any(re.fullmatch(r"[+-]?\d+", text, re.ASCII) is None for text in texts):
        raise Error(f"{typed}: has to be a valid integer, or several separated by commas")
    numbers = [int(text) for text in texts]
    if counted and len(given) == 1 and "," not in given[0]:
        if numbers[0] < 1:
            raise Error(f"{typed}: has to be greater than or equal to 1")
        return numbers[0]
    return numbers


def pictures(
    clip: Path | None, size: str, fps: int, codec: str, parity: str = "controller", recovery: str = "nack"
) -> Pictures:
    """What these six ask for."""
    from legato.call.pictures import Pictures

    if clip is not None and clip.is_file():
        with clip.open("rb") as file:
            if file.read(9) != b"YUV4MPEG2":
                raise Error(f"--clip {clip}: is no Y4M file", f"make one: ffmpeg -i {clip} -pix_fmt yuv420p clip.y4m")
    width, x, height = size.partition("x")
    if not (x and width.isdecimal() and height.isdecimal()) or int(width) > 1920 or int(height) > 1080:
        raise typer.BadParameter(f"--size {size}: WIDTHxHEIGHT up to 1920x1080 is needed")
    return Pictures(clip, int(width), int(height), fps, codec, parity, recovery)
