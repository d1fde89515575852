"""Rewards: one function per paper, from the figures of an interval to one number per call.

A reward is a function of :class:`~legato.envs.intervals.Intervals`, or an object that also has ``reset(begun)`` where
it has memory. Everything here is NumPy over all calls at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from legato.envs.clcc_reward import ClccReward
from legato.envs.intervals import Intervals
from legato.errors import Error

Array = NDArray[np.float32]


class Reward(Protocol):
    """What an environment calls after each step."""

    def __call__(self, intervals: Intervals) -> Array: ...


SSIM_DB_RANGE = (8.93, 18.54)
"""Lowest and highest quality in the loss-tolerant codec's published table, in dB."""
SSIM_RANGE = (0.872, 0.986)
"""The same as SSIM."""

HYBRID_MIN_SSIM_DB = 4.0
"""The lowest quality in the shipped profiles of the hybrid codec, at their lowest budget; the highest is 24 dB."""

_STALL_MS = 200.0


def frame_quality(intervals: Intervals) -> Array:
    """Quality of the picture shown, 0 to 1 within :data:`SSIM_RANGE`; 0 once no picture has come for 200 ms."""
    low, high = SSIM_RANGE
    ssim = 1.0 - np.power(10.0, -0.1 * _shown_ssim_db(intervals))
    return _unless_frozen(intervals, (ssim - low) / (high - low))


def frame_quality_db(intervals: Intervals) -> Array:
    """The same within :data:`SSIM_DB_RANGE`, where the gain of a doubled bitrate falls less."""
    low, high = SSIM_DB_RANGE
    return _unless_frozen(intervals, (_shown_ssim_db(intervals) - low) / (high - low))


def hybrid_frame_quality_db(intervals: Intervals) -> Array:
    """Quality of the hybrid codec's picture from :data:`HYBRID_MIN_SSIM_DB` on; 0 once no picture has come for 200 ms.

    A decibel is worth as much as in :func:`frame_quality_db`, so that quality is weighed against the latency alike: the
    best picture is worth 2.1, since real clips lie further apart than the published means.
    """
    low, high = SSIM_DB_RANGE
    frozen = intervals["true_since_frame_ms"] > _STALL_MS
    quality = np.maximum((_shown_ssim_db(intervals) - HYBRID_MIN_SSIM_DB) / (high - low), 0)
    return np.where(frozen, np.float32(0), quality).astype(np.float32)


def _shown_ssim_db(intervals: Intervals) -> Array:
    shown = intervals["true_shown_ssim_db"]
    return np.where(np.isnan(shown), np.float32(SSIM_DB_RANGE[0]), shown)


def _unless_frozen(intervals: Intervals, quality: Array) -> Array:
    frozen = intervals["true_since_frame_ms"] > _STALL_MS
    return np.where(frozen, np.float32(0), np.minimum(np.maximum(quality, 0), 1))


def latency_growth(intervals: Intervals) -> Array:
    """Round-trip time above its minimum, in units of that minimum (at least 10 ms), 0 to 10."""
    return np.minimum(uncapped_latency_growth(intervals), 10)


def uncapped_latency_growth(intervals: Intervals) -> Array:
    """The same without an upper bound: on a short path behind a long queue it can be a hundred."""
    base_ms, rtt_ms = intervals["min_rtt_ms"], intervals["rtt_ms"]
    base_ms = np.where(np.isnan(base_ms), np.float32(100), np.maximum(base_ms, 10))
    rtt_ms = np.where(np.isnan(rtt_ms), base_ms, rtt_ms)
    growth: Array = np.maximum((rtt_ms - base_ms) / base_ms, 0)
    return growth


def nvc_cc(intervals: Intervals) -> Array:
    """[nvc-cc] eq. (3), as in the authors' public code: quality minus a tenth of the latency's growth.

    The paper adds 0.1 of the latency "in ms", which would reward queues and drown the quality. Quality is SSIM, which
    [nvc-cc] §5.1 measures and only reports in dB.
    """
    return frame_quality(intervals) - np.float32(0.1) * latency_growth(intervals)


def nvc_cc_db(intervals: Intervals) -> Array:
    """[nvc-cc] eq. (3), with quality normalised in dB."""
    return frame_quality_db(intervals) - np.float32(0.1) * latency_growth(intervals)


def nvc_cc_hybrid_db(intervals: Intervals) -> Array:
    """[nvc-cc] eq. (3), with quality in dB of the hybrid codec."""
    return hybrid_frame_quality_db(intervals) - np.float32(0.1) * latency_growth(intervals)


def nvc_cc_seconds(intervals: Intervals) -> Array:
    """[nvc-cc] eq. (3), with the latency itself, in seconds: quality minus a tenth of the round-trip time."""
    return frame_quality(intervals) - np.float32(0.1) * intervals.seconds("rtt")


def nvc_cc_uncapped(intervals: Intervals) -> Array:
    """[nvc-cc] eq. (3), with the growth of the latency as it is, however large."""
    return frame_quality(intervals) - np.float32(0.1) * uncapped_latency_growth(intervals)


def nvc_cc_idle(intervals: Intervals) -> Array:
    """[nvc-cc] eq. (3), with a quality of -1 in a step that brings no new frame, as in the authors' public code."""
    quality = np.where(intervals["true_decoded_frames"] > 0, frame_quality(intervals), np.float32(-1))
    reward: Array = quality - np.float32(0.1) * latency_growth(intervals)
    return reward


def aurora(intervals: Intervals) -> Array:
    """[nvc-cc] eq. (2): a throughput - 1000 latency - 2000 loss, over 1000; a is 10 a packet of 1,500 bytes.

    That is 833 a Mbit/s, as [jay2019] has it. "120" a kbit/s, as printed, leaves nothing of latency and loss: it is 10
    times the 12 kbit of a packet, which should divide. The divisor is ours: it makes a good interval about one, and
    changes no optimum.
    """
    throughput = intervals.mbps("receiver_rate")
    value: Array = 10.0 / 0.012 * throughput - 1000.0 * intervals.seconds("rtt") - 2000.0 * intervals["loss_ratio"]
    return value * np.float32(1e-3)


def onrl(intervals: Intervals) -> Array:
    """[nvc-cc] eq. (2) for policies that learn under a safeguard: each of its interventions costs a penalty of one.

    [zhang2020] penalises a switch "heavily" and [nvc-cc] repeats it, without a number: one is the reward of a good
    interval.
    """
    return aurora(intervals) - intervals["takeovers"]


class AuroraRelative:
    """Aurora's reward as the public simulator of [nvc-cc]'s authors has it, over 1000: 500 times the share of the mean
    bandwidth that arrived, minus 1000 per second of delay, minus 2000 of loss.

    The mean bandwidth is that of the call so far.
    """

    def __init__(self) -> None:
        self._sum = np.zeros(0, np.float32)
        self._intervals = np.zeros(0, np.float32)

    def reset(self, begun: NDArray[np.bool_]) -> None:
        """Forget the calls that begin."""
        if len(self._sum) != len(begun):
            self._sum, self._intervals = np.zeros((2, len(begun)), np.float32)
        self._sum[begun], self._intervals[begun] = 0.0, 0.0

    def __call__(self, intervals: Intervals) -> Array:
        if len(self._sum) != len(intervals):
            self.reset(np.ones(len(intervals), np.bool_))
        self._sum += np.nan_to_num(intervals.mbps("true_capacity"))
        self._intervals += 1.0
        share = intervals.mbps("receiver_rate") * self._intervals / np.maximum(self._sum, 1e-3)
        value: Array = 500.0 * share - 1000.0 * intervals.seconds("rtt") - 2000.0 * intervals["loss_ratio"]
        return (value * 1e-3).astype(np.float32)


class OnrlOwn:
    """OnRL's reward, over 100, minus 1 for each takeover of its safeguard. It is 50 times the rate, minus 50 of loss,
    10 per ms of delay and 30 times the change of the rate; rates in Mbit/s.

    [zhang2020] weighs quality, loss, delay and change; weights and units are those of the public simulator of
    [nvc-cc]'s authors. The delay is that above the call's minimum: what a path takes anyway changes no choice.
    """

    def __init__(self) -> None:
        self._before = np.zeros(0, np.float32)

    def reset(self, begun: NDArray[np.bool_]) -> None:
        """Forget the calls that begin."""
        if len(self._before) != len(begun):
            self._before = np.full(len(begun), np.nan, np.float32)
        self._before[begun] = np.nan

    def __call__(self, intervals: Intervals) -> Array:
        if len(self._before) != len(intervals):
            self.reset(np.ones(len(intervals), np.bool_))
        rate = intervals.mbps("receiver_rate")
        change = np.abs(np.nan_to_num(rate - self._before))
        self._before = rate.copy()
        value: Array = 50.0 * rate - 50.0 * intervals["loss_ratio"] - 30.0 * change
        value -= 10.0 * np.nan_to_num(intervals["delay_ms"])
        return (value * 1e-2 - intervals["takeovers"]).astype(np.float32)


R3NET_LOSS_WEIGHT = 10.0


@dataclass(frozen=True)
class R3Net:
    """[r3net] §2.2: 0.6 ln(4 R + 1) - D - 10 L; receive rate in Mbit/s, round-trip time in s, loss ratio."""

    loss_weight: float = R3NET_LOSS_WEIGHT
    """Of L: another one is another place between using much and losing little."""

    def __call__(self, intervals: Intervals) -> Array:
        rate, lost = intervals.mbps("receiver_rate"), intervals["true_loss_ratio"]
        reward: Array = 0.6 * np.log(4.0 * rate + 1.0) - intervals.seconds("true_rtt") - self.loss_weight * lost
        return reward.astype(np.float32)


r3net = R3Net()


HRCC_DELAY_S = 0.2
"""A queue of this length costs as much as full utilisation gains."""
_HRCC_MAX_DELAY_S = 1.0


def hrcc(intervals: Intervals) -> Array:
    """An interval's share of the score that the grand challenge of 2021 judged by, for which [hrcc] was made.

    Its terms and weights are those of [clcc] eq. (10): utilisation, delay and loss by 20, 20 and 30. The reward of
    [hrcc] itself is not public. A call's largest delay, which the score refers to, is unknown before its end: 200 ms
    above the minimum replace it; delays count up to a second.
    """
    capacity = np.maximum(intervals["true_capacity_bps"], 1.0)
    utilisation = np.minimum(intervals["receiver_rate_bps"] / capacity, 1.0)
    delay = np.minimum(intervals.seconds("delay"), _HRCC_MAX_DELAY_S) / HRCC_DELAY_S
    score = 20.0 * utilisation + 20.0 * (1.0 - delay) + 30.0 * (1.0 - intervals["loss_ratio"])
    return (score / 70.0).astype(np.float32)


def qoe_p(intervals: Intervals) -> Array:
    """[concerto] eq. (8), Table 2: the score that favours quality; a second without picture is a delay of a second."""
    return _qoe(intervals, -6.39e-4, 6.22e-2, 3.30)


def qoe_d(intervals: Intervals) -> Array:
    """[concerto] eq. (8), Table 2: the score that favours low delay."""
    return _qoe(intervals, -1.92e-3, 1.01e-1, 2.67)


def _qoe(intervals: Intervals, a: float, b: float, c: float) -> Array:
    waiting_ms = intervals["true_since_frame_ms"]
    delay_ms = np.where(np.isnan(intervals["true_frame_delay_ms"]), waiting_ms, intervals["true_frame_delay_ms"])
    quality_db = np.nan_to_num(intervals["true_shown_ssim_db"])
    return (a * delay_ms + b * quality_db + c).astype(np.float32)


REWARDS: dict[str, Reward] = {
    "aurora": aurora,
    "hrcc": hrcc,
    "nvc-cc": nvc_cc,
    "nvc-cc-db": nvc_cc_db,
    "nvc-cc-hybrid-db": nvc_cc_hybrid_db,
    "nvc-cc-idle": nvc_cc_idle,
    "nvc-cc-seconds": nvc_cc_seconds,
    "nvc-cc-uncapped": nvc_cc_uncapped,
    "onrl": onrl,
    "qoe-d": qoe_d,
    "qoe-p": qoe_p,
    "r3net": r3net,
}
"""Rewards by name."""

WITH_MEMORY: dict[str, Callable[[], Reward]] = {
    "aurora-relative": AuroraRelative,
    "clcc": ClccReward,
    "onrl-own": OnrlOwn,
}
"""Rewards with memory of each call, by name: every environment has its own."""


def forget(reward: Reward, begun: NDArray[np.bool_]) -> None:
    """Have a reward that has memory forget the calls that begin."""
    if hasattr(reward, "reset") and begun.any():
        reward.reset(begun)


def named(reward: str | Reward) -> Reward:
    """A reward by name; anything else is returned as it is."""
    if not isinstance(reward, str):
        return reward
    if reward in WITH_MEMORY:
        return WITH_MEMORY[reward]()
    if reward not in REWARDS:
        raise Error(f"no reward is named '{reward}'", hint=f"there are: {', '.join(sorted({*REWARDS, *WITH_MEMORY}))}")
    return REWARDS[reward]
