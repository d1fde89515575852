"""The hybrid codec's measurement: its result on a short clip, and where the codec must hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("av", reason="measuring needs the extra 'profile'")
from legato import _core
from legato.errors import ProfileError

if not hasattr(_core, "picture_quality"):
    pytest.skip("the native module was built without the encoders", allow_module_level=True)
from legato.profile.clip import read_clip
from legato_studies.codecs import adaptive
from legato_studies.codecs.hybrid import Row, _hybrid, tables, windows
from legato_studies.codecs.measured import Parts, Values, codec_mark
from legato_studies.codecs.reports import LOSSES, Sender, choices, reported_db

CLIP = Path(__file__).parents[2] / "data" / "clips" / "lrwp9a.mpg"


@pytest.fixture(scope="module")
def measured() -> dict[str, float]:
    clip = read_clip(CLIP, longest_frames=32)
    pictures = clip.pictures(144)
    return {row.figure: row.value for row in _hybrid(clip, pictures, 300, "test", 600.0, 6, 1)}


def test_more_loss_is_less_quality(measured: dict[str, float]) -> None:
    # The tolerance covers chance: which packets are lost differs.
    assert measured["loss 0.0"] > measured["loss 0.2"] - 0.2 > measured["loss 0.8"]
    assert measured["loss 0.8"] > 5


def test_frames_have_the_bytes_of_their_budget(measured: dict[str, float]) -> None:
    assert measured["within 5 %"] >= 0.95


def test_after_a_report_both_ends_show_the_same(measured: dict[str, float]) -> None:
    # The hit frame and two more: the report comes before the fourth.
    assert measured["frames of other pixels than the sender's"] == 3


def test_an_adaptive_sender_adds_copies_where_much_is_lost_and_none_where_nothing_is() -> None:
    pictures = read_clip(CLIP, longest_frames=32).pictures(144)
    fixed, adaptive = Sender(4, 0), Sender(4, None)
    assert reported_db(pictures, 1500, adaptive, "lasting", 0.0) == reported_db(pictures, 1500, fixed, "lasting", 0.0)
    assert reported_db(pictures, 1500, adaptive, "lasting", 0.5) != reported_db(pictures, 1500, fixed, "lasting", 0.5)
    # 640x360 has 920 macroblocks, so a copy is worth 616 lost bytes: 49 % of 1250, 18 % of 3333.
    assert choices() == [0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 1, 1, 1, 2]


def test_windows_lie_within_the_clip_and_apart() -> None:
    clip = read_clip(CLIP, longest_frames=32)
    pictures = clip.pictures(96)
    firsts = windows(10 + 11 * 10)
    assert np.diff([0, *firsts]).min() >= 10 and firsts[-1] + 10 <= 10 + 11 * 10
    # A short clip has no room for ten: they overlap evenly, and each draws different losses.
    short = windows(len(pictures.luma))
    apart = np.diff(short)
    assert len(short) == 10 and apart.min() >= 1 and apart.max() - apart.min() <= 1
    assert short[0] >= 10 and short[-1] + 10 <= len(clip.order)


def test_a_part_is_that_of_its_clip_frames_and_codec(tmp_path: Path) -> None:
    mark = codec_mark("settings")
    assert mark == codec_mark("settings") != codec_mark("other settings")
    parts = Parts(tmp_path / "parts", 50, mark)
    assert parts.read("clip") is None
    parts.keep("clip", [{"figure": "loss 0.1", "value": 12.5}])
    assert parts.read("clip") == [{"figure": "loss 0.1", "value": 12.5}]
    assert parts.read("other") is None
    assert Parts(tmp_path / "parts", 51, mark).read("clip") is None
    assert Parts(tmp_path / "parts", 50, codec_mark("other settings")).read("clip") is None


def test_tables_compare_each_clip_with_itself() -> None:
    rows = [Row(clip, 300, codec, "loss 0.1", value) for clip, codec, value in _PAIRS]
    values = Values(rows)
    assert values.above(300, ("a", "loss 0.1"), ("b", "loss 0.1")).startswith("1.00")
    assert tables(values)[-1].title == "Other figures"


def test_senders_that_hear_are_compared_with_the_default_without_loss() -> None:
    values = {"4 packets": {0.0: 17.0, 0.5: 13.5}, "adaptive": {0.5: 14.25}}
    rows = [
        Row("one", 800, name, f"lasting {loss}", db) for name, found in values.items() for loss, db in found.items()
    ]
    own, below = [section for section in adaptive.tables(Values(rows)) if section.title.startswith("800")]
    shown = [next(row for row in of.rows if row[:2] == ["lasts", "adaptive"]) for of in (own, below)]
    at = 2 + LOSSES.index(0.5)
    assert [row[at] for row in shown] == ["14.25", "2.75"]


_PAIRS = [("one", "a", 9.0), ("two", "a", 19.0), ("one", "b", 8.0), ("two", "b", 18.0)]


def test_pictures_and_choices_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ProfileError, match="31x32"):
        _core.HybridEncoder(31, 32)
    encoder = _core.HybridEncoder(32, 32)
    with pytest.raises(ProfileError, match="bytes"):
        encoder.encode(b"short", budget_bytes=100)
    with pytest.raises(ProfileError, match="either budget_bytes or quantiser"):
        encoder.encode(bytes(32 * 48))
    with pytest.raises(ProfileError, match="packet"):
        _core.HybridDecoder().decode([encoder.encode(bytes(32 * 48), quantiser=90)[1][0][:3] + b"x"])
