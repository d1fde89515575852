"""A curriculum trains where the gap to a baseline is widest, and is taken up again with the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)

from legato.errors import TrainingError  # noqa: E402
from legato.train.curriculum import GapCurriculum, choose  # noqa: E402
from legato.train.ppo import Ppo  # noqa: E402
from legato.train.recipe import Situation  # noqa: E402
from legato.train.run import train  # noqa: E402
from test_train_run import PPO, recipe, same, weights  # noqa: E402
from toy_link import ToyLink, small_network  # noqa: E402

FAMILIES = {"calm": {"wander": 0.05}, "wild": {"wander": 0.6}}


def curriculum(baseline: dict[str, float], **how: Any) -> GapCurriculum:
    return GapCurriculum(FAMILIES, ToyLink(20), baseline.__getitem__, **how)


def situation(leg: int) -> Situation:
    actor = Ppo(ToyLink(PPO.envs), small_network(), PPO, 1).agent
    return Situation(share_done=0.1 * leg, leg=leg, seed=leg, actor=actor)


def test_the_family_with_the_widest_gap_is_promoted() -> None:
    one = curriculum({"calm": 0.9, "wild": 0.2}, promoted_ratio=1.0)
    assert one(situation(0)) is None, "there is no policy yet"
    assert one(situation(1)) == FAMILIES["calm"]
    assert one.gaps["calm"] > 0 > one.gaps["wild"] - 0.2
    assert one.promoted == ["calm"]


def test_where_the_policy_leads_everywhere_nothing_is_promoted() -> None:
    one = curriculum({"calm": -5.0, "wild": -5.0}, promoted_ratio=1.0)
    assert one(situation(1)) is None
    assert one.promoted == []


def test_later_promotions_weigh_more() -> None:
    """Shares of 0.3: the first has 0.7 * 0.3 of all, the second 0.3, so that it is chosen with 1/1.7 = 0.588."""

    class Chance:
        def choice(self, count: int, p: Any) -> int:
            assert p == pytest.approx([0.7 / 1.7, 1 / 1.7])
            return 1

    assert choose(["calm", "wild"], 0.3, Chance()) == "wild"


def test_a_killed_run_with_a_curriculum_ends_with_the_same_weights(tmp_path: Path) -> None:
    def made() -> Any:
        return recipe(curriculum=curriculum({"calm": 1.0, "wild": 0.99}, promoted_ratio=0.5), leg_rounds=4)

    class KilledError(Exception):
        pass

    def kill(progress: Any) -> None:
        if progress.steps_done > 0.7 * progress.steps:
            raise KilledError

    whole = made()
    train(whole, tmp_path / "whole")
    with pytest.raises(KilledError):
        train(made(), tmp_path / "killed", on_progress=kill)
    again = made()
    train(again, tmp_path / "killed", resume=True)
    assert again.curriculum.promoted == whole.curriculum.promoted != []
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "killed"))


def test_a_curriculum_of_nothing_is_refused() -> None:
    with pytest.raises(TrainingError, match="no families"):
        GapCurriculum({}, ToyLink(2), lambda name: 0.0)
