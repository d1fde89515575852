"""How encoders follow their target when it falls to a quarter and comes back: the real ones, and the models of them.

Plays each clip at 30 pictures a second through every encoder alone, with no call around it. The target alternates
between two bitrates, 4 s each and a little more, so that each change meets other pictures and another place in the
rate control's own groups. The page shows bits over target in bins of 100 ms (three frames), the mean over the changes.
The first frame of the first bin is the first that is coded at the new target.

The encoders: OpenH264, VP8 and VP9 as real calls have them (:class:`legato._core.LiveEncoder`), and x264 with rate
buffers of 100 and 500 ms. The models are those of OpenH264 and x264, on the clip's own tables. With calls, also
OpenH264 inside a Legato call, and Chromium's encoders (:mod:`legato_studies.codecs.step_call`), at the pace of the
clock.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from legato import _core
from legato.profile.clip import Clip, Pictures, read_clip
from legato.profile.measure import profile_clip
from legato.profile.tables import fps_text
from legato.profile.x264 import X264, Encoder
from legato_studies.codecs import step_call
from legato_studies.codecs.truth import contents

FPS = 30
BIN_FRAMES = 3
"""100 ms."""
BINS = 20
"""2 s after a change."""
FALL_RATIO = 0.25
CHANGES = 16
"""Falls, and as many rises."""
HOLD_FRAMES = 4 * FPS
FINE_QP = 26.0
"""The upper bitrate is what the clip takes at this quantiser, by its profile."""
SCENE = "scene"
"""In place of a file: the generated scene of real calls, 640x360."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Contestant:
    """An encoder or the model of one."""

    name: str
    model_of: str = ""
    """Empty: it is the real one."""


REAL = tuple(map(Contestant, ("OpenH264", "VP8", "VP9", "x264, 100 ms", "x264, 500 ms")))
IN_A_CALL = "OpenH264, in a call"
CHROMIUM = {"Chromium's H.264": "h264", "Chromium's VP8": "vp8"}
CALLED = (Contestant(IN_A_CALL), *map(Contestant, CHROMIUM))
"""At the pace of the clock."""
CHROMIUM_CHANGES = 8
MODELS = tuple(Contestant(f"model of {name}", name) for name in ("OpenH264", "x264, 100 ms", "x264, 500 ms"))


@dataclass(frozen=True)
class Response:
    """What one encoder made of one clip: bits over target, one row per change and one column per bin of 100 ms."""

    clip: str
    contestant: Contestant
    high_bps: int
    low_bps: int
    fall: Array
    rise: Array


def targets(high_bps: int, low_bps: int, changes: int = CHANGES) -> tuple[NDArray[np.int64], list[int], list[int]]:
    """The target of every frame, and the first frame of each fall and of each rise."""
    of_frame: list[int] = []
    falls, rises = [], []
    for change in range(changes):
        # 7 and 5 more each time: no whole number of eights or of a short clip's pictures lies between two changes.
        of_frame += [high_bps] * (HOLD_FRAMES + 7 * change % 24)
        falls.append(len(of_frame))
        of_frame += [low_bps] * (HOLD_FRAMES + 5 * change % 24)
        rises.append(len(of_frame))
    of_frame += [high_bps] * (BINS * BIN_FRAMES)
    return np.array(of_frame), falls, rises


def response(sizes: Sequence[int], of_frame: NDArray[np.int64], changes: Sequence[int]) -> Array:
    """Bits over target in the bins after each change."""
    frames = BINS * BIN_FRAMES
    bits = 8.0 * np.array([sizes[first : first + frames] for first in changes])
    binned = bits.reshape(len(changes), BINS, BIN_FRAMES).sum(axis=2)
    return np.asarray(binned / (np.array([of_frame[first] for first in changes])[:, None] * BIN_FRAMES / FPS))


def _sizes(contestant: Contestant, clip: Clip, pictures: Pictures, profile: Path, plan: NDArray[np.int64]) -> list[int]:
    name = contestant.model_of or contestant.name
    encoder, _, vbv = name.partition(", ")
    if contestant.model_of:
        how = {"vbv_ms": int(vbv.removesuffix(" ms"))} if vbv else {}
        model = _core.EncoderModel(str(profile), encoder.lower(), pictures.height, **how)
        return [model.encode(int(target))[0] for target in plan]
    order = contents(clip, len(plan))
    if vbv:
        return _x264_sizes(clip, pictures, order, plan, float(vbv.removesuffix(" ms")))
    codec = {"OpenH264": "h264"}.get(encoder, encoder.lower())
    live = _core.LiveEncoder(codec, pictures.width, pictures.height, float(FPS), int(plan[0]))
    planar = [pictures.planar(index) for index in range(len(pictures.luma))]
    return [live.encode(planar[index], int(target))[0] for index, target in zip(order, plan, strict=True)]


def _called(
    name: str, clip: Clip, pictures: Pictures, profile: Path, plan: NDArray[np.int64]
) -> tuple[list[int], NDArray[np.int64]]:
    """Sizes in a call, and the targets that the encoder was given."""
    with tempfile.TemporaryDirectory() as scratch:
        camera = Path(scratch) / f"{clip.name}.y4m"
        step_call.write_y4m(clip, pictures, camera)
        if name == IN_A_CALL:
            return step_call.sizes_of_ours(camera, profile, plan)
        return step_call.sizes_of_chromium(camera, CHROMIUM[name], plan), plan


def _x264_sizes(
    clip: Clip, pictures: Pictures, order: Sequence[int], plan: NDArray[np.int64], vbv_ms: float
) -> list[int]:
    sizes, target = [], int(plan[0])
    size = pictures.width, pictures.height
    with Encoder(X264(), *size, fps_text(clip), bitrate_bps=target, vbv_ms=vbv_ms) as encoder:
        for index, wanted in zip(order, plan, strict=True):
            if int(wanted) != target:
                target = int(wanted)
                encoder.set_bitrate(target)
            sizes.append(encoder.encode(pictures.luma[index], (pictures.u[index], pictures.v[index])).size_bytes)
    return sizes


def responses(
    clip_path: Path, profile: Path, height: int, contestants: Sequence[Contestant] = (*REAL, *MODELS)
) -> Iterator[Response]:
    """Of encoders and models to one clip."""
    clip = read_clip(clip_path, fps=FPS)
    pictures = clip.pictures(height)
    bits = 8 * FPS * _core.profile_mean_size(str(profile), "openh264", height, FINE_QP)
    high_bps = max(4 * 30_000, 10_000 * round(bits / 10_000))
    low_bps = round(FALL_RATIO * high_bps)
    for contestant in contestants:
        changes = CHROMIUM_CHANGES if contestant.name in CHROMIUM else CHANGES
        plan, falls, rises = targets(high_bps, low_bps, changes)
        if contestant in CALLED:
            sizes, given = _called(contestant.name, clip, pictures, profile, plan)
        else:
            sizes, given = _sizes(contestant, clip, pictures, profile, plan), plan
        fall, rise = (response(sizes, given, places) for places in (falls, rises))
        yield Response(clip_path.stem, contestant, high_bps, low_bps, fall, rise)


def measure(
    clips: Sequence[str],
    folder: Path,
    height: int | None = None,
    on_clip: Callable[[str], None] = lambda _: None,
    contestants: Sequence[Contestant] = (*REAL, *MODELS),
) -> list[Response]:
    """Of all clips; their profiles are kept in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    found: list[Response] = []
    for name in clips:
        path = Path(name)
        if name == SCENE:
            path = folder / f"{SCENE}.y4m"
            _core.write_scene(str(path), 640, 360, FPS, 300)
        on_clip(path.stem)
        rows = height or min(360, 2 * (read_clip(path).source_height // 2))
        profile = folder / f"{path.stem}-{rows}.safetensors"
        if not profile.exists():
            profile_clip(path, profile, heights=[rows], fps=FPS)
        found += responses(path, profile, rows, contestants)
    return found


def error(model: Response, real: Response, side: str = "fall") -> Array:
    """Model over real, minus 1, of each bin's mean over the changes."""
    return np.asarray(getattr(model, side).mean(axis=0) / getattr(real, side).mean(axis=0) - 1.0)


def excess_ms(ratios: Array) -> float:
    """The most that was sent above the target since the change, in ms of the target; mean over the changes."""
    above = np.cumsum(ratios - 1.0, axis=1) * (1000 * BIN_FRAMES / FPS)
    return float(np.maximum(above.max(axis=1), 0.0).mean())


def pairs(found: Sequence[Response]) -> list[tuple[Response, Response]]:
    """Each model with the encoder that it is of, alone and in a call, on the same clip."""
    models = [r for r in found if r.contestant.model_of]
    return [
        (model, real)
        for model in models
        for real in found
        if real.clip == model.clip
        and real.contestant.name in (model.contestant.model_of, f"{model.contestant.model_of}, in a call")
    ]


def write_csv(found: Sequence[Response], path: Path) -> None:
    """Every bin of every change."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("clip", "encoder", "side", "change", *(f"bin_{100 * n}_ms_ratio" for n in range(BINS))))
        for each in found:
            for side in ("fall", "rise"):
                for change, ratios in enumerate(getattr(each, side)):
                    rows.writerow((each.clip, each.contestant.name, side, change, *(f"{r:.4f}" for r in ratios)))
