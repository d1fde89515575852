"""One clip to one profile: every size, encoder and quantiser, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from legato import _core
from legato.errors import ProfileError
from legato.profile import freeze, hybrid_tables, loss, own_coding
from legato.profile.clip import LONGEST_FRAMES, Clip, Pictures, read_clip
from legato.profile.container import FORMAT, write_profile
from legato.profile.tables import (
    KEY_STRIDE,
    LEVELS,
    Level,
    OpenH264Stream,
    X264Stream,
    fps_text,
    measure_level,
    satd,
)
from legato.profile.x264 import X264

ENCODERS = ("x264", "openh264")
"""The encoders measured by default; `hybrid_tables.NAME` on demand."""
HEIGHTS = (180, 270, 360, 540, 720, 1080)

Progress = Callable[[str, float], None]
"""Called with the finished step and the share of the work that is done, 0 to 1."""


def profile_clip(
    path: str | Path,
    out: str | Path,
    *,
    encoders: Sequence[str] = ENCODERS,
    heights: Sequence[int] | None = None,
    name: str | None = None,
    licence: str = "unknown",
    origin: str = "",
    longest_frames: int = LONGEST_FRAMES,
    fps: int | None = None,
    looped: bool = False,
    on_progress: Progress | None = None,
) -> Path:
    """Measure `path` and write its profile to `out` (a file, or a folder to hold NAME.safetensors).

    `heights` is the ladder of picture heights in rows, by default those of HEIGHTS below the source's and the source's
    own, up to 1080. Where the source's own coding shows at its full height, a :class:`~legato.errors.DataWarning` says
    so (:mod:`legato.profile.own_coding`). `fps` plays every picture at that rate, whatever the file says;
    `looped` as of :func:`~legato.profile.clip.read_clip`.
    """
    known = (*ENCODERS, hybrid_tables.NAME)
    unknown = [encoder for encoder in encoders if encoder not in known]
    if unknown or not encoders:
        raise ProfileError(f"encoder {', '.join(unknown) or 'none'}: known are {', '.join(known)}")
    wants_hybrid = hybrid_tables.NAME in encoders
    if wants_hybrid and not hasattr(_core, "HybridEncoder"):
        raise ProfileError("encoder hybrid: not in this build, which lacks the feature hybrid")
    encoders = [encoder for encoder in encoders if encoder != hybrid_tables.NAME]
    clip = read_clip(path, longest_frames=longest_frames, fps=fps, looped=looped)
    heights = _ladder(clip, heights)
    if on_progress is not None:
        rows = ", ".join(map(str, heights))
        on_progress(f"{Path(path).name} is measured at {rows} of {clip.source_height} rows", 0.0)
    library = X264()
    sizes = {height: clip.pictures(height) for height in heights}
    full = sizes[heights[-1]]
    arrays: dict[str, np.ndarray] = {}
    by_budget: dict[tuple[int, int], dict[str, np.ndarray]] = {}
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        running = {pool.submit(_freeze, clip, full): "freezes"}
        for height in heights:
            if encoders:
                running[pool.submit(loss.measure_loss, library, clip, sizes[height])] = f"{height} rows, loss"
                running[pool.submit(_satd, library, clip, sizes[height])] = f"{height} rows, complexity"
            for level in range(hybrid_tables.LEVELS if wants_hybrid else 0):
                job = pool.submit(_hybrid_level, by_budget, clip, sizes[height], full, level)
                running[job] = f"{height} rows, hybrid at level {level + 1} of {hybrid_tables.LEVELS}"
            for encoder in encoders:
                for qp in LEVELS:
                    job = pool.submit(_level, library, clip, sizes[height], full, encoder, qp)
                    running[job] = f"{height} rows, {encoder} at QP {qp}"
        try:
            for done, job in enumerate(as_completed(running), 1):
                arrays |= job.result()
                if on_progress is not None:
                    on_progress(running[job], done / len(running))
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    about = {
        "format": FORMAT,
        "name": name or clip.name,
        "clip": Path(path).name,
        "licence": licence,
        "origin": origin,
        "fps": [clip.fps.numerator, clip.fps.denominator],
        "frames": len(clip.order),
        "playback": clip.playback,
        "rungs": [_rung(clip, height, sizes[height]) for height in heights],
        "encoders": [_encoder(encoder, library) for encoder in encoders],
        "levels": list(LEVELS),
        "key_stride": KEY_STRIDE,
        "freeze_lags": list(freeze.LAGS),
        "freeze_stride": freeze.STRIDE,
        "loss_ratios": list(loss.RATIOS),
        "loss_levels": list(loss.LEVELS),
        "loss_stride": loss.STRIDE,
    }
    stacked = _stacked(arrays, heights, encoders)
    if wants_hybrid:
        about["hybrid"] = hybrid_tables.about()
        for height in heights:
            levels = [by_budget[height, level] for level in range(hybrid_tables.LEVELS)]
            stacked |= hybrid_tables.stacked(levels, height)
    if encoders:
        full_rung = {encoder: stacked[f"{full.height}/{encoder}/size_bytes"].mean(axis=0) for encoder in encoders}
        about["source"] = own_coding.found(clip, full, full_rung, LEVELS)
        own_coding.warn(about)
    out = Path(out)
    if out.is_dir():
        out = out / f"{about['name']}.safetensors"
    write_profile(out, about, stacked)
    return out


def _ladder(clip: Clip, heights: Sequence[int] | None) -> list[int]:
    if heights is None:
        own = min(2 * (clip.source_height // 2), HEIGHTS[-1])
        # A size hardly below the source's own would say nothing more.
        return [*(height for height in HEIGHTS if height <= 0.9 * own), own]
    ladder = sorted(set(heights))
    for height in ladder:
        if height % 2 or not 48 <= height <= 1080:
            raise ProfileError(f"height {height}: must be even and between 48 and 1080")
    if not 1 <= len(ladder) <= 8:
        raise ProfileError(f"heights: {len(ladder)} of them, must be 1 to 8")
    return ladder


def _rung(clip: Clip, height: int, pictures: Pictures) -> dict[str, Any]:
    return {"width": pictures.width, "height": height, "scale": round(height / clip.source_height, 4)}


def _encoder(encoder: str, library: X264) -> dict[str, Any]:
    if encoder == "x264":
        return {
            "name": "x264",
            "version": f"build {library.build}",
            "settings": "superfast, zerolatency, 1 thread, forced QP in ABR mode with AQ, scenecut 0",
        }
    return {
        "name": "openh264",
        "version": "2.x (crate openh264 0.9.9)",
        "settings": "camera real time, RC off, no frame skip",
    }


def _freeze(clip: Clip, full: Pictures) -> dict[str, np.ndarray]:
    ssim_db, psnr_db = freeze.measure_freeze(clip, full)
    count = len(full.luma)
    before = np.arange(count) - 1
    before = before % count if clip.playback == "loop" else np.abs(before)
    step = np.array(
        [np.abs(full.luma[now].astype(np.int16) - full.luma[then]).mean() for now, then in enumerate(before)]
    )
    return {
        "complexity": step.astype("<f4"),
        "freeze/ssim_db": ssim_db.astype("<f2"),
        "freeze/psnr_db": psnr_db.astype("<f2"),
    }


def _satd(library: X264, clip: Clip, pictures: Pictures) -> dict[str, np.ndarray]:
    inter, intra = satd(library, clip, pictures)
    return {f"{pictures.height}/satd": inter, f"{pictures.height}/key_satd": intra}


def _level(
    library: X264, clip: Clip, pictures: Pictures, full: Pictures, encoder: str, qp: int
) -> dict[str, np.ndarray]:
    if encoder == "x264":
        level = measure_level(lambda: X264Stream(library, pictures, fps_text(clip), qp), clip, pictures, full)
    else:
        level = measure_level(lambda: OpenH264Stream(pictures, float(clip.fps), qp), clip, pictures, full)
    return {f"{pictures.height}/{encoder}/{field.name}/{qp}": getattr(level, field.name) for field in fields(Level)}


def _hybrid_level(
    found: dict[tuple[int, int], dict[str, np.ndarray]], clip: Clip, pictures: Pictures, full: Pictures, level: int
) -> dict[str, np.ndarray]:
    found[pictures.height, level] = hybrid_tables.measure_hybrid(clip, pictures, full, level)
    return {}


def _stacked(arrays: dict[str, np.ndarray], heights: Sequence[int], encoders: Sequence[str]) -> dict[str, np.ndarray]:
    """One array per quantity, [frames, levels], in place of one per level."""
    arrays = dict(arrays)
    for height in heights:
        for encoder in encoders:
            for field in fields(Level):
                key = f"{height}/{encoder}/{field.name}"
                stack = np.stack([arrays.pop(f"{key}/{qp}") for qp in LEVELS], axis=1)
                arrays[key] = stack.astype("<u4" if field.name.endswith("_bytes") else "<f2")
    return arrays
