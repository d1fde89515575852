"""Damage by the loss of parts of a frame: x264 with slices, FFmpeg's concealment.

Two figures of damage, both of which add up from frame to frame: the rise of 1 - SSIM and the rise
of the mean squared error against the intact picture. Per frame with an intact reference, and how
much of it the next frame inherits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from legato.profile.clip import Clip, Pictures
from legato.profile.tables import fps_text, ssim_psnr
from legato.profile.x264 import X264, Coded, Encoder

RATIOS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
"""Shares of the slices that are lost; of the last nothing arrives and the picture before stays."""
LEVELS = (22, 30, 38)
STRIDE = 5
"""Pictures between damaged ones; the next is a key frame."""
REPEATS = 3
SLICES = 10
RUN_LOSSY, RUN_CLEAN = 10, 10
RUN_RATIOS = (0.1, 0.3, 0.5)


def measure_loss(library: X264, clip: Clip, pictures: Pictures) -> dict[str, np.ndarray]:
    """`loss_dissimilarity` and `loss_mse` [rows, levels, ratios]; `damage_persistence` [2, 2]: what the next
    frame inherits when it is hit itself, and when it is whole, of the damage in SSIM and in MSE."""
    random = np.random.default_rng(20)
    hits = [_single_hits(library, clip, pictures, qp, random) for qp in LEVELS]
    dissimilarity = np.stack([hit[0] for hit in hits], axis=1)
    error = np.stack([hit[1] for hit in hits], axis=1)
    at_run = [RATIOS.index(ratio) for ratio in RUN_RATIOS]
    mean_hits = np.stack([dissimilarity[:, 1, at_run].mean(axis=0), error[:, 1, at_run].mean(axis=0)])
    persistence = _persistence(library, clip, pictures, mean_hits, random)
    height = pictures.height
    return {
        f"{height}/loss_dissimilarity": np.maximum(dissimilarity, 0).astype("<f2"),
        f"{height}/loss_mse": np.clip(error, 0, 60_000).astype("<f2"),
        f"{height}/damage_persistence": persistence.astype("<f4"),
    }


def _code(library: X264, clip: Clip, pictures: Pictures, qp: int, order: list[int], keys: set[int]) -> list[Coded]:
    """Code `order` with about SLICES slices per frame; key frames at the positions in `keys`."""

    def run(slice_bytes: int, positions: range) -> list[Coded]:
        encoder = Encoder(library, pictures.width, pictures.height, fps_text(clip), slice_bytes=slice_bytes)
        with encoder:
            return [
                encoder.encode(
                    pictures.luma[order[i]],
                    (pictures.u[order[i]], pictures.v[order[i]]),
                    qp=qp,
                    keyframe=i in keys,
                    want_nals=True,
                )
                for i in positions
            ]

    trial = run(1200, range(min(len(order), 12)))
    mean = float(np.mean([coded.size_bytes for coded in trial[1:] if not coded.keyframe]))
    return run(int(np.clip(mean / SLICES, 60, 1200)), range(len(order)))


class Decoder:
    """FFmpeg's decoder, of H.264 with its best concealment; shows the last picture where none comes out."""

    def __init__(self, pictures: Pictures, codec: str = "h264") -> None:
        import av

        self._av = av
        self._context: Any = av.CodecContext.create(codec, "r")
        self._context.thread_count = 1
        options = {"ec": "guess_mvs+deblock", "flags": "+output_corrupt+low_delay", "flags2": "+showall"}
        self._context.options = options if codec == "h264" else {}
        self._size = (pictures.height, pictures.width)
        self.shown = np.full(self._size, 16, np.uint8)

    def decode(self, data: bytes) -> np.ndarray:
        if data:
            try:
                for frame in self._context.decode(self._av.Packet(data)):
                    plane = frame.planes[0]
                    rows = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
                    self.shown = rows[: self._size[0], : self._size[1]].copy()
            except self._av.error.FFmpegError:
                pass  # Nothing of the frame was usable: the last picture stays.
        return self.shown


def _damaged(coded: Coded, ratio: float, random: np.random.Generator) -> bytes:
    """The frame without this share of its slices; a fraction of a slice is lost by chance."""
    holders = [i for i, is_slice in enumerate(coded.slices) if is_slice]
    lost = int(ratio * len(holders) + random.random())
    gone = set(random.choice(holders, min(lost, len(holders)), replace=False).tolist())
    kept = [nal for i, nal in enumerate(coded.nals) if i not in gone]
    return b"".join(kept) if len(gone) < len(holders) else b""


def _single_hits(
    library: X264, clip: Clip, pictures: Pictures, qp: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Damage of one lossy frame after intact ones, [rows, ratios]: the last frame before each key frame."""
    count = len(pictures.luma)
    order = clip.lead_in(STRIDE - 1) + list(range(count))
    keys = set(range(0, len(order), STRIDE))
    hit_at = list(range(STRIDE - 1, len(order), STRIDE))
    coded = _code(library, clip, pictures, qp, order, keys)
    sources = np.stack([pictures.luma[order[i]] for i in hit_at])
    clean_ssim, clean_mse = _compare(sources, np.stack([coded[i].luma for i in hit_at]))
    dissimilarity, error = [], []
    for ratio in RATIOS:
        sums = np.zeros((2, len(hit_at)))
        repeats = REPEATS if ratio < 1.0 else 1
        for _ in range(repeats):
            decoder, shown = Decoder(pictures), []
            for i, frame in enumerate(coded):
                hit = i % STRIDE == STRIDE - 1
                luma = decoder.decode(_damaged(frame, ratio, random) if hit else b"".join(frame.nals))
                if hit:
                    shown.append(luma)
            ssim, mse = _compare(sources, np.stack(shown))
            sums += np.stack([clean_ssim - ssim, mse - clean_mse])
        dissimilarity.append(sums[0] / repeats)
        error.append(sums[1] / repeats)
    # More loss does not mean less damage, though small samples may suggest it.
    worst = (np.maximum.accumulate(np.stack(values, axis=1), axis=1) for values in (dissimilarity, error))
    ssim, mse = worst
    return ssim, mse


def _persistence(
    library: X264, clip: Clip, pictures: Pictures, mean_hits: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """The share of the damage that the next frame inherits, [hit itself or whole, SSIM or MSE].

    Runs of lossy and then clean frames, fitted by least squares to D_t = rho D_{t-1} + hit. A frame that is hit
    inherits less: part of the lost area was damaged before.
    """
    qp, period = LEVELS[1], 2 + RUN_LOSSY + RUN_CLEAN
    count = len(pictures.luma)
    order = [i % count for i in range(count // period * period)] or list(range(min(count, period)))
    coded = _code(library, clip, pictures, qp, order, set(range(0, len(order), period)))
    sources = np.stack([pictures.luma[i] for i in order])
    clean_ssim, clean_mse = _compare(sources, np.stack([frame.luma for frame in coded]))
    carried, inherited = np.full((2, 2), 1e-12), np.zeros((2, 2))
    for ratio, hit in zip(RUN_RATIOS, mean_hits.T, strict=True):
        decoder, shown = Decoder(pictures), []
        for i, frame in enumerate(coded):
            lossy = 2 <= i % period < 2 + RUN_LOSSY
            shown.append(decoder.decode(_damaged(frame, ratio, random) if lossy else b"".join(frame.nals)))
        ssim, mse = _compare(sources, np.stack(shown))
        damage = np.stack([clean_ssim - ssim, mse - clean_mse])
        for i in range(1, len(order)):
            before, now, at = damage[:, i - 1], damage[:, i], i % period
            if 2 < at < 2 + RUN_LOSSY:
                carried[0] += before**2
                inherited[0] += (now - hit) * before
            elif at >= 2 + RUN_LOSSY:
                carried[1] += before**2
                inherited[1] += now * before
    shares: np.ndarray = np.clip(inherited / carried, 0.0, 0.999)
    return shares


def _compare(sources: np.ndarray, shown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    ssim, psnr = ssim_psnr(sources, shown)
    return ssim, 255 * 255 / 10 ** (psnr / 10)
