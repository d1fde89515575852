"""The hybrid codec's profile as ``legato profile`` measures it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("av", reason="measuring needs the extra 'profile'")
from legato import _core
from legato.errors import ProfileError

if not hasattr(_core, "picture_quality"):
    pytest.skip("the native module was built without the encoders", allow_module_level=True)
from legato.profile import hybrid_tables, profile_clip
from legato.profile.clip import read_clip

CLIP = Path(__file__).resolve().parents[2] / "data/clips/yes.mkv"
HEIGHT, FRAMES = 96, 45


def test_what_is_measured_of_loss_is_in_order() -> None:
    clip = read_clip(CLIP, longest_frames=FRAMES)
    pictures = clip.pictures(HEIGHT)
    level = hybrid_tables.measure_hybrid(clip, pictures, pictures, 3)
    assert np.all(np.diff(level["loss_dissimilarity"], axis=1) >= 0) and level["loss_dissimilarity"].min() >= 0
    lossy, drift, first, later = level["persistence"][:, 0]
    assert 0 <= lossy <= 1 and first < drift and 0 < later <= 1
    # Every frame within 5 % of its budget, and the frames of a key frame with four of them.
    assert np.mean(np.abs(level["size_bytes"] / level["budget_bytes"] - 1) <= 0.05) >= 0.95
    assert level["distance_db"][0] == 0.0 and level["distance_db"][-1] > 0.0


def test_an_unknown_encoder_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="encoder av1: known are x264, openh264, hybrid"):
        profile_clip(CLIP, tmp_path / "out.safetensors", encoders=["av1"])
