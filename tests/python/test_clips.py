"""Clips given as video files: profiled on the fly, once for the same bytes, whatever they are called."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from fixtures import Legato
from legato import _core
from legato.errors import ProfileError
from legato.plan import clips, shipped

av = pytest.importorskip("av")


@pytest.fixture
def video(tmp_path: Path) -> Path:
    """Two seconds of a disc that moves over noise."""
    path = tmp_path / "my clip, 1.mp4"
    random = np.random.default_rng(1)
    noise = random.integers(90, 160, (240, 320, 3), dtype=np.uint8)
    rows, columns = np.mgrid[:240, :320]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=25, width=320, height=240, pix_fmt="yuv420p", bit_rate=2_000_000)
        for number in range(50):
            picture = noise.copy()
            picture[(rows - 120) ** 2 + (columns - 60 - 4 * number) ** 2 < 900] = (230, 180, 150)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


@pytest.mark.skipif(not hasattr(_core, "picture_quality"), reason="built without a C++ compiler: no encoders")
def test_a_video_is_profiled_once_and_kept_by_its_content(legato: Legato, tmp_path: Path, video: Path):
    environment = {**os.environ, "LEGATO_CACHE": str(tmp_path / "cache")}
    compare = ["compare", "--controllers", "gcc", "--duration-s", "5", "--no-report", "--log", "summary"]
    first = legato(*compare, "--clips", video, "--out", "first", env=environment)
    assert first.returncode == 0, first.stderr
    (kept,) = (tmp_path / "cache/profiles").iterdir()
    written = kept.stat().st_mtime_ns

    copy = shutil.copyfile(video, tmp_path / "same.mp4")
    second = legato(*compare, "--clips", copy, "--out", "second", env=environment)
    assert second.returncode == 0, second.stderr
    assert list((tmp_path / "cache/profiles").iterdir()) == [kept]
    assert kept.stat().st_mtime_ns == written


@pytest.mark.parametrize("content", [b"", b"not a video", bytes(2000)])
def test_what_is_no_video_is_refused_and_leaves_nothing(legato: Legato, tmp_path: Path, content: bytes):
    (tmp_path / "bad.mp4").write_bytes(content)
    environment = {**os.environ, "LEGATO_CACHE": str(tmp_path / "cache")}
    for command in (
        ["compare", "--controllers", "gcc", "--clips", "bad.mp4", "--out", "made"],
        ["profile", "bad.mp4", "--out", "made"],
    ):
        said = legato(*command, env=environment)
        assert said.returncode == 2
        assert said.stderr.startswith("error: ")
        assert "Traceback" not in said.stderr
    assert not (tmp_path / "made").exists()
    assert not list((tmp_path / "cache").rglob("*.safetensors*"))


def test_clips_are_named_by_file_glob_folder_and_shipped_name(tmp_path: Path):
    profile = shipped.profiles()[0]
    for name in ("b.safetensors", "a.safetensors", "with, comma.safetensors"):
        shutil.copyfile(profile, tmp_path / name)
    a, b, comma = (str(tmp_path / name) for name in ("a.safetensors", "b.safetensors", "with, comma.safetensors"))
    assert clips.profiles([f"{tmp_path}/?.safetensors"]) == [a, b]
    assert clips.profiles([f"{b},{a}"]) == [b, a]
    assert clips.profiles([comma]) == [comma]
    assert clips.profiles([tmp_path]) == [a, b, comma]
    assert Path(clips.profiles([profile.stem])[0]).resolve() == profile
    with pytest.raises(ProfileError, match=r"nothing\.mp4: no such clip file"):
        clips.profiles(["nothing.mp4"])
