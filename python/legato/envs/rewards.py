"""Rewards: one function a paper, from what an interval came to, to one number a call.

A reward is a function of :class:`~legato.envs.intervals.Intervals`, or an object with ``reset(calls)`` where it
remembers something. Everything here is NumPy over all calls at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from legato.envs.clcc_reward import ClccReward
from legato.envs.intervals import Intervals
from legato.errors import Error

Array = NDArray[np.float32]


class Reward(Protocol):
    """What an environment asks after each step."""

    def __call__(self, intervals: Intervals) -> Array: ...


SSIM_DB_RANGE = (8.93, 18.54)
"""Least and greatest quality of the loss-tolerant codec's published table: SSIM 0.872 and 0.986."""

_STALL_MS = 200.0


def frame_quality(intervals: Intervals) -> Array:
    """Quality of what is shown, 0 to 1: 0 while no picture has come for 200 ms."""
    low, high = SSIM_DB_RANGE
    quality = np.clip((np.nan_to_num(intervals["true_shown_ssim_db"], nan=low) - low) / (high - low), 0.0, 1.0)
    return np.where(intervals["true_since_frame_ms"] > _STALL_MS, 0.0, quality).astype(np.float32)


def nvc_cc(intervals: Intervals) -> Array:
    """[nvc-cc] eq. (3), as the authors' public code has it: quality less a tenth of how much latency grew.

    The paper adds 0.1 of the latency "in ms", which would reward queues and drown the quality. Read so: latency is
    the round-trip time above its least, in units of the least (no less than 10 ms, and 10 at most).
    """
    base_ms = np.maximum(np.nan_to_num(intervals["min_rtt_ms"], nan=100.0), 10.0)
    rtt_ms = np.nan_to_num(intervals["rtt_ms"], nan=0.0)
    growth = np.clip((rtt_ms - base_ms) / base_ms, 0.0, 10.0)
    return (frame_quality(intervals) - 0.1 * growth).astype(np.float32)


def nvc_cc_seconds(intervals: Intervals) -> Array:
    """[nvc-cc] eq. (3), the other reading: quality less a tenth of the round-trip time in seconds."""
    return (frame_quality(intervals) - 0.1 * intervals.seconds("rtt")).astype(np.float32)


def aurora(intervals: Intervals) -> Array:
    """[nvc-cc] eq. (2): 120 throughput - 1000 latency - 2000 loss, over 300.

    Throughput "in kbps" would drown the rest three hundredfold; in Mbit/s the three weigh alike. The divisor is
    ours: it makes a good interval about one, and changes no optimum.
    """
    throughput = intervals.mbps("receiver_rate")
    value = 120.0 * throughput - 1000.0 * intervals.seconds("rtt") - 2000.0 * intervals["loss_ratio"]
    return (value / 300.0).astype(np.float32)


def r3net(intervals: Intervals) -> Array:
    """[r3net] §2.2: 0.6 ln(4 R + 1) - D - 10 L; receive rate in Mbit/s, round-trip time in s, loss ratio."""
    rate = intervals.mbps("receiver_rate")
    reward = 0.6 * np.log(4.0 * rate + 1.0) - intervals.seconds("true_rtt") - 10.0 * intervals["true_loss_ratio"]
    return reward.astype(np.float32)


def qoe_p(intervals: Intervals) -> Array:
    """[concerto] eq. (8), Table 2: the score that minds the picture; a second without one is a delay of a second."""
    return _qoe(intervals, -6.39e-4, 6.22e-2, 3.30)


def qoe_d(intervals: Intervals) -> Array:
    """[concerto] eq. (8), Table 2: the score that minds delay."""
    return _qoe(intervals, -1.92e-3, 1.01e-1, 2.67)


def _qoe(intervals: Intervals, a: float, b: float, c: float) -> Array:
    waiting_ms = intervals["true_since_frame_ms"]
    delay_ms = np.where(np.isnan(intervals["true_frame_delay_ms"]), waiting_ms, intervals["true_frame_delay_ms"])
    quality_db = np.nan_to_num(intervals["true_shown_ssim_db"])
    return (a * delay_ms + b * quality_db + c).astype(np.float32)


REWARDS: dict[str, Callable[[Intervals], Array]] = {
    "aurora": aurora,
    "nvc-cc": nvc_cc,
    "nvc-cc-seconds": nvc_cc_seconds,
    "qoe-d": qoe_d,
    "qoe-p": qoe_p,
    "r3net": r3net,
}
"""Rewards by name."""

REMEMBERING: dict[str, Callable[[], Reward]] = {
    "clcc": ClccReward,
}
"""Rewards that remember something of each call, by name: every environment has one of its own."""


def named(reward: str | Reward) -> Reward:
    """A reward by name; anything else is one already."""
    if not isinstance(reward, str):
        return reward
    if reward in REMEMBERING:
        return REMEMBERING[reward]()
    if reward not in REWARDS:
        raise Error(f"no reward is called '{reward}'", hint=f"there are: {', '.join(sorted({*REWARDS, *REMEMBERING}))}")
    return REWARDS[reward]
