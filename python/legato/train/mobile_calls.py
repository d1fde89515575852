"""The calls that Concerto and RL-V train in, and the expert that Concerto imitates.

Networks are windows of recorded 3G, 4G and Wi-Fi links (:mod:`legato.links`), the scenario is ``mobile``.
The expert of [concerto] section 3.1 "follows the bandwidth but remains slightly lower": it knows the bottleneck's
capacity in the coming second. It chooses the highest bitrate, in steps of 0.1 Mbit/s, that is no more than a share of
it. Its choice for an observation is that of the interval to come, which the row of the step that ended with the
observation holds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.vector import VectorWrapper
from numpy.typing import NDArray

from legato import links
from legato.envs import CallVectorEnv
from legato.errors import TrainingError
from legato.links import TUNED, VALIDATION, Part, access_networks

STEP_MBPS = 0.1
CHOICES = 26
SHARE_RATIO = 0.65
"""Of the bottleneck's capacity. The expert's reward on windows for validation is 4.202 at 0.6, 4.224 at 0.7, 4.227 at
0.8, 4.216 at 0.9. But a learner that cannot see the future errs, and learns more from an expert that leaves room:
trained alike, 4.078 with 0.65, 4.052 with 0.8.
"""
DECISIONS = 59
"""Per call of 60 s: one after each second but the last."""
WINDOWS = {TUNED: 36, VALIDATION: 9}
"""Maximum number per kind of access."""
WINDOWS_BY_SECOND = {TUNED: 75, VALIDATION: 15}
"""The same of windows by the second."""
BY_SECOND_SCENARIO = "mobile_by_second"


def calls(
    envs: int,
    controller: str,
    part: Part = TUNED,
    accesses: Sequence[str] = access_networks.ACCESSES,
    reward: str = "qoe-p",
    by_second: bool = False,
) -> CallVectorEnv:
    """Steered calls over windows of ``part`` with the training clips.

    ``by_second``: traces are means of each second, over the path of the scenario ``mobile_by_second``.
    """

    def made(scenario: str, traces: Sequence[str]) -> CallVectorEnv:
        return CallVectorEnv(
            envs,
            scenario=scenario,
            controller=controller,
            reward=reward,
            traces=traces,
            clips=access_networks.TRAINING_CLIPS,
            threads=1,
        )

    if not by_second:
        return made("mobile", access_networks.of_all(accesses, part, WINDOWS[part]))
    with tempfile.TemporaryDirectory() as folder:  # an environment reads its traces when it is made
        every = [access_networks.windows_by_second(access, part, Path(folder), 60.0, 12) for access in accesses]
        spread = [spec for some in every for spec in links.spread(some, WINDOWS_BY_SECOND[part])]
        return made(BY_SECOND_SCENARIO, spread)


def expert_choice(capacity_bps: NDArray[np.float32], share_ratio: float) -> NDArray[np.int64]:
    """The index of the highest bitrate that is no more than ``share_ratio`` of the capacity; never the lowest, 0."""
    steps = np.floor(capacity_bps.astype(np.float64) * share_ratio / (STEP_MBPS * 1e6) + 1e-6)
    return np.clip(steps, 1, CHOICES - 1).astype(np.int64)


class ExpertCalls(VectorWrapper):
    """Calls that report the expert's action: ``info["expert_action"]`` with every observation.

    The first observation of a call has no row before it. The capacity does not depend on the decisions. So a call is
    begun, a second of it is played to see the bottleneck's capacity, and the same call is begun again. A play may be no
    longer than a call: the expert's action in the next one is unknown.
    """

    def __init__(self, env: CallVectorEnv, share_ratio: float = SHARE_RATIO) -> None:
        super().__init__(env)
        self.share_ratio = share_ratio
        self._over = False
        self._seed = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start all calls anew."""
        self._seed = self._seed + 1 if seed is None else seed
        self.env.reset(seed=self._seed, options=options)
        _, _, _, _, info = self.env.step(np.zeros(self.num_envs, np.float32))
        first = expert_choice(info["intervals"]["true_capacity_bps"], self.share_ratio)
        observations, info = self.env.reset(seed=self._seed, options=options)
        self._over = False
        return observations, {**info, "expert_action": first}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Act in each call."""
        if self._over:
            raise TrainingError("a play is longer than a call", f"settings.rollout = {DECISIONS} or fewer")
        observations, reward, terminated, truncated, info = self.env.step(actions)
        self._over = bool(truncated.any())
        expert = expert_choice(info["intervals"]["true_capacity_ahead_bps"], self.share_ratio)
        return observations, reward, terminated, truncated, {**info, "expert_action": expert}
