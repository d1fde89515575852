"""Quality of a picture that stays on display while the camera moves on."""

from __future__ import annotations

import numpy as np

from legato.profile.clip import Clip, Pictures
from legato.profile.tables import quality

LAGS = (1, 2, 3, 5, 8, 13, 20, 30)
STRIDE = 4
"""Pictures per row."""


def measure_freeze(clip: Clip, full: Pictures) -> tuple[np.ndarray, np.ndarray]:
    """SSIM and PSNR in dB, [rows, lags]: the picture of `lag` frames ago against the current one."""
    count = len(full.luma)
    rows = np.arange(0, count, STRIDE)
    ssim, psnr = [], []
    for lag in LAGS:
        # A ping-pong clip shows picture `lag - row` before its first: it came the other way.
        older = (rows - lag) % count if clip.playback == "loop" else np.minimum(np.abs(rows - lag), count - 1)
        values = quality(full.luma[rows], full.luma[older])
        ssim.append(values[0])
        psnr.append(values[1])
    return np.stack(ssim, axis=1), np.stack(psnr, axis=1)
