"""What environments of many calls share: their arrays, the next seed, how an episode ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from legato import _core
from legato.envs.intervals import Intervals
from legato.errors import ControllerError, Error

Array = NDArray[np.float32]
Step = tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]


def steered(controller: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """A controller for a plan whose actions an environment sets.

    Raises:
        ControllerError: it takes no actions.
    """
    learned = [entry["name"] for entry in _core.controllers() if entry["learned"]]
    if controller not in learned:
        raise ControllerError(f"controller {controller}: takes no actions", f"learned ones do: {', '.join(learned)}")
    return {"name": controller, "config": {**config, "policy": "hand"}}


class ManyCalls(VectorEnv):
    """A vector environment of ``num_envs`` calls of one controller, which replaces ended calls in the same step.

    Args:
        num_envs: number of calls.
        controller: whose observation and action these are.
        observation: of one call.
        action: of one call.
        seed: a first reset without a seed takes the one after it.
    """

    def __init__(
        self,
        num_envs: int,
        controller: str,
        observation: gymnasium.spaces.Box,
        action: gymnasium.Space[Any],
        *,
        seed: int,
    ) -> None:
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}
        self.render_mode = None
        self.controller = controller
        self.single_observation_space, self.single_action_space = observation, action
        self.observation_space = gymnasium.vector.utils.batch_space(observation, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(action, num_envs)
        self._observations: Array = np.zeros((num_envs, *observation.shape), np.float32)
        self._final: Array = np.zeros_like(self._observations)
        self._rows: Array = np.zeros((num_envs, len(_core.CallBatch.columns())), np.float32)
        self._truncated = np.zeros(num_envs, np.bool_)
        self._terminated = np.zeros(num_envs, np.bool_)
        self._next_seed = seed
        self.intervals = Intervals(self._rows)

    def _begin(self, seed: int | list[int | None] | None, options: dict[str, Any] | None) -> int:
        """The seed of a reset: the given one, or the one after the last."""
        if isinstance(seed, list):
            seed = seed[0]
        super().reset(seed=seed, options=options)
        self._next_seed = self._next_seed + 1 if seed is None else seed
        return self._next_seed

    def _actions(self, actions: Any) -> Array:
        """``actions`` as ``(N,)``, one for each call; any other number is refused."""
        flat = np.ascontiguousarray(actions, np.float32).reshape(-1)
        if len(flat) != self.num_envs:
            raise Error(f"actions: {len(flat)} for {self.num_envs} calls")
        return flat

    def _result(self, reward: Array) -> Step:
        """What a step returns: (observations, rewards, terminated, truncated, info)."""
        info: dict[str, Any] = {"intervals": self.intervals}
        if self._truncated.any():
            info["final_obs"] = self._final
            info["_final_obs"] = self._truncated
        return self._observations, reward, self._terminated, self._truncated, info

    def close_extras(self, **kwargs: Any) -> None:
        """Nothing to close."""


def spaces_of(spaces: _core.Spaces) -> tuple[gymnasium.spaces.Box, gymnasium.Space[Any]]:
    """The observation space and the action space of a steered controller."""
    observation = gymnasium.spaces.Box(-1e4, 1e4, (spaces.width,), np.float32)
    if spaces.choices is not None:
        return observation, gymnasium.spaces.Discrete(spaces.choices)
    assert spaces.action_range is not None  # where there are no choices
    low, high = spaces.action_range
    return observation, gymnasium.spaces.Box(low, high, (1,), np.float32)
