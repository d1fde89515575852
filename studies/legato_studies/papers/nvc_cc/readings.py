"""[nvc-cc] Fig. 10's rewards under several readings of eq. (3), by policies that are trained already.

Eq. (3) adds a tenth of the latency to a quality that is normalised by "the frame's minimum and maximum possible
quality". The stand-in prices all frames by one table, so each frame has the range of the table. Three points remain
open: whether quality is SSIM or its decibels, whether the latency's growth has a bound, and the value of a step without
a new frame. Each policy plays the same calls once, and every reading judges them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legato import _core
from legato.plan import shipped
from legato.results.stats import Estimate, grouped_mean, of_groups
from legato_studies.papers.nvc_cc.sweeps import CLIPS, HEIGHTS, PICTURES_PER_S, SAFEGUARD_AS_PRINTED, SCENARIO

READINGS = {
    "SSIM": "nvc-cc",
    "decibels": "nvc-cc-db",
    "growth of latency unbounded": "nvc-cc-uncapped",
    "−1 without a new frame": "nvc-cc-idle",
}
"""What each reading is called, and its reward."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Contestant:
    """A shipped policy, and how it is run."""

    policy: str
    controller: str
    config: Mapping[str, Any] = field(default_factory=dict)
    safeguard: Mapping[str, Any] | None = None
    start_bps: int | None = None


AS_TRAINED_HERE = (
    Contestant("nvc-cc", "nvc-cc"),
    Contestant("aurora", "aurora"),
    Contestant("onrl", "onrl", safeguard={}),
)
AS_PRINTED = (
    Contestant("nvc-cc-as-printed", "nvc-cc"),
    Contestant("aurora-as-printed", "aurora", {"interval_rtt_factor": 1.0}, start_bps=2_400_000),
    Contestant("onrl-as-printed", "onrl", safeguard=SAFEGUARD_AS_PRINTED),
)

CALLS_A_HEIGHT = 3
"""Of each height: with 19 of them, 57 networks."""


def judged(
    contestants: Sequence[Contestant],
    *,
    heights: Sequence[int] = HEIGHTS,
    duration_s: float | None = None,
    seed: int = 1,
) -> dict[str, dict[str, Array]]:
    """Each policy's reward by reading, a figure per call: the mean over time. All meet the same calls."""
    found: dict[str, dict[str, list[Array]]] = {each.policy: {} for each in contestants}
    for each in contestants:
        for place, height in enumerate(heights):
            for reading, rewards in _played(each, height, duration_s, 1_000 * seed + place).items():
                found[each.policy].setdefault(reading, []).append(rewards)
    return {
        policy: {reading: np.concatenate(parts) for reading, parts in by_reading.items()}
        for policy, by_reading in found.items()
    }


def _played(who: Contestant, height: int, duration_s: float | None, seed: int) -> dict[str, Array]:
    """One call on each of some networks."""
    from legato.envs import CallVectorEnv, rewards

    options: dict[str, Any] = {
        "forward.capacity": {"generator": "nvc-cc-authors"},
        "sender.pad_to_target": True,
        "video.standin_height": height,
        "video.clip_fps": PICTURES_PER_S,
    }
    if who.start_bps is not None:
        options["limits.start_bps"] = who.start_bps
    how: dict[str, Any] = {"options": options, "clips": CLIPS, "config": who.config, "safeguard": who.safeguard}
    env = CallVectorEnv(CALLS_A_HEIGHT, SCENARIO, who.controller, "nvc-cc", duration_s=duration_s, **how)
    folder = shipped.policies_folder() / who.policy
    text, weights = (folder / "policy.toml").read_text(encoding="utf-8"), (folder / "weights.safetensors").read_bytes()
    policies = [_core.Policy(text, weights) for _ in range(CALLS_A_HEIGHT)]
    totals = {reading: np.zeros(CALLS_A_HEIGHT) for reading in READINGS}
    seconds, playing = np.zeros(CALLS_A_HEIGHT), np.ones(CALLS_A_HEIGHT, np.bool_)
    seen, _ = env.reset(seed=seed)
    while playing.any():
        actions = [policy.act(one) for policy, one in zip(policies, seen, strict=True)]
        seen, _, _, truncated, info = env.step(np.array(actions, np.float32))
        intervals = info["intervals"]
        length = np.where(playing, intervals["interval_s"], 0.0)
        seconds += length
        for reading, name in READINGS.items():
            totals[reading] += np.where(playing, rewards.REWARDS[name](intervals), 0.0) * length
        playing &= ~truncated
    env.close()
    return {reading: total / seconds for reading, total in totals.items()}


def best(rewards: Array) -> Estimate:
    """Mean over networks."""
    return grouped_mean(enumerate(rewards))


def above(ours: Array, theirs: Array) -> Estimate:
    """The share by which our mean is above theirs, on the same networks."""

    def share(weights: Array) -> Array:
        return (weights @ ours) / (weights @ theirs) - 1.0

    return of_groups(share, np.ones(len(ours)))
