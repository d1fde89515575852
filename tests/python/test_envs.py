"""Environments: the requirements of Gymnasium and Stable-Baselines3, the returned values, and the hidden ones."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="environments need the extra [gym]")

from legato.envs import (  # noqa: E402
    CallVectorEnv,
    Intervals,
    rewards,
)
from legato.envs.intervals import COLUMNS  # noqa: E402
from legato.errors import Error  # noqa: E402

SHORT = {"duration_s": 2.0}


def test_gymnasium_has_nothing_to_say() -> None:
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*(not using the symmetric|Box observation space).*")
        check_env(gymnasium.make("legato/Call-v0", **SHORT).unwrapped, skip_render_check=True)


def play(calls: CallVectorEnv, steps: int, seed: int = 3) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    observation, _ = calls.reset(seed=seed)
    seen = [(observation.copy(), np.zeros(calls.num_envs), np.zeros(calls.num_envs, bool))]
    draws = np.random.default_rng(1)
    for _ in range(steps):
        observation, reward, _, truncated, _ = calls.step(draws.uniform(-0.2, 0.2, calls.num_envs))
        seen.append((observation.copy(), reward.copy(), truncated.copy()))
    return seen


def test_equal_seeds_give_equal_rollouts_whatever_the_threads() -> None:
    one, two = (play(CallVectorEnv(24, threads=threads, **SHORT), 60) for threads in (1, 2))
    for (a, b, c), (x, y, z) in zip(one, two, strict=True):
        assert np.array_equal(a, x) and np.array_equal(b, y) and np.array_equal(c, z)
    assert not np.array_equal(one[-1][0], play(CallVectorEnv(24, **SHORT), 60, seed=4)[-1][0])


def test_a_call_is_cut_off_and_tells_its_last_observation() -> None:
    calls = CallVectorEnv(4, **SHORT)
    calls.reset(seed=1)
    for _ in range(39):
        observation, _, terminated, truncated, info = calls.step(np.zeros(4))
        assert not terminated.any()
        last = truncated.all()
        assert last or not truncated.any()
    # 40 intervals of 50 ms, the first of which has no action: 39 steps.
    assert last
    assert not np.array_equal(info["final_obs"], observation)
    assert np.count_nonzero(observation) < np.count_nonzero(info["final_obs"]), "another call has only begun"


def test_what_is_true_is_in_no_observation() -> None:
    """The same packets on links that differ only later."""
    runs = []
    for later in ("3e5", "6e6"):
        options = {"forward.capacity": {"steps": [[0.0, 2_000_000], [1.5, int(float(later))]]}}
        calls = CallVectorEnv(1, "steady", options=options, **SHORT)
        runs.append((play(calls, 25), calls.intervals["true_capacity_ahead_bps"].copy()))
    assert runs[0][1] != runs[1][1]
    for (a, _, _), (b, _, _) in zip(runs[0][0], runs[1][0], strict=True):
        assert np.array_equal(a, b)


def test_rewards_are_what_their_papers_say() -> None:
    def interval(**values: float) -> Intervals:
        row = np.full((1, len(COLUMNS)), np.nan, np.float32)
        for name, value in values.items():
            row[0, COLUMNS.index(name)] = value
        return Intervals(row)

    # [r3net] §2.2: 0.6 ln(4 · 1 + 1) - 0.1 - 10 · 0.02
    given = interval(receiver_rate_bps=1e6, true_rtt_ms=100.0, true_loss_ratio=0.02)
    assert rewards.r3net(given)[0] == pytest.approx(0.6 * np.log(5.0) - 0.3, abs=1e-6)
    # [nvc-cc] eq. (2): 2.4 Mbit/s are 200 packets of 1,500 bytes: 10 · 200 - 1000 · 0.1 - 2000 · 0.01, over 1000
    given = interval(receiver_rate_bps=2.4e6, rtt_ms=100.0, loss_ratio=0.01, takeovers=1.0)
    assert rewards.aurora(given)[0] == pytest.approx(1.88, abs=1e-5)
    assert rewards.onrl(given)[0] == pytest.approx(0.88, abs=1e-5)
    # [nvc-cc] eq. (3): best picture, round trip doubled
    given = interval(true_shown_ssim_db=18.54, true_since_frame_ms=10.0, rtt_ms=80.0, min_rtt_ms=40.0)
    assert rewards.nvc_cc(given)[0] == pytest.approx(0.9, abs=1e-6)
    frozen = interval(true_shown_ssim_db=18.54, true_since_frame_ms=300.0, rtt_ms=40.0, min_rtt_ms=40.0)
    assert rewards.nvc_cc(frozen)[0] == 0.0
    # Half of the span between lowest and highest SSIM: 0.929, and 11.487 dB of 8.93 to 18.54.
    given = interval(true_shown_ssim_db=11.487, true_since_frame_ms=10.0, rtt_ms=40.0, min_rtt_ms=40.0)
    assert rewards.nvc_cc(given)[0] == pytest.approx(0.5, abs=1e-3)
    assert rewards.nvc_cc_db(given)[0] == pytest.approx(0.266, abs=1e-3)
    # The round trip is thirty times its minimum: a growth of 10 counts where it is bounded, 29 where it is not.
    given = interval(true_shown_ssim_db=18.54, true_since_frame_ms=10.0, rtt_ms=1200.0, min_rtt_ms=40.0)
    assert rewards.nvc_cc(given)[0] == pytest.approx(0.0, abs=1e-6)
    assert rewards.nvc_cc_uncapped(given)[0] == pytest.approx(-1.9, abs=1e-6)
    given = interval(true_shown_ssim_db=18.54, true_since_frame_ms=60.0, rtt_ms=40.0, min_rtt_ms=40.0)
    for decoded, reward in ((0.0, -1.0), (1.0, 1.0)):
        given.rows[0, COLUMNS.index("true_decoded_frames")] = decoded
        assert rewards.nvc_cc_idle(given)[0] == pytest.approx(reward, abs=1e-6)
    # [clcc] eq. (10), the score that [hrcc] was made for: half of the capacity, 150 ms, 10 % of loss, out of 70.
    given = interval(receiver_rate_bps=1e6, true_capacity_bps=2e6, delay_ms=150.0, loss_ratio=0.1)
    assert rewards.hrcc(given)[0] == pytest.approx((10.0 + 5.0 + 27.0) / 70.0, abs=1e-6)
    given = interval(receiver_rate_bps=3e6, true_capacity_bps=2e6, delay_ms=9000.0, loss_ratio=0.0)
    assert rewards.hrcc(given)[0] == pytest.approx((20.0 + 20.0 * (1.0 - 1.0 / 0.2) + 30.0) / 70.0, abs=1e-6)
    # [concerto] eq. (8): 100 ms and 15 dB
    given = interval(true_frame_delay_ms=100.0, true_shown_ssim_db=15.0, true_since_frame_ms=5.0)
    assert rewards.qoe_p(given)[0] == pytest.approx(-0.0639 + 0.933 + 3.30, abs=1e-5)


def test_rewards_with_memory_compare_an_interval_with_those_before() -> None:
    def interval(**values: float) -> Intervals:
        row = np.full((1, len(COLUMNS)), np.nan, np.float32)
        for name, value in values.items():
            row[0, COLUMNS.index(name)] = value
        return Intervals(row)

    # Half of the mean of 1 and 3 Mbit/s: 500 / 2 - 1000 x 0.1 - 2000 x 0.01, over 1000.
    aurora = rewards.named("aurora-relative")
    aurora(interval(receiver_rate_bps=1e6, true_capacity_bps=1e6, rtt_ms=100.0, loss_ratio=0.0))
    given = interval(receiver_rate_bps=1e6, true_capacity_bps=3e6, rtt_ms=100.0, loss_ratio=0.01)
    assert aurora(given)[0] == pytest.approx(0.25 - 0.1 - 0.02, abs=1e-6)
    # 50 x 2 - 50 x 0.1 - 10 x 0.5 - 30 x 1, over 100 (the delay in ms), less a takeover; the first
    # interval of a call changes nothing.
    onrl = rewards.named("onrl-own")
    quiet = {"delay_ms": 0.5, "loss_ratio": 0.1, "takeovers": 0.0}
    assert onrl(interval(receiver_rate_bps=1e6, **quiet))[0] == pytest.approx(0.4, abs=1e-6)
    assert onrl(interval(receiver_rate_bps=2e6, **quiet | {"takeovers": 1.0}))[0] == pytest.approx(-0.4, abs=1e-6)
    rewards.forget(onrl, np.ones(1, np.bool_))
    assert onrl(interval(receiver_rate_bps=1e6, **quiet))[0] == pytest.approx(0.4, abs=1e-6)


def test_what_cannot_be_is_refused_in_one_line() -> None:
    with pytest.raises(Error, match="controller gcc: takes no actions"):
        CallVectorEnv(1, controller="gcc")
    with pytest.raises(Error, match="no reward is named 'fame'"):
        CallVectorEnv(1, reward="fame")
    with pytest.raises(Error, match="num_envs = 0"):
        CallVectorEnv(0)
    with pytest.raises(Error, match="actions: 3 for 2 calls"):
        CallVectorEnv(2, **SHORT).step([0.0, 0.0, 0.0])
    with pytest.raises(TypeError, match="durations"):
        gymnasium.make_vec("legato/Call-v0", num_envs=2, durations=2.0)
