"""Environments side by side are the environments."""

from __future__ import annotations

import numpy as np
import pytest

from legato.envs import CallVectorEnv, JoinedVectorEnv, ReplayedVectorEnv
from legato.errors import Error
from legato.links import TUNED


def calls(count: int, generator: str, duration_s: float) -> CallVectorEnv:
    return CallVectorEnv(
        count, "r3net", "r3net", "r3net", options={"forward.capacity": {"generator": generator}}, duration_s=duration_s
    )


def parts() -> list[CallVectorEnv | ReplayedVectorEnv]:
    recorded = ReplayedVectorEnv(2, TUNED, paths=2, traces_each=1, lte_traces_each=1, duration_s=(0.7, 0.7))
    return [calls(3, "broad", 1.0), recorded, calls(1, "nvc-cc", 0.5)]


def test_each_part_plays_as_it_does_alone():
    joined, alone = JoinedVectorEnv(parts()), parts()
    assert joined.num_envs == 6
    seen, _ = joined.reset(seed=4)
    own = np.random.SeedSequence(4).generate_state(3)
    apart = [part.reset(seed=int(seed))[0] for part, seed in zip(alone, own, strict=True)]
    assert np.array_equal(seen, np.concatenate(apart))
    answers = np.linspace(0.02, 0.3, 6, dtype=np.float32)
    ended = np.zeros(6, int)
    for _ in range(25):
        seen, reward, terminated, truncated, info = joined.step(answers)
        steps = [
            part.step(answers[at]) for part, at in zip(alone, (slice(0, 3), slice(3, 5), slice(5, 6)), strict=True)
        ]
        for got, place in ((seen, 0), (reward, 1), (truncated, 3)):
            assert np.array_equal(got, np.concatenate([step[place] for step in steps]))
        assert np.array_equal(
            info["intervals"].rows, np.concatenate([s[4]["intervals"].rows for s in steps]), equal_nan=True
        )
        assert not terminated.any()
        ended += truncated
        for (_, _, _, cut, told), at in zip(steps, (slice(0, 3), slice(3, 5), slice(5, 6)), strict=True):
            if cut.any():
                assert np.array_equal(info["final_obs"][at][cut], told["final_obs"][cut])
                assert info["_final_obs"][at].tolist() == cut.tolist()
    assert ended.tolist() == [1, 1, 1, 1, 1, 2]


def test_a_seed_gives_the_same_calls_again_and_none_gives_others():
    env = JoinedVectorEnv(parts())

    def play(seed: int | None) -> np.ndarray:
        env.reset(seed=seed)
        return np.concatenate([env.step(np.full(6, 0.1, np.float32))[0].copy() for _ in range(10)])

    first = play(4)
    assert np.array_equal(first, play(4))
    assert not np.array_equal(first, play(None))


def test_two_parts_alike_play_different_calls_without_a_seed_too():
    env = JoinedVectorEnv([calls(2, "broad", 1.0), calls(2, "broad", 1.0)])
    env.reset()
    for _ in range(10):
        seen = env.step(np.full(4, 0.1, np.float32))[0]
    assert not np.array_equal(seen[:2], seen[2:])


def test_parts_that_see_different_things_are_refused():
    with pytest.raises(Error, match="parts: clcc and r3net have different observations or actions"):
        JoinedVectorEnv([calls(1, "broad", 1.0), CallVectorEnv(1, "clcc", "clcc", "clcc")])
    with pytest.raises(Error, match="parts: none given"):
        JoinedVectorEnv([])
    env = JoinedVectorEnv([calls(2, "broad", 1.0)])
    env.reset(seed=1)
    with pytest.raises(Error, match="actions: 3 for 2 calls"):
        env.step(np.zeros(3, np.float32))
