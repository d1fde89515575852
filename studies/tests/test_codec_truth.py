"""The codec model against the real encoders, on a clip no coefficient was fitted on.

docs/measured/codec-truth.md has the full table; here one clip, at half the length.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import test_profile
from legato import _core
from legato.profile.clip import read_clip
from legato_studies.codecs import truth
from test_profile import CLIP, HEIGHT

profile = test_profile.profile  # skips where clips cannot be measured


def test_the_models_follow_the_real_encoders(profile: Path) -> None:
    found = truth.verdicts(CLIP, profile, height=HEIGHT, seeds=[1], vbv_ms=[200, 1000], seconds=20)
    print(truth.table(found))
    for verdict in found:
        assert verdict.rate_error_ratio <= 0.05, verdict
        assert verdict.ssim_mae_db <= 0.5, verdict
    pooled = {v.vbv_ms: v.overshoot_corr_1s for v in found if v.encoder == "x264"}
    # One schedule of 20 s is a small sample; the pooled figures of the full table are held to 0.9.
    assert pooled[1000] >= 0.9 and pooled[200] >= 0.8, pooled


def test_openh264_pays_for_a_key_frame_as_the_real_one_does(profile: Path) -> None:
    """A first key frame of ten frames' bits: the frames after it are coarse, and small, for a second."""
    clip = read_clip(CLIP)
    pictures, fps, bps = clip.pictures(HEIGHT), float(clip.fps), 30_000
    # A stream's frames scatter by a fifth: calls that begin at eight pictures of the clip are compared in the mean.
    real, model = [], []
    for first in range(0, 128, 16):
        order = truth.contents(clip, first + round(4 * fps))[first:]
        stream = _core.OpenH264Stream(pictures.width, pictures.height, fps, bitrate_bps=bps)
        real += [[(len(coded), qp) for coded, _, qp, _ in (stream.encode(pictures.planar(n)) for n in order)]]
        twin = _core.EncoderModel(str(profile), "openh264", HEIGHT, offset=first)
        model += [[twin.encode(bps)[:2] for _ in order]]
    sizes, qps = np.moveaxis(np.array([real, model], float), 3, 0)
    half_seconds = np.array_split(np.arange(2, sizes.shape[2]), 8)
    for frames in half_seconds:
        bits = sizes[:, :, frames].mean(axis=(1, 2))
        qp = qps[:, :, frames].mean(axis=(1, 2))
        assert bits[1] == pytest.approx(bits[0], rel=0.15), (frames[0], bits)
        assert qp[1] == pytest.approx(qp[0], abs=1.5), (frames[0], qp)
    assert sizes[0][:, half_seconds[0]].mean() < 0.7 * bps / 8 / fps
