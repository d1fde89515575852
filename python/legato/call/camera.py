"""What a browser's camera films: a file played in a loop, the clip, or the generated scene until it comes again (0.9 GB
at 1280x720, gone with the calls). The browser codes it within the scenario's limits, steered by its own rate control.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from legato import _core
from legato.call.ends import Others
from legato.errors import CallError

if TYPE_CHECKING:
    from legato.call.pictures import Pictures

CONTROLLER = "chromium"
"""What tables call the browser's rate control."""


@dataclass(frozen=True)
class Film:
    """What the camera films, and how the browser is to code it."""

    file: Path
    label: str
    width: int
    height: int
    fps: int
    codec: str = "h264"

    def others(self) -> Others:
        """What tables call it."""
        return Others(CONTROLLER, self.label, f"chromium's {self.codec}", self.width)


@contextmanager
def film(pictures: Pictures, folder: Path | None = None) -> Iterator[Film]:
    """The pictures as a file, gone after the block unless it is a clip. ``folder``: where passing files go."""
    if pictures.clip is not None:
        yield Film(pictures.clip, pictures.clip.stem, *picture_format(pictures.clip), pictures.codec)
        return
    width, height, fps = pictures.width, pictures.height, pictures.fps
    with tempfile.TemporaryDirectory(prefix="legato-", dir=folder) as scratch:
        file = Path(scratch) / "scene.y4m"
        _core.write_scene(str(file), width, height, fps)
        yield Film(file, f"generated {width}x{height}", width, height, fps, pictures.codec)


def picture_format(clip: Path) -> tuple[int, int, int]:
    """Width, height and whole frames a second of a Y4M file."""
    try:
        with clip.open("rb") as file:
            header = file.readline(1024).decode("ascii", "replace").split()
    except OSError as error:
        raise CallError(f"{clip}: {error.strerror}") from None
    fields = {word[0]: word[1:] for word in header[1:]}
    try:
        frames, seconds = map(int, fields.get("F", "30:1").split(":"))
        return int(fields["W"]), int(fields["H"]), round(frames / seconds)
    except (KeyError, ValueError, ZeroDivisionError):
        raise CallError(f"{clip}: no Y4M file") from None


def with_limits(answer: str, min_bps: int, start_bps: int, max_bps: int) -> str:
    """The answer with the scenario's limits as libwebrtc reads them from a codec's parameters."""
    limits = f"x-google-min-bitrate={min_bps // 1000};x-google-start-bitrate={start_bps // 1000}"
    limits += f";x-google-max-bitrate={max_bps // 1000}"
    limited = re.sub(r"(?m)^(a=fmtp:\d+ (?:[^\r\n]*packetization-mode|profile-id)[^\r\n]*)", rf"\1;{limits}", answer)
    # VP8 has no special parameters.
    return re.sub(r"(?m)^(a=rtpmap:(\d+) VP8/90000)", rf"\1\r\na=fmtp:\2 {limits}", limited)
