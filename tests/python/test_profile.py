"""What ``legato profile`` measures of a clip, and refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("av", reason="measuring needs the extra 'profile'")
from legato import _core
from legato.errors import ProfileError

if not hasattr(_core, "picture_quality"):
    pytest.skip("the native module was built without the encoders", allow_module_level=True)
from legato.profile import profile_clip
from legato.profile.clip import read_clip

CLIP = Path(__file__).resolve().parents[2] / "data/clips/yes.mkv"
HEIGHT = 180


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("profile") / "yes.safetensors"
    steps: list[float] = []
    made = profile_clip(CLIP, path, heights=[HEIGHT], on_progress=lambda _, share: steps.append(share))
    assert steps[-1] == 1.0 and steps == sorted(steps)
    return made


def test_ssim_is_scikit_images() -> None:
    metrics = pytest.importorskip("skimage.metrics")
    clip = read_clip(CLIP, longest_frames=12).pictures(120)
    a, b = clip.luma[0], clip.luma[7]
    [(ssim, psnr_db)] = _core.picture_quality(a.tobytes(), b.tobytes(), clip.width, clip.height)
    options = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 255}
    assert ssim == pytest.approx(metrics.structural_similarity(a, b, **options), abs=5e-5)
    assert psnr_db == pytest.approx(metrics.peak_signal_noise_ratio(a, b, data_range=255), abs=1e-3)


def test_a_profile_says_what_it_is_of(profile: Path) -> None:
    import json

    data = profile.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    about = json.loads(header["__metadata__"]["legato_profile"])
    assert about["format"] == 1 and about["playback"] == "loop" and about["frames"] == 2 * 65 - 2
    assert about["rungs"] == [{"width": 240, "height": 180, "scale": 0.375}]
    sizes = header["180/x264/size_bytes"]
    assert sizes["dtype"] == "U32" and sizes["shape"] == [128, 10]


@pytest.mark.parametrize(
    ("content", "says"),
    [(b"", "not a video"), (b"not a video at all" * 100, "not a video"), (None, "no such file")],
)
def test_clips_that_are_none_are_refused_in_one_line(tmp_path: Path, content: bytes | None, says: str) -> None:
    path = tmp_path / "clip.mp4"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ProfileError, match=says) as caught:
        profile_clip(path, tmp_path / "out.safetensors")
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(("heights", "says"), [([181], "181"), ([20], "20"), ([], "0 of them")])
def test_heights_that_make_no_sense_are_refused(tmp_path: Path, heights: list[int], says: str) -> None:
    with pytest.raises(ProfileError, match=says):
        profile_clip(CLIP, tmp_path / "out.safetensors", heights=heights)


def test_loss_hurts_more_the_more_is_lost(profile: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    arrays = safetensors.load_file(profile)
    hits = arrays["180/loss_dissimilarity"].astype(float).mean(axis=0)
    assert np.all(np.diff(hits, axis=1) >= 0) and hits[:, -1].min() > 0.003
    assert np.all((arrays["180/damage_persistence"] > 0.5) & (arrays["180/damage_persistence"] < 1))
