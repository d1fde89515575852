"""What a frame costs and looks like at every quantiser: forced-QP runs of the real encoders."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from legato import _core
from legato.profile.clip import Clip, Pictures
from legato.profile.x264 import X264, Encoder

LEVELS = tuple(range(14, 51, 4))
"""Quantisers at which every frame is coded; between them log size and dB are interpolated."""
LEAD_IN_FRAMES = 4
"""Coded before the first measured frame, so that it too is predicted from its neighbour."""
KEY_STRIDE = 8
"""Pictures between key frames."""


class X264Stream:
    """x264 at a forced quantiser, adaptive quantisation on: size in bytes and luma as decoded, per picture."""

    def __init__(self, library: X264, pictures: Pictures, fps: str, qp: int) -> None:
        self._qp = qp
        self._encoder = Encoder(library, pictures.width, pictures.height, fps)

    def encode(self, pictures: Pictures, index: int, *, keyframe: bool = False) -> tuple[int, np.ndarray]:
        chroma = (pictures.u[index], pictures.v[index])
        coded = self._encoder.encode(pictures.luma[index], chroma, qp=self._qp, keyframe=keyframe)
        return coded.size_bytes, coded.luma


class OpenH264Stream:
    """The same of OpenH264."""

    def __init__(self, pictures: Pictures, fps: float, qp: int) -> None:
        self._stream = _core.OpenH264Stream(pictures.width, pictures.height, min(fps, 60.0), qp=qp)

    def encode(self, pictures: Pictures, index: int, *, keyframe: bool = False) -> tuple[int, np.ndarray]:
        coded, _, _, luma = self._stream.encode(pictures.planar(index), keyframe)
        return len(coded), np.frombuffer(luma, np.uint8).reshape(pictures.height, pictures.width)


@dataclass(frozen=True)
class Level:
    """One quantiser: one row per picture of the clip, and one every KEY_STRIDE pictures for key frames."""

    size_bytes: np.ndarray
    psnr_db: np.ndarray  # at the coded size
    shown_ssim_db: np.ndarray  # at the clip's full size
    shown_psnr_db: np.ndarray
    key_size_bytes: np.ndarray
    key_psnr_db: np.ndarray
    key_shown_ssim_db: np.ndarray
    key_shown_psnr_db: np.ndarray


def measure_level(make_stream: Callable[[], Any], clip: Clip, pictures: Pictures, full: Pictures) -> Level:
    """Both runs of one encoder at one quantiser. `make_stream` opens a stream."""
    stream = make_stream()
    for index in clip.lead_in(LEAD_IN_FRAMES):
        stream.encode(pictures, index)
    inter = _measured(stream, pictures, full, range(len(pictures.luma)), keyframe=False)
    intra = _measured(make_stream(), pictures, full, range(0, len(pictures.luma), KEY_STRIDE), keyframe=True)
    return Level(*inter, *intra)


_AT_ONCE = 32
"""Decoded pictures held at once: all of a clip at 1080 rows would be a gigabyte for each level."""


def _measured(stream: Any, pictures: Pictures, full: Pictures, indices: range, *, keyframe: bool) -> list[np.ndarray]:
    """Bytes, PSNR at the coded size, SSIM in dB and PSNR at the clip's full size, of each picture."""
    parts = []
    for first in range(0, len(indices), _AT_ONCE):
        some = indices[first : first + _AT_ONCE]
        coded = [stream.encode(pictures, index, keyframe=keyframe) for index in some]
        sizes = np.array([size for size, _ in coded], np.uint32)
        parts.append((sizes, *_qualities([luma for _, luma in coded], pictures, full, np.array(some))))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def _qualities(
    coded: list[np.ndarray], pictures: Pictures, full: Pictures, which: np.ndarray
) -> tuple[np.ndarray, ...]:
    """PSNR at the coded size; SSIM in dB and PSNR at the clip's full size."""
    luma = np.stack(coded)
    if pictures.height == full.height:
        ssim_db, shown_psnr = quality(full.luma[which], luma)
        return shown_psnr, ssim_db, shown_psnr
    error = (luma.astype(np.int16) - pictures.luma[which]).astype(np.int32)
    mse = np.maximum(np.mean(error * error, axis=(1, 2)), 1e-3)
    psnr = np.minimum(10 * np.log10(255 * 255 / mse), 60.0)
    ssim_db, shown_psnr = quality(full.luma[which], np.stack([enlarge(plane, full) for plane in coded]))
    return psnr, ssim_db, shown_psnr


def enlarge(luma: np.ndarray, full: Pictures) -> np.ndarray:
    """A luma plane at the clip's full size, bicubic, as a receiver shows it."""
    import av

    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(luma), format="gray")
    large = frame.reformat(width=full.width, height=full.height, interpolation="BICUBIC")
    plane = large.planes[0]
    rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
    return rows[: full.height, : full.width]


def quality(reference: np.ndarray, coded: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """SSIM in dB and PSNR in dB, one value per picture."""
    ssim, psnr = ssim_psnr(reference, coded)
    return ssim_to_db(ssim), psnr


def ssim_psnr(reference: np.ndarray, coded: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """SSIM and PSNR in dB, one value per picture."""
    _, height, width = reference.shape
    pairs = _core.picture_quality(reference.tobytes(), coded.tobytes(), width, height)
    return np.array([ssim for ssim, _ in pairs]), np.array([psnr for _, psnr in pairs])


def ssim_to_db(ssim: np.ndarray) -> np.ndarray:
    """-10 log10(1 - SSIM), at most 40 dB."""
    decibels: np.ndarray = -10 * np.log10(np.maximum(1 - ssim, 1e-4))
    return decibels


def satd(library: X264, clip: Clip, pictures: Pictures) -> tuple[np.ndarray, np.ndarray]:
    """x264's own complexity of every picture: (predicted from the one before, key frames).

    x264's rate control steers by the cost its lookahead finds on the source pictures. It does not report it. But with
    `qcomp` 0 and a constant rate factor the quantiser of a frame is proportional to the cost blurred over the last
    frames. The statistics report the quantiser to 0.01, so the blur can be removed.
    """
    keys = list(range(0, len(pictures.luma), KEY_STRIDE))
    # The quantisers of a stream's start are not free: the first picture comes again until that is forgotten.
    intra = _satd_of(library, clip, pictures, [keys[0]] * _SETTLE + keys, None)[_SETTLE:]
    lead_in = clip.lead_in(LEAD_IN_FRAMES)
    order = lead_in + list(range(len(pictures.luma)))
    inter = _satd_of(library, clip, pictures, order, float(intra[lead_in[0] // KEY_STRIDE]))[len(lead_in) :]
    return inter, intra


_CRF = 28
_SETTLE = 10


def _satd_of(library: X264, clip: Clip, pictures: Pictures, order: list[int], first: float | None) -> np.ndarray:
    """The costs along `order`, all key frames, or (where the `first` one's cost is given) all others predicted."""
    options: dict[str, object] = {"crf": _CRF, "qcomp": 0, "qpstep": 69}
    if first is None:
        options["keyint"] = 1
    encoder = Encoder(library, pictures.width, pictures.height, fps_text(clip), options=options)
    for index in order:
        chroma = (pictures.u[index], pictures.v[index])
        encoder.encode(pictures.luma[index], chroma, keyframe=first is None)
    macroblocks = math.ceil(pictures.width / 16) * math.ceil(pictures.height / 16)
    # x264 counts cost per 40 ms.
    costs = [macroblocks * 80 * 2 ** ((qp - _CRF) / 6) / (0.04 * float(clip.fps)) for qp in encoder.close()]
    values = [costs[1] if first is None else first]
    total, count = values[0], 1.0
    for blurred in costs[1:]:
        total, count = 0.5 * total, 0.5 * count + 1
        values.append(max(blurred * count - total, 0.0))
        total += values[-1]
    return np.array(values).round().astype(np.uint32)


def fps_text(clip: Clip) -> str:
    """Frames per second as encoders take it."""
    return f"{clip.fps.numerator}/{clip.fps.denominator}"
