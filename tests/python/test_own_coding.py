"""Clips are measured at their full height, and one that was compressed before is named as such."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from fixtures import Legato
from legato import _core
from legato.errors import DataWarning

av = pytest.importorskip("av", reason="PyAV is not installed: pip install legato-rtc[profile]")
if not hasattr(_core, "picture_quality"):
    pytest.skip("the native module was built without the encoders", allow_module_level=True)

from legato.profile import measure, own_coding, profile_clip  # noqa: E402
from legato.profile.clip import Clip, read_clip  # noqa: E402
from legato.profile.tables import LEVELS, X264Stream, fps_text  # noqa: E402
from legato.profile.x264 import X264  # noqa: E402


def source(path: Path, crf: int, height: int = 96) -> Path:
    """A second of blurred noise with a disc that moves over it, coded by x264."""
    random = np.random.default_rng(1)
    width = height * 4 // 3
    rough = random.normal(0, 40, (height, width))
    smooth = sum(np.roll(rough, (y, x), (0, 1)) for y in range(3) for x in range(3)) / 9
    rows, columns = np.mgrid[:height, :width]
    with av.open(str(path), "w") as container:
        options = {"crf": str(crf), "preset": "medium"}
        stream = container.add_stream(
            "libx264", rate=25, width=width, height=height, pix_fmt="yuv420p", options=options
        )
        for number in range(25):
            picture = 128 + smooth + random.normal(0, 2, smooth.shape)
            picture[(rows - height / 2) ** 2 + (columns - 20 - 2 * number) ** 2 < 300] = 220
            plane = np.repeat(picture.clip(16, 235).astype(np.uint8)[..., None], 3, axis=2)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(plane, format="rgb24")))
        container.mux(stream.encode())
    return path


def like_qp(path: Path) -> float:
    """What the profile would say of a source, by x264 alone."""
    clip, library = read_clip(path), X264()
    full = clip.pictures(clip.source_height)
    sizes = []
    for qp in LEVELS:
        stream = X264Stream(library, full, fps_text(clip), qp)
        sizes.append(np.mean([stream.encode(full, index)[0] for index in range(len(clip.frames))]))
    return own_coding.found(clip, full, {"x264": np.array(sizes)}, LEVELS)["like_qp"]


def test_how_finely_a_source_is_coded_is_measured(tmp_path: Path) -> None:
    """x264's constant rate factor is nearly the quantiser it takes."""
    found = [like_qp(source(tmp_path / f"{crf}.mp4", crf)) for crf in (16, 24, 32)]
    assert found == sorted(found)
    for like, crf in zip(found, (16, 24, 32), strict=True):
        assert like == pytest.approx(crf, abs=4)


@pytest.mark.parametrize(
    ("rows", "heights"),
    [
        (144, [144]),
        (288, [180, 288]),
        (480, [180, 270, 360, 480]),
        (720, [180, 270, 360, 540, 720]),
        (1080, [180, 270, 360, 540, 720, 1080]),
        (2160, [180, 270, 360, 540, 720, 1080]),
    ],
)
def test_the_ladder_goes_up_to_the_sources_own_height(rows: int, heights: list[int]) -> None:
    clip = Clip("clip", 30, rows * 16 // 9, rows, [], [], "loop", 0.0)
    assert measure._ladder(clip, None) == heights


def profiled(path: Path, **how: object) -> tuple[list[int], list[str]]:
    """Heights of a clip's profile, and the warnings."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", DataWarning)
        out = profile_clip(path, path.with_suffix(".safetensors"), encoders=["x264"], **how)
    return _core.profile_heights(str(out)), [str(one.message) for one in said if one.category is DataWarning]


def test_a_source_that_was_compressed_before_is_named(tmp_path: Path) -> None:
    coarse = source(tmp_path / "coarse.mp4", 34)
    heights, said = profiled(coarse)
    assert heights == [96]
    assert len(said) == 1
    assert said[0].startswith("coarse.mp4: its own coding shows: ") and "--height 48 or less" in said[0]
    assert profiled(coarse, heights=[48]) == ([48], []), "reduced to half, its coding is averaged away"
    assert profiled(source(tmp_path / "fine.mp4", 12)) == ([96], [])


def test_the_command_line_says_the_sizes_and_the_warning_of_a_kept_profile_too(legato: Legato, tmp_path: Path) -> None:
    source(tmp_path / "coarse.mp4", 34)
    environment = {**os.environ, "LEGATO_CACHE": str(tmp_path / "cache")}
    compare = ("compare", "--controllers", "gcc", "--clips", "coarse.mp4", "--duration-s", "1", "--no-report")
    first, second = (legato(*compare, "--out", out, env=environment).stderr for out in ("first", "second"))
    assert "coarse.mp4 is measured at 96 of 96 rows" in first and "is measured" not in second
    for said in (first, second):
        assert "warning: coarse.mp4: its own coding shows: " in said
