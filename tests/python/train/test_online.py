"""Learning in calls: the average, the effect of a warm-up, and that everything is the same twice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)

import torch

from legato.envs import CallVectorEnv
from legato.errors import TrainingError
from legato.plan import shipped
from legato.policy import policy_folder
from legato.train import online
from legato.train.ppo import Settings

POLICY = shipped.policies_folder() / "onrl"
PPO = Settings(envs=1, rollout=20, minibatch=20, epochs=2, learning_rate=1e-2)


def user(number: int) -> CallVectorEnv:
    options = {"forward.capacity": {"constant_bps": 1_000_000 * (number + 1)}}
    return CallVectorEnv(1, "nvc_cc", "onrl", "onrl", options=options, safeguard={}, duration_s=2.0, threads=1)


def settings(**changes: object) -> online.OnlineSettings:
    return replace(online.OnlineSettings(users=2, calls=2, rounds_a_call=1, ppo=PPO), **changes)


def weights(folder: Path) -> dict[str, np.ndarray]:
    return policy_folder.read(folder)[2]


def test_users_learn_share_and_end_with_one_policy_that_loads(tmp_path: Path):
    learned = [online.learn_online(POLICY, user, tmp_path / name, settings()) for name in ("a", "b")]
    assert [(each.call, each.user) for each in learned[0].calls] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert learned[0].calls == learned[1].calls
    before, after = weights(POLICY), weights(tmp_path / "a" / "policy")
    assert any(not np.array_equal(before[name], after[name]) for name in before)
    assert all(np.array_equal(after[name], tensor) for name, tensor in weights(tmp_path / "b" / "policy").items())
    lines = (tmp_path / "a" / online.PROGRESS).read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0])["frozen_reward"] == learned[0].calls[0].frozen_reward
    assert len(learned[0].gain(0, 1)) == 2


def test_a_policy_stays_as_it_is_while_its_critic_warms_up(tmp_path: Path):
    online.learn_online(POLICY, user, tmp_path, settings(warm_up_calls=2))
    for name, tensor in weights(POLICY).items():
        np.testing.assert_allclose(weights(tmp_path / "policy")[name], tensor, rtol=1e-6)


def test_a_user_alone_learns_otherwise(tmp_path: Path):
    both = online.learn_online(POLICY, user, tmp_path / "both", settings(calls=3, warm_up_calls=0))
    alone = online.learn_online(POLICY, user, tmp_path / "alone", settings(calls=3, warm_up_calls=0, federated=False))
    rewards = [[each.reward for each in of.calls] for of in (both, alone)]
    assert rewards[0][:2] == rewards[1][:2]
    assert rewards[0][2:] != rewards[1][2:]


def test_sharing_is_the_mean_of_all_weights():
    first, second = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
    for layer, value in ((first, 1.0), (second, 4.0)):
        layer.load_state_dict({"weight": torch.full((1, 1), value), "bias": torch.full((1,), -value)})
    online.share([first, second])
    for layer in (first, second):
        assert (float(layer.weight.detach()), float(layer.bias.detach())) == (2.5, -2.5)


def test_networks_of_users_and_calls_are_independent():
    seeds = {online.call_seed(1, user, call) for user in range(8) for call in range(8)}
    assert len(seeds) == 64
    assert online.call_seed(1, 2, 3) != online.call_seed(2, 2, 3)


def test_a_folder_in_use_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TrainingError, match="is not empty"):
        online.learn_online(POLICY, user, tmp_path, settings())
