"""How encoders follow their target inside calls, for :mod:`legato_studies.codecs.step`.

Legato's: a call between two Legato ends over a link that holds nothing back, its target that of `fixed` with steps.
Chromium's own: a page that calls itself, its sender limited to the target by ``maxBitrate``. Every frame is counted by
its place among the captured ones, so that a frame that was not coded counts as one of no bits.
"""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from legato.errors import CallError
from legato.profile.clip import Clip, Pictures

FPS = 30
SCENARIO = """name = "step"
duration_s = {duration_s}
controller = {{ name = "fixed", config = {{ steps = {steps} }} }}

[video]
clip = "{profile}"

[limits]
min_bps = 10_000
max_bps = 50_000_000

[forward]
propagation_ms = 10.0
capacity = {{ constant_bps = 100_000_000 }}

[reverse]
propagation_ms = 10.0
"""
HEADERS_BPS = 16_000
"""What a call takes from its target for the headers of a packet per frame: the encoder is given so much less."""
TICKS_PER_FRAME = 90_000 // FPS
"""Of RTP's clock for video."""


def write_y4m(clip: Clip, pictures: Pictures, path: Path) -> None:
    """The clip as a camera plays it again and again: forth and back where that is how its profile plays, without a
    cut."""
    count = len(clip.order)
    back = range(count - 2, 0, -1) if clip.playback != "loop" else ()
    with path.open("wb") as file:
        file.write(f"YUV4MPEG2 W{pictures.width} H{pictures.height} F{FPS}:1 Ip A1:1 C420jpeg\n".encode())
        for index in (*range(count), *back):
            file.write(b"FRAME\n" + pictures.planar(index))


def changed_at(plan: NDArray[np.int64]) -> list[int]:
    """The frames whose target is not that of the one before, the first among them."""
    return [0, *(int(n) + 1 for n in np.flatnonzero(np.diff(plan)))]


def sizes_of_ours(camera: Path, profile: Path, plan: NDArray[np.int64]) -> tuple[list[int], NDArray[np.int64]]:
    """Sizes in bytes of all frames of our encoder in a call (0: not coded), and the target that it was given for each:
    that of the call minus the headers."""
    import legato
    from legato.call import Pictures as Sent
    from legato.results.query import query

    # Half a frame before the first picture that it is for.
    steps = [[max(0.0, (first - 0.5) / FPS), int(plan[first]) + HEADERS_BPS] for first in changed_at(plan)]
    with tempfile.TemporaryDirectory() as scratch:
        scenario = Path(scratch) / "step.toml"
        text = SCENARIO.format(duration_s=(len(plan) + FPS) / FPS, steps=steps, profile=profile.resolve())
        tomllib.loads(text)
        scenario.write_text(text, encoding="utf-8")
        out = Path(scratch) / "call"
        legato.real_calls(scenario, out=out, pictures=Sent(clip=camera), peers="legato", log="series")
        rows = query(out, "SELECT captured_ms, size_bytes FROM frames WHERE encoded ORDER BY frame")
        given = query(out, "SELECT time_ms, encoder_bitrate_bps AS bps FROM series ORDER BY time_ms")
    sizes = [0] * len(plan)
    for row in rows:
        place = round(row["captured_ms"] * FPS / 1e3)
        if place < len(sizes):
            sizes[place] += row["size_bytes"]
    return sizes, given_targets([(row["time_ms"] / 1e3, row["bps"]) for row in given], plan)


def given_targets(given_bps: Sequence[tuple[float, float]], plan: NDArray[np.int64]) -> NDArray[np.int64]:
    """The target of each frame, from those of the encoder over time: between two changes the mean of the last second,
    in which they have settled."""
    changes = [*changed_at(plan), len(plan)]
    found = np.empty(len(plan), np.int64)
    for first, end in pairwise(changes):
        settled = [bps for time_s, bps in given_bps if max(first, end - FPS) / FPS <= time_s < (end - 3) / FPS]
        found[first:end] = round(float(np.mean(settled)))
    return found


def sizes_of_chromium(camera: Path, codec: str, plan: NDArray[np.int64]) -> list[int]:
    """Sizes in bytes of all frames of Chromium's own encoder (h264 or vp8); 0: not coded. Its target is set when a
    frame has been coded, so that the next one, or at the latest the one after it, is coded at the new one."""
    from legato.call.browser import Peer, launched

    steps = [(first, int(plan[first])) for first in changed_at(plan)]
    with launched(camera) as browser:
        page = Peer(browser)
        page.run(files("legato_studies.codecs").joinpath("step_call.js").read_text(encoding="utf-8"))
        frames = page.run(
            "([codec, steps, count]) => window.encoder.step(codec, steps, count)",
            [codec, steps, len(plan)],
            timeout_ms=1e3 * (len(plan) / FPS + 60.0),
        )
        page.close()
    return placed(frames, len(plan))


def placed(frames: Sequence[tuple[int, int]], count: int) -> list[int]:
    """Sizes by capture, from RTP timestamps and sizes of coded frames."""
    if not frames:
        raise CallError("Chromium coded no frame")
    sizes = [0] * count
    first = frames[0][0]
    for timestamp, size in frames:
        place = round(((timestamp - first) % (1 << 32)) / TICKS_PER_FRAME)
        if place < count:
            sizes[place] += size
    return sizes
