"""Recorded networks: which environment may see which file, and environments over them."""

from __future__ import annotations

import numpy as np
import pytest

from legato.envs import ReplayedVectorEnv
from legato.links import HELD_OUT, PATHS, TUNED, files, replayed
from legato.plan import shipped


def test_one_seed_draws_the_same_networks_and_another_draws_others():
    assert replayed.draw(HELD_OUT, 1, 6, 2) == replayed.draw(HELD_OUT, 1, 6, 2)
    assert replayed.draw(HELD_OUT, 1, 6, 2) != replayed.draw(HELD_OUT, 2, 6, 2)
    for network in replayed.draw(TUNED, 3, 30, 1):
        low, high = replayed.PROPAGATION_MS
        assert low <= network.options["forward.propagation_ms"] <= high
        assert replayed.QUEUE_MS[0] <= network.options["forward.queue.limit_ms"] <= replayed.QUEUE_MS[1]
        assert 0.0 <= network.options["forward.loss_ratio"] <= replayed.LOSS_RATIO[1]


def test_calls_over_recorded_networks_end_at_their_own_times_and_come_again_by_seed():
    def play(env: ReplayedVectorEnv) -> tuple[list[np.ndarray], np.ndarray]:
        env.reset(seed=5)
        seen, ended = [], np.zeros(env.num_envs, int)
        for step in range(30):
            obs, reward, terminated, truncated, info = env.step(np.full(env.num_envs, 0.1, np.float32))
            assert not terminated.any() and np.isfinite(reward).all()
            assert len(info["intervals"]) == env.num_envs
            seen.append(obs.copy())
            ended = np.where(truncated & (ended == 0), step, ended)
        return seen, ended

    env = ReplayedVectorEnv(6, TUNED, paths=3, traces_each=2, lte_traces_each=1, duration_s=(0.5, 1.2))
    seen, ended = play(env)
    # Two calls a path: those of one path end together, those of three do not.
    assert (ended > 0).all() and (ended[::2] == ended[1::2]).all() and len(set(ended)) > 1
    env.reset(seed=6)
    again, _ = play(env)
    assert all(np.array_equal(a, b) for a, b in zip(seen, again, strict=True))


def test_every_other_path_carries_frames_of_a_clip_and_the_networks_stay_what_they_were():
    clips = ("asl-night", "bunny")
    with_clips = replayed.draw(TUNED, 3, 6, 2, clips=clips)
    named = [network.options.get("video.clip") for network in with_clips]
    assert named[::2] == [None] * 3
    assert all(any(clip in str(name) for clip in clips) for name in named[1::2])
    assert "video.clip" not in replayed.draw(TUNED, 3, 6, 2)[1].options


def test_audio_tcp_and_recorded_delay_join_paths_that_stay_what_they_were():
    kinds = (replayed.NOTHING, replayed.AS_PRINTED)
    bare, whole = (replayed.draw(HELD_OUT, 3, 12, 2, beside=beside) for beside in kinds)
    for one, other in zip(bare, whole, strict=True):
        assert one.traces == other.traces and one.options.items() <= other.options.items()
        assert other.options["audio.bitrate_bps"] == replayed.AUDIO_BPS
    assert ["tcp" in network.options for network in whole] == [True, False, False] * 4
    assert ["forward.conditions.trace" in network.options for network in whole] == [False, True] * 6
    flows = [network.options["tcp"][0] for network in whole if "tcp" in network.options]
    assert all(0 <= flow["start_s"] <= 20 and flow["stop_s"] - flow["start_s"] == pytest.approx(10) for flow in flows)
    played = {network.options["forward.conditions.trace"] for network in whole[1::2]}
    assert played <= {shipped.trace_names()[path] for path in PATHS.of(files(replayed.CONDITIONS), HELD_OUT)}


def test_calls_are_steered_beside_tcp():
    """Two of six calls compete with a TCP flow, and receive less of their target; the others are the same."""
    beside = replayed.Beside(tcp_every=3, tcp_start_s=0.0)

    def received(beside: replayed.Beside) -> np.ndarray:
        env = ReplayedVectorEnv(6, TUNED, paths=3, traces_each=1, lte_traces_each=1, beside=beside)
        env.reset(seed=5)
        rates = np.zeros(6)
        for _ in range(160):
            *_, info = env.step(np.full(6, 0.5, np.float32))
            rates += info["intervals"]["receiver_rate_bps"]
        return rates

    alone, shared = received(replayed.NOTHING), received(beside)
    assert (shared[:2] < 0.99 * alone[:2]).all() and (shared[2:] == alone[2:]).all()
