"""``legato profile``: what an encoder makes of a clip, measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from legato.cli import terminal
from legato.errors import ProfileError
from legato.plan import clips

HELP = """
Measure how a real encoder codes a clip, and write the result as a profile.

The simulator plays profiles instead of video: size, quantiser and quality of every frame at every level, at the full
height and smaller ones. A source that was compressed before differs from a camera's pictures; a warning says where that
shows. Takes minutes, once. `compare` does it automatically for clips given as video files. Needs the extra: pip install
'legato-rtc[profile]'.

Examples:

```sh
legato profile me.mp4
legato profile talk.y4m --out profiles/talk.safetensors
```
"""


def profile(
    clip: Annotated[Path, typer.Argument(help="A video file: mp4, mkv, y4m, mpg, ...", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="The profile. [default: CLIP.safetensors here]")] = None,
    encoder: Annotated[list[str] | None, typer.Option(help="x264, openh264, hybrid. [default: the first two]")] = None,
    height: Annotated[
        list[int] | None,
        typer.Option(min=16, help="Rows of picture to measure at. [default: a ladder up to its own, at most 1080]"),
    ] = None,
    frames: Annotated[int, typer.Option(min=30, help="Maximum number of its pictures.")] = 300,
    looped: Annotated[
        bool, typer.Option("--looped", help="After the last picture comes the first, as calls play a file.")
    ] = False,
) -> None:
    if not clip.is_file():
        raise ProfileError(f"{clip}: no such clip file")
    profiler = clips.profiler()
    path = out or Path(f"{clip.stem}{clips.PROFILE_SUFFIX}")
    with terminal.watch(f"profile {clip.name}") as watch:
        profiler.profile_clip(
            clip,
            path,
            encoders=encoder or profiler.ENCODERS,
            heights=height,
            longest_frames=frames,
            looped=looped,
            on_progress=watch.clip,
        )
    terminal.out().print(f"profile: {path}")
