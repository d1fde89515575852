"""Environments of several kinds side by side, as one: what no one scenario holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from legato.envs.answers import one_each
from legato.envs.intervals import Intervals
from legato.errors import Error

Array = NDArray[np.float32]


class JoinedVectorEnv(VectorEnv):
    """The calls of several vector environments of one controller, the first one's first.

    Steps, ends of calls, rewards and ``info`` are those of the parts (:class:`~legato.envs.CallVectorEnv`,
    :class:`~legato.envs.ReplayedVectorEnv`). A part is reset with a seed of its own, made from the one that is given.
    """

    def __init__(self, parts: Sequence[VectorEnv]) -> None:
        if not parts:
            raise Error("parts: none given")
        first = parts[0]
        for part in parts[1:]:
            spaces = (part.single_observation_space, part.single_action_space)
            if spaces != (first.single_observation_space, first.single_action_space):
                raise Error(f"parts: {part.controller} and {first.controller} see or answer different things")
        self.parts = tuple(parts)
        self.controller = first.controller
        self.num_envs = sum(part.num_envs for part in parts)
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}
        self.render_mode = None
        self.single_observation_space = first.single_observation_space
        self.single_action_space = first.single_action_space
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, self.num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, self.num_envs)
        ends = np.cumsum([part.num_envs for part in parts])
        self._slots = [slice(int(end) - part.num_envs, int(end)) for part, end in zip(parts, ends, strict=True)]
        width = self.single_observation_space.shape[0]
        self._observations: Array = np.zeros((self.num_envs, width), np.float32)
        self._final: Array = np.zeros((self.num_envs, width), np.float32)
        self._rewards: Array = np.zeros(self.num_envs, np.float32)
        self._truncated = np.zeros(self.num_envs, np.bool_)
        self._terminated = np.zeros(self.num_envs, np.bool_)
        self.intervals = Intervals(np.zeros((self.num_envs, first.intervals.rows.shape[1]), np.float32))

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin all calls anew. The same seed gives the same calls; none gives other ones than before."""
        if isinstance(seed, list):
            seed = seed[0]
        super().reset(seed=seed, options=options)
        own = [None] * len(self.parts) if seed is None else np.random.SeedSequence(seed).generate_state(len(self.parts))
        for part, slots, part_seed in zip(self.parts, self._slots, own, strict=True):
            observations, _ = part.reset(seed=None if part_seed is None else int(part_seed), options=options)
            self._observations[slots] = observations
        return self._observations, {}

    def step(self, actions: Any) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Answer each call; (observations, rewards, terminated, truncated, info)."""
        answers = one_each(actions, self.num_envs)
        for part, at in zip(self.parts, self._slots, strict=True):
            observations, rewards, _, truncated, info = part.step(answers[at])
            self._observations[at], self._rewards[at], self._truncated[at] = observations, rewards, truncated
            self.intervals.rows[at] = info["intervals"].rows
            if "final_obs" in info:
                self._final[at] = info["final_obs"]
        info = {"intervals": self.intervals}
        if self._truncated.any():
            info["final_obs"] = self._final
            info["_final_obs"] = self._truncated
        return self._observations, self._rewards, self._terminated, self._truncated, info

    def close_extras(self, **kwargs: Any) -> None:
        """Close the parts."""
        for part in self.parts:
            part.close()
