"""The codecs that predict from what the receiver has acknowledged, as docs/concepts/hybrid-codec.md compares them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("av", reason="measuring needs the extra 'profile'")

from legato import _core
from legato.errors import Error
from legato.profile.clip import Clip, Pictures, read_clip
from legato_studies.codecs.acknowledged import ANSWERS, HYBRIDS, KBPS, OURS, VPX, libvpx, openh264, tables
from legato_studies.codecs.measured import Row, Values
from legato_studies.codecs.reports import LOSSES

CLIP = Path(__file__).resolve().parents[2] / "data" / "clips" / "yes.mkv"
BUDGET_BYTES = 600.0


@pytest.fixture(scope="module")
def clip() -> tuple[Clip, Pictures]:
    read = read_clip(CLIP, longest_frames=60)
    return read, read.pictures(180)


def test_references_heal_what_no_report_leaves_broken(clip: tuple[Clip, Pictures]) -> None:
    no_reports, key_frames, references = (openh264(*clip, BUDGET_BYTES, answer, 0.2) for answer in ANSWERS)
    assert references["ssim_db"] > no_reports["ssim_db"] + 1.0
    assert references["kbps"] < key_frames["kbps"]


@pytest.mark.parametrize("codec", VPX)
def test_vp8_and_vp9_lose_pictures_and_not_the_stream(clip: tuple[Clip, Pictures], codec: str) -> None:
    try:
        clean, lossy = (libvpx(*clip, BUDGET_BYTES, codec, loss) for loss in (0.0, 0.2))
    except Error as error:
        pytest.skip(str(error))
    assert 0.7 < clean["kbps"] / (BUDGET_BYTES * 8 * float(clip[0].fps) / 1000) < 1.3
    assert clean["packets"] == pytest.approx(1.0, abs=0.2)
    assert 3.0 < lossy["ssim_db"] < clean["ssim_db"] - 0.5


def test_only_vp8_and_vp9_are_libvpxs() -> None:
    with pytest.raises(Error, match="codec av1: one of vp8, vp9 is needed"):
        _core.ResilientVpx("av1", 160, 96, 30.0, 100_000)


def test_differences_are_taken_clip_by_clip() -> None:
    """Legato's codec is 1 and 2 dB above the other on two clips."""
    names = ["other", *HYBRIDS]
    levels = {"other": (10.0, 20.0), OURS: (11.0, 22.0)}
    rows = [
        Row(clip, kbps, name, f"{figure} {loss}", value)
        for kbps in KBPS
        for name in names
        for loss in LOSSES
        for clip, value in zip("ab", levels.get(name, (0.0, 0.0)), strict=True)
        for figure in ("ssim_db", "kbps", "slices")
    ]
    of_kbps = tables(Values(rows))
    assert of_kbps[1].title == f"{KBPS[0]} kbit/s, dB of *{OURS}* above them, clip by clip"
    assert of_kbps[1].rows[0][:3] == ["other", "1.50", "1.50"]
