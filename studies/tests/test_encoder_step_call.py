"""Encoders inside calls: every frame in the place of its capture, and a Legato call that follows its steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("av", reason="measuring needs the extra 'profile'")
from legato import _core
from legato.errors import CallError
from legato.profile import profile_clip
from legato.profile.clip import read_clip
from legato_studies.codecs import step_call

CLIP = Path(__file__).resolve().parents[2] / "data/clips/lrwp9a.mpg"


def test_a_target_changes_at_the_frames_that_have_another_one() -> None:
    assert step_call.changed_at(np.array([4, 4, 1, 1, 1, 4])) == [0, 2, 5]
    assert step_call.changed_at(np.array([4])) == [0]


def test_frames_are_placed_by_their_timestamps_and_those_left_out_are_empty() -> None:
    # Thirty a second are 3,000 ticks apart; the third is missing, and the clock passes its end.
    first = (1 << 32) - 3_000
    frames = [(first, 900), (0, 100), (6_001, 80), (900_000, 1)]
    assert step_call.placed(frames, 4) == [900, 100, 0, 80]
    with pytest.raises(CallError, match="coded no frame"):
        step_call.placed([], 4)


def test_a_camera_films_a_clip_forth_and_back(tmp_path: Path) -> None:
    clip = read_clip(CLIP, fps=step_call.FPS)
    pictures = clip.pictures(72)
    step_call.write_y4m(clip, pictures, tmp_path / "clip.y4m")
    header, _, rest = (tmp_path / "clip.y4m").read_bytes().partition(b"\n")
    count, size = len(clip.order), pictures.width * pictures.height * 3 // 2
    shown = count if clip.playback == "loop" else 2 * (count - 1)
    assert header == f"YUV4MPEG2 W{pictures.width} H72 F30:1 Ip A1:1 C420jpeg".encode()
    assert len(rest) == shown * (size + len(b"FRAME\n"))


def test_the_encoders_target_is_what_it_settles_at_between_two_changes() -> None:
    plan = np.array([400_000] * 60 + [100_000] * 60)
    # Every 100 ms; the first after a change is on its way.
    given = [(n / 10, 390_000.0 if n < 20 else 200_000.0 if n == 20 else 82_000.0) for n in range(40)]
    found = step_call.given_targets(given, plan)
    assert set(found[:60]) == {390_000} and set(found[60:]) == {82_000}


@pytest.mark.calls
def test_our_encoder_follows_the_steps_of_a_call(tmp_path: Path) -> None:
    if not hasattr(_core, "RealCall"):
        pytest.skip("this build makes no real calls: it lacks the feature `calls`")
    clip = read_clip(CLIP, fps=step_call.FPS)
    pictures = clip.pictures(144)
    profile = profile_clip(CLIP, tmp_path / "a.safetensors", heights=[144], fps=step_call.FPS)
    step_call.write_y4m(clip, pictures, tmp_path / "clip.y4m")
    # At its finest quantiser the clip has 160 kbit/s in the second half of these two seconds.
    plan = np.array([120_000] * 60 + [30_000] * 60)
    sizes, given = step_call.sizes_of_ours(tmp_path / "clip.y4m", profile, plan)
    assert 110_000 < given[0] < 125_000 and 28_000 < given[-1] < 32_000
    high, low = (8 * 30 * np.mean(part) for part in (sizes[30:60], sizes[75:115]))
    assert 0.9 < high / given[0] < 1.1 and 0.9 < low / given[-1] < 1.1, (high, low)
