"""Several agents on one link: what PettingZoo asks, that calls come and go, and that they feel each other."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="environments need the extra [gym]")
pytest.importorskip("pettingzoo", reason="several agents need the extra [gym]")

from legato.envs.shared_env import SharedCallsEnv
from legato.errors import Error

STAGGERED: dict[str, Any] = {"calls": [{}, {"start_s": 1.0, "name": "late"}, {"stop_s": 2.02}], "duration_s": 3.0}


def test_pettingzoo_has_nothing_to_say() -> None:
    from pettingzoo.test import parallel_api_test, parallel_seed_test

    def made() -> SharedCallsEnv:
        return SharedCallsEnv("steps", options=STAGGERED)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(made(), num_cycles=200)
        parallel_seed_test(made, num_cycles=50)


def test_agents_come_and_go_with_their_calls() -> None:
    env = SharedCallsEnv("steps", options=STAGGERED)
    assert env.possible_agents == ["call 1", "late", "call 3"]
    seen, _ = env.reset(seed=5)
    assert list(seen) == env.agents == ["call 1", "call 3"]
    steps = dict.fromkeys(env.possible_agents, 0)
    ended = []
    while env.agents:
        acted = list(env.agents)
        seen, earned, over, cut, infos = env.step({agent: np.zeros(1, np.float32) for agent in acted})
        for agent in acted:
            steps[agent] += 1
            assert infos[agent]["interval"]["target_bitrate_bps"] > 0
        for agent in set(seen) - set(acted):
            assert (agent, earned[agent], infos[agent]["interval"]) == ("late", 0.0, {})
        assert not any(over.values())
        ended += [agent for agent in acted if cut[agent]]
    assert ended == ["call 3", "call 1", "late"]
    assert steps == {"call 1": 59, "late": 39, "call 3": 40}


def rates(answers: dict[str, float]) -> dict[str, float]:
    env = SharedCallsEnv("steady", calls=2, duration_s=10.0)
    env.reset(seed=1)
    last: dict[str, float] = {}
    while env.agents:
        _, _, _, _, infos = env.step({agent: np.array([answers[agent]]) for agent in env.agents})
        last = {agent: info["interval"]["true_receiver_rate_bps"] for agent, info in infos.items()}
    return last


def test_who_pushes_takes_from_the_other() -> None:
    pushed = rates({"call 1": 0.05, "call 2": 0.0})
    assert pushed["call 1"] > 2 * pushed["call 2"] > 0


def test_what_cannot_be_steered_is_refused_in_one_line() -> None:
    with pytest.raises(Error, match=r"start_s = 1.01 is not a multiple of 50 ms"):
        SharedCallsEnv("steps", options={"calls": [{}, {"start_s": 1.01}]})
    with pytest.raises(Error, match="none is steered"):
        SharedCallsEnv("steps", options={"calls": [{"controller": {"name": "gcc"}}]})


def test_the_example_runs() -> None:
    example = Path(__file__).resolve().parents[2] / "examples" / "fair_share.py"
    ran = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, timeout=120, check=True)
    assert "Jain" in ran.stdout
