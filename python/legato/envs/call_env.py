"""One call as a Gymnasium environment: ``gymnasium.make("legato/Call-v0", scenario="drawn", controller="nvc-cc")``."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from legato.envs.intervals import COLUMNS
from legato.envs.vector_env import CallVectorEnv


class CallEnv(gymnasium.Env):
    """A call that stops before each decision of its controller. Arguments as in :class:`CallVectorEnv`.

    The call ends by running out of time: it is truncated, never terminated. ``info["intervals"]`` holds the
    step's figures, ground truth included; unknown ones are left out.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None, **kwargs: Any) -> None:
        kwargs.pop("num_envs", None)
        self._calls = CallVectorEnv(num_envs=1, threads=1, **kwargs)
        self.render_mode = render_mode
        self.observation_space = self._calls.single_observation_space
        self.action_space = self._calls.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start a call; without a seed, the one after the last."""
        super().reset(seed=seed)
        if seed is None:
            seed = int(self.np_random.integers(2**62))
        observation, _ = self._calls.reset(seed=seed, options=options)
        return observation[0].copy(), {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Act, and run to the next decision."""
        observation, reward, _, truncated, info = self._calls.step(np.asarray(action, np.float32).reshape(1))
        over = bool(truncated[0])
        # The vector environment has started another call; this call's last observation is the one to return.
        shown = info["final_obs"][0] if over else observation[0]
        numbers = ((name, float(info["intervals"][name][0])) for name in COLUMNS)
        interval = {name: number for name, number in numbers if not math.isnan(number)}
        return shown.copy(), float(reward[0]), False, over, {"intervals": interval}
