"""How a model follows a fall of its target, against the encoder that real calls use."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("av", reason="measuring needs the extra 'profile'")
from legato import _core
from legato.errors import ProfileError

if not hasattr(_core, "LiveEncoder"):
    pytest.skip("the native module was built without the encoders", allow_module_level=True)
from legato.profile import profile_clip
from legato_studies.codecs import step
from legato_studies.pages import encoders

CLIP = Path(__file__).resolve().parents[2] / "data/clips/lrwp9a.mpg"
HEIGHT = 144
X264 = "x264, 500 ms"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, step.Response]:
    profile = profile_clip(CLIP, tmp_path_factory.mktemp("step") / "a.safetensors", heights=[HEIGHT], fps=step.FPS)
    chosen = [c for c in (*step.REAL, *step.MODELS) if (c.model_of or c.name) in ("OpenH264", X264)]
    return {r.contestant.name: r for r in step.responses(CLIP, profile, HEIGHT, chosen)}


def test_the_model_of_openh264_follows_a_fall_as_openh264_does(found: dict[str, step.Response]) -> None:
    real, model = found["OpenH264"], found["model of OpenH264"]
    off = step.error(model, real)
    # A mean over sixteen falls scatters itself: frames deviate by a fifth of their mean, bins of three by a tenth.
    spread = real.fall.std(axis=0, ddof=1) / np.sqrt(len(real.fall))
    assert np.all(np.abs(off) < 0.1 + 2.0 * spread), (off, spread)
    assert np.sqrt((off**2).mean()) < 0.08, off
    for each in (real, model):
        assert abs(each.fall[:, :10].mean() - 1.0) < 0.05 and step.excess_ms(each.fall) < 80.0


def test_x264_sends_its_buffer_more_than_the_target_and_so_does_its_model(found: dict[str, step.Response]) -> None:
    for name in (X264, f"model of {X264}"):
        assert found[name].fall[:, :3].mean() > 1.7 and step.excess_ms(found[name].fall) > 300.0


def test_the_scatter_of_frames_is_the_real_encoders(found: dict[str, step.Response]) -> None:
    steady = {name: found[name].fall[:, 10:].std() for name in ("OpenH264", "model of OpenH264")}
    # A tenth, if groups of rows are all that scatters.
    assert 0.35 < steady["model of OpenH264"] / steady["OpenH264"] < 1.5, steady


def test_the_tables_have_every_encoder_and_the_picture_is_drawn(found: dict[str, step.Response]) -> None:
    every = list(found.values())
    for side in ("fall", "rise"):
        assert [row[1] for row in encoders.sides(every, side).rows].count("model of OpenH264") == 1
    assert ["lrwp9a", "OpenH264", "fall"] in [row[:3] for row in encoders.models(every).rows]
    assert encoders.picture(every).startswith("<svg")


def test_targets_fall_to_a_quarter_at_every_place_of_a_group_of_eight() -> None:
    of_frame, falls, rises = step.targets(400_000, 100_000)
    assert {int(of_frame[f]) for f in falls} == {100_000} and {int(of_frame[r]) for r in rises} == {400_000}
    assert {f % 8 for f in falls} == set(range(8))


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(ProfileError, match="one of h264, vp8, vp9"):
        _core.LiveEncoder("av1", 64, 48, 30.0, 100_000)
