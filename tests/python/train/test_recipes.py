"""The recipes of the shipped policies against their papers, and environments against the algorithms of others."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)

from stable_baselines3.common.env_checker import check_env

from legato.envs import CallEnv, CallVectorEnv
from legato.train import recipe


def test_a_quarter_of_the_calls_of_training_begin_fast_and_none_of_evaluation():
    trained = recipe.load("clcc")
    for env, fast in ((trained.make_env(12), 3), (trained.make_evaluation(), 0)):
        env.reset(seed=1)
        env.step(np.full(env.num_envs, 0.42, np.float32))
        target_bps = env.intervals["target_bitrate_bps"]
        assert ((target_bps > 1e6).sum(), (target_bps < 4e5).sum()) == (fast, env.num_envs - fast)


def test_hrccs_recipe_sees_ten_rows_and_begins_at_a_factor_of_one():
    trained = recipe.load("hrcc")
    calls = CallVectorEnv(1, scenario="clcc", controller="hrcc", reward="hrcc")
    seen = trained.manifest["observation"]
    # [hrcc]: six numbers of each of the last ten intervals; a gain of 2^(2a - 1).
    assert (calls.features, calls.feature_width, calls.history) == (seen["features"], seen["width"], seen["history"])
    assert calls.single_observation_space.shape == (60,)
    assert trained.layers[0]["kind"] == "conv1d"
    assert (trained.layers[-1]["activation"], trained.settings.initial_output) == ("sigmoid", 0.0)


@pytest.mark.parametrize("controller", ["nvc-cc", "onrl", "r3net", "hrcc"])
def test_stable_baselines_has_nothing_to_say(controller: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(CallEnv(controller=controller, duration_s=2.0))
