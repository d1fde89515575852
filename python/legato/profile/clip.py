"""A clip as pictures: decoded, scaled, limited range, with a way to play it on without a cut."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from legato.errors import ProfileError

if TYPE_CHECKING:
    from av import VideoFrame
    from av.video.plane import VideoPlane

LONGEST_FRAMES = 300
"""More of a clip is not measured: 10 s at 30 fps."""
SHORTEST_FRAMES = 8
LOOP_BELOW_FRAMES = 150
"""A clip shorter than this is measured forwards and backwards, so that its play is exact."""
LARGEST_BYTES = 1 << 30
LARGEST_SIDE = 4096


@dataclass(frozen=True)
class Pictures:
    """The pictures of a clip at one size, planar 4:2:0, limited range."""

    width: int
    height: int
    luma: np.ndarray  # (frames, height, width) uint8
    u: np.ndarray  # (frames, height / 2, width / 2) uint8
    v: np.ndarray

    def planar(self, index: int) -> bytes:
        """Picture `index` as one block: luma, then both chroma planes."""
        return b"".join(plane[index].tobytes() for plane in (self.luma, self.u, self.v))


@dataclass(frozen=True)
class Clip:
    """A decoded clip. `order` maps the content index of the profile to the decoded picture."""

    name: str
    fps: Fraction
    source_width: int
    source_height: int
    frames: list[VideoFrame]
    order: list[int]
    playback: str  # "loop" or "ping_pong"
    coded_bytes: float
    """Of one picture in the file, in the mean: how finely the source itself is coded."""

    def size_at(self, height: int) -> tuple[int, int]:
        """The even width that keeps the shape at `height`."""
        width = 2 * round(self.source_width * height / self.source_height / 2)
        return max(width, 16), height

    def pictures(self, height: int) -> Pictures:
        """The distinct pictures of the profile, in content order, scaled to `height` rows."""
        width, height = self.size_at(height)
        down = height < self.source_height
        planes = []
        for frame in self.frames:
            scaled = frame.reformat(
                width=width,
                height=height,
                format="yuv420p",
                interpolation="AREA" if down else "BICUBIC",
                dst_color_range="MPEG",
            )
            planes.append([_plane(plane) for plane in scaled.planes])
        luma, u, v = (np.stack([planes[i][index] for i in self.order]) for index in range(3))
        return Pictures(width, height, luma, u, v)

    def lead_in(self, length: int) -> list[int]:
        """Content indices played right before content 0."""
        if self.playback == "loop":
            return [index % len(self.order) for index in range(len(self.order) - length, len(self.order))]
        return list(range(length, 0, -1))


def _plane(plane: VideoPlane) -> np.ndarray:
    rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
    return rows[: plane.height, : plane.width].copy()


def read_clip(
    path: str | Path, *, longest_frames: int = LONGEST_FRAMES, fps: int | None = None, looped: bool = False
) -> Clip:
    """Decode a video file; at most `longest_frames` of it, played at the file's own rate or at `fps`.

    `looped`: after the last picture comes the first, as where a file is played in a loop; else the clip goes back the
    way it came.
    """
    if fps is not None and not 1 <= fps <= 240:
        raise ProfileError(f"fps = {fps}: must be 1 to 240")
    try:
        import av
    except ImportError:
        raise ProfileError("measuring a clip needs PyAV", hint="pip install 'legato-rtc[profile]'") from None

    path = Path(path)
    if not path.is_file():
        raise ProfileError(f"{path}: no such file")
    if path.stat().st_size > LARGEST_BYTES:
        raise ProfileError(f"{path}: {path.stat().st_size} bytes, more than {LARGEST_BYTES} are not read")
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise ProfileError(f"{path}: holds no video")
            stream = container.streams.video[0]
            if not 32 <= stream.codec_context.height <= LARGEST_SIDE or stream.codec_context.width > LARGEST_SIDE:
                size = f"{stream.codec_context.width}x{stream.codec_context.height}"
                raise ProfileError(f"{path}: pictures of {size} are outside 32 ... {LARGEST_SIDE}")
            rate = Fraction(fps or stream.average_rate or stream.guessed_rate or 30).limit_denominator(1001)
            frames, packets = [], []
            for packet in container.demux(stream):
                packets += [packet.size] if packet.size else []  # the last is empty: it asks for the rest
                frames += packet.decode()
                if len(frames) >= longest_frames:
                    break
            frames = frames[:longest_frames]
    except (av.error.FFmpegError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ProfileError(f"{path}: not a video that can be decoded ({why})") from error
    if len(frames) < SHORTEST_FRAMES:
        raise ProfileError(f"{path}: {len(frames)} frames, a profile needs at least {SHORTEST_FRAMES}")
    if not 1 <= rate <= 240:
        rate = Fraction(30)
    count = len(frames)
    loop = looped or count < LOOP_BELOW_FRAMES
    back = [] if looped else list(range(count - 2, 0, -1))
    return Clip(
        name=path.stem,
        fps=rate,
        source_width=frames[0].width,
        source_height=frames[0].height,
        frames=frames,
        order=list(range(count)) + (back if loop else []),
        playback="loop" if loop else "ping_pong",
        coded_bytes=sum(packets) / len(packets),
    )
