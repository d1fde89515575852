"""The hybrid codec's profile: measured on a clip, read by the models, and true to the codec;
docs/measured/codec-truth.md.
"""

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
from legato_studies.codecs import hybrid_fit, hybrid_truth

CLIP = Path(__file__).resolve().parents[2] / "data/clips/yes.mkv"
HEIGHT, FRAMES = 96, 45


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hybrid") / "yes.safetensors"
    return profile_clip(CLIP, path, encoders=["hybrid"], heights=[HEIGHT], longest_frames=FRAMES)


def test_the_model_has_the_codecs_sizes_and_pictures(profile: Path) -> None:
    found = hybrid_truth.verdicts(CLIP, profile, height=HEIGHT, seeds=1, frames=FRAMES)
    print(hybrid_truth.table(found))
    for verdict in found:
        assert verdict.size_error_ratio <= 0.05, verdict
        # A clip of 1.5 s at few pixels: the figures of docs/measured/codec-truth.md are of longer ones.
        assert abs(verdict.mean_error_db) <= (0.5 if verdict.loss_ratio < 0.5 else 1.0), verdict
        if verdict.loss_ratio == 0.0:
            assert verdict.floor_high_db == 0.0
        else:
            assert 0.0 < verdict.floor_low_db < verdict.floor_high_db < verdict.pair_db, verdict


def test_what_chance_explains_worked_by_hand() -> None:
    # From their median 1: 1, 0 and 2. From the median of the others: 2, 0.5 and 2.5. Pairs: 1, 3 and 2.
    found = hybrid_truth.chance(np.array([[0.0], [1.0], [3.0]]))
    assert (found.low_db, found.high_db, found.pair_db) == (1.0, pytest.approx(5 / 3), 2.0)


def test_as_many_packets_are_lost_and_others() -> None:
    choices = [hybrid_truth.as_many([3, 0, 2, 4], (1, draw)) for draw in range(9)]
    drawn = [[tuple(choice(at, 4)) for at in range(4)] for choice in choices]
    assert all([len(set(kept)) for kept in one] == [3, 0, 2, 4] for one in drawn)
    assert len({one[2] for one in drawn}) > 1 and all(kept == tuple(sorted(kept)) for one in drawn for kept in one)


def test_the_best_share_worked_by_hand() -> None:
    # The mean square of (share - 0.5), (share - 0.7) and (share - 0.9) is smallest at 0.7: (0.04 + 0.04) / 3.
    errors = {name: (hybrid_fit.SHARES - best) ** 2 for name, best in (("a", 0.5), ("b", 0.7), ("c", 0.9))}
    assert hybrid_fit.report(errors).splitlines() == [
        "LATER = 0.70: 0.027 dB",
        "without a: 0.80, 0.010 dB",
        "without b: 0.70, 0.040 dB",
        "without c: 0.60, 0.010 dB",
    ]


def test_a_share_is_fitted_in_the_model(profile: Path) -> None:
    targets, came = np.full(60, 200_000), [1 if 10 <= frame < 30 else 64 for frame in range(60)]

    def shown(later_ratio: float | None) -> list[float]:
        return hybrid_truth.modelled(profile, HEIGHT, targets, came, later_ratio=later_ratio)[1].tolist()

    # The more of the reported damage is left, the worse is the picture.
    fast, own, slow = shown(0.0), shown(None), shown(1.0)
    assert fast[:13] == own[:13] == slow[:13] and fast[30] > own[30] > slow[30]
    with pytest.raises(ProfileError, match=r"later_ratio 1.5: must be in \[0, 1\]"):
        shown(1.5)


def test_damage_lasts_until_it_is_reported(profile: Path) -> None:
    def shown(report_after: int) -> list[float]:
        model, damage = _core.HybridModel(str(profile), HEIGHT), []
        for frame in range(40):
            if frame >= report_after:
                model.report(frame - report_after, 1 if frame - report_after == 20 else 64)
            _, packets, _, clean = model.encode(200_000)
            seen = model.decode(frame, 1 if frame == 20 else packets)
            assert clean is not None and seen is not None
            damage.append(clean - seen)
        return damage

    soon, late = shown(2), shown(10)
    assert max(soon[:20]) == max(late[:20]) == 0.0 and soon[20] == late[20] > 0.3
    assert soon[22] < 0.9 * late[22] and late[29] > late[30] and sum(soon) < 0.8 * sum(late)
