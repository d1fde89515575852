"""Several vector environments as one: calls that no single scenario has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box

from legato.envs.many_calls import Array, ManyCalls, Step
from legato.errors import Error


class JoinedVectorEnv(ManyCalls):
    """The calls of several vector environments of one controller, the first one's first.

    Steps, ends of calls, rewards and ``info`` are those of the parts (:class:`~legato.envs.CallVectorEnv`,
    :class:`~legato.envs.ReplayedVectorEnv`). Each part is reset with a separate seed, derived from the given one:
    equal parts play different calls.
    """

    def __init__(self, parts: Sequence[ManyCalls], *, seed: int = 0) -> None:
        if not parts:
            raise Error("parts: none given")
        first = parts[0]
        seen, answered = first.single_observation_space, first.single_action_space
        for part in parts[1:]:
            if (part.single_observation_space, part.single_action_space) != (seen, answered):
                raise Error(f"parts: {part.controller} and {first.controller} have different observations or actions")
        assert isinstance(seen, Box)  # as in all of ManyCalls
        super().__init__(sum(part.num_envs for part in parts), first.controller, seen, answered, seed=seed)
        self.parts = tuple(parts)
        ends = np.cumsum([part.num_envs for part in parts])
        self._slots = [slice(int(end) - part.num_envs, int(end)) for part, end in zip(parts, ends, strict=True)]
        self._rewards: Array = np.zeros(self.num_envs, np.float32)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start all calls anew. The same seed gives the same calls; without one they differ from the last."""
        own = np.random.SeedSequence(self._begin(seed, options)).generate_state(len(self.parts))
        for part, slots, part_seed in zip(self.parts, self._slots, own, strict=True):
            self._observations[slots], _ = part.reset(seed=int(part_seed), options=options)
        return self._observations, {}

    def step(self, actions: Any) -> Step:
        """Act in each call; returns (observations, rewards, terminated, truncated, info)."""
        actions = self._actions(actions)
        for part, at in zip(self.parts, self._slots, strict=True):
            self._observations[at], self._rewards[at], _, self._truncated[at], info = part.step(actions[at])
            self._rows[at] = info["intervals"].rows
            if "final_obs" in info:
                self._final[at] = info["final_obs"]
        return self._result(self._rewards)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the parts."""
        for part in self.parts:
            part.close()
