"""The recipes of the shipped policies against their papers, and environments against the algorithms of others."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)


from legato.plan import shipped
from legato.train import recipe
from legato.train.recipes import clcc as clcc_recipe
from legato.train.recipes import nvc_cc as nvc_cc_recipe
from legato.train.recipes import nvc_cc_hybrid
from legato.train.schedule import at
from legato_studies.papers.clcc import setups
from legato_studies.papers.nvc_cc import hybrid as hybrid_sweeps
from legato_studies.papers.nvc_cc import study as nvc_cc
from legato_studies.papers.nvc_cc import sweeps
from legato_studies.recipes import clcc as clcc_printed
from legato_studies.recipes import nvc_cc as as_printed


def test_no_clip_is_both_trained_on_and_tested_on():
    assert not set(nvc_cc_recipe.TRAINING_CLIPS) & set(sweeps.CLIPS)
    assert not set(nvc_cc_hybrid.TRAINING_CLIPS) & set(hybrid_sweeps.CLIPS)


def test_nvc_cc_as_printed_trains_on_the_sizes_and_under_the_safeguard_that_are_tested():
    assert as_printed.HEIGHTS == sweeps.HEIGHTS
    assert as_printed.PICTURES_PER_S == sweeps.PICTURES_PER_S
    assert as_printed.ENVS % len(sweeps.HEIGHTS) == 0
    assert as_printed.SAFEGUARD == sweeps.SAFEGUARD_AS_PRINTED
    assert as_printed.START == {"limits.start_bps": sweeps.AURORA_START_BPS}
    # Convergence is compared: no learning rate is ahead of another.
    rates = {recipe.load(f"{name}-as-printed").settings.learning_rate for name in nvc_cc.POLICIES}
    assert len(rates) == 1
    calls = as_printed.calls(len(sweeps.HEIGHTS), "aurora", "aurora", config=as_printed.INTERVAL)
    calls.reset(seed=1)
    for _ in range(12):
        calls.step(np.zeros(calls.num_envs, np.float32))
    assert set(calls.intervals["frame_height"]) - {0.0} <= set(map(float, sweeps.HEIGHTS))
    # A round trip of 2 x (2 to 200) ms, where the link's own feedback is not slower.
    assert np.ptp(calls.intervals["interval_s"]) > 0.1
    calls.close()


@pytest.mark.parametrize(
    "name", (*nvc_cc.POLICIES, *(f"{name}-as-printed" for name in nvc_cc.POLICIES), "nvc-cc-hybrid")
)
def test_shipped_policies_are_of_their_recipes(name: str):
    trained = recipe.load(name)
    folder = shipped.policies_folder() / name
    manifest = tomllib.loads((folder / "policy.toml").read_text(encoding="utf-8"))
    assert manifest["action"]["map"] == trained.manifest["action"]["map"]
    assert manifest["trained"]["recipe"] == name
    assert manifest["observation"] == trained.manifest["observation"]
    assert [layer["name"] for layer in manifest["network"]["layers"]] == [layer["name"] for layer in trained.layers]
    assert nvc_cc.training_curves(name)
    assert (folder / "README.md").is_file()


def test_training_and_reproduction_share_no_clip():
    # [clcc] §III: a GRU between two layers, of 64 each, and a sigmoid; the state is Table I's.
    layers = recipe.load("clcc").layers
    assert [(layer["kind"], layer["outputs"]) for layer in layers] == [
        ("dense", 64),
        ("gru", 64),
        ("dense", 64),
        ("dense", 1),
    ]
    assert layers[-1]["activation"] == "sigmoid"

    printed, stricter = setups.SETUPS
    assert not set(clcc_printed.CLIPS) & set(printed.clips)
    assert not set(clcc_recipe.CLIPS) & {*printed.clips, *stricter.clips}


def test_clcc_as_printed_is_trained_with_table_ii_on_pictures_of_720_rows():
    # [clcc] Table II: three stages of 180 updates, of 15 epochs and 18,000 decisions each.
    settings = clcc_printed.PRINTED.settings
    assert settings.steps == 180 * 18_000
    assert settings.envs * settings.rollout == 18_000
    assert (settings.epochs, settings.clip, settings.adam_betas) == (15, 0.1, (0.9, 0.999))
    for update, noise, rate in ((0, 0.25, 3e-3), (50, 0.152, 3e-3), (60, 0.143, 3e-4), (120, 0.088, 3e-5)):
        assert at(settings.action_std, update / 180) == pytest.approx(noise, abs=1e-3)
        assert at(settings.learning_rate, update / 180) == rate
    assert at(settings.action_std, 1.0) == 0.01
    calls = clcc_printed.PRINTED.make_env(2)
    calls.reset(seed=1)
    for _ in range(20):
        calls.step(np.full(2, 1.0, np.float32))
    assert (calls.intervals["frame_height"] < 720).all()  # a call begins small
    assert (calls.intervals["target_bitrate_bps"] <= 2.5e6).all()
