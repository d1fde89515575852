"""A link small enough to know the best policy of: what tests of training train on.

The capacity of a link wanders; each decision moves the rate, and earns 1 minus the distance between the two. The best
policy moves by exactly the observed distance. ``reset``'s option ``wander`` says how far the capacity goes.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv

MOVES = np.array([-0.5, -0.25, 0.0, 0.25, 0.5])


class ToyLink(VectorEnv):
    """The link, ``num_envs`` times.

    Args:
        num_envs: how many.
        choices: whether an action is one of :data:`MOVES` or half of a number in [-1, 1].
        length: decisions of an episode, which is then truncated; the first ones are of random length.
        hidden: the distance is shown at every second decision, and only the decisions between, which see nothing, move.
        wrong: rewards are dealt to other environments than earned them; ``nan_at``: one is NaN.
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self,
        num_envs: int,
        *,
        choices: bool = False,
        length: int = 50,
        hidden: bool = False,
        wrong: bool = False,
        nan_at: int | None = None,
    ) -> None:
        self.num_envs, self.choices, self.length, self.hidden = num_envs, choices, length, hidden
        self.wrong, self.nan_at = wrong, nan_at
        self.single_observation_space = Box(-np.inf, np.inf, (2,), np.float32)
        self.single_action_space = Discrete(len(MOVES)) if choices else Box(-1.0, 1.0, (1,), np.float32)
        self._obs = np.zeros((num_envs, 2), np.float32)  # handed out again and again, as the native one does
        self.resets: list[tuple[int | None, Any]] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        self.resets.append((seed, options))
        self._random = np.random.default_rng(seed)
        self._wander = 0.2 if options is None else options.get("wander", 0.2)
        self._capacity = self._random.uniform(-1, 1, self.num_envs)
        self._rate = np.zeros(self.num_envs)
        self._age = self._random.integers(0, self.length, self.num_envs)
        self._steps = 0
        return self._observe(), self._expert()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict]:
        move = MOVES[actions] if self.choices else np.asarray(actions)[:, 0] / 2
        still = self.hidden & (self._age % 2 == 0)
        self._rate = np.clip(self._rate + np.where(still, 0.0, move), -1.5, 1.5)
        reward = 1 - np.abs(self._rate - self._capacity)
        self._capacity = np.where(
            still, self._capacity, np.clip(self._capacity + self._random.normal(0, self._wander, self.num_envs), -1, 1)
        )
        self._age += 1
        self._steps += 1
        truncated = self._age >= self.length
        info: dict[str, Any] = {}
        if truncated.any():
            info["final_obs"] = self._observe().copy()
            self._capacity = np.where(truncated, self._random.uniform(-1, 1, self.num_envs), self._capacity)
            self._rate = np.where(truncated, 0.0, self._rate)
            self._age = np.where(truncated, 0, self._age)
        if self.wrong:
            reward = self._random.permutation(reward)
        if self.nan_at == self._steps:
            reward[1] = np.nan
        info |= self._expert()
        return self._observe(), reward.astype(np.float32), np.zeros(self.num_envs, bool), truncated, info

    def _observe(self) -> np.ndarray:
        shown = (not self.hidden) | (self._age % 2 == 0)
        self._obs[:, 0] = np.where(shown, self._capacity - self._rate, 0.0)
        self._obs[:, 1] = np.where(shown, 1.0, -1.0) if self.hidden else self._rate
        return self._obs

    def _expert(self) -> dict[str, Any]:
        distance = (self._capacity - self._rate)[:, None]
        return {"expert_action": np.abs(MOVES - distance).argmin(1)}


def dense(name: str, source: str, inputs: int, outputs: int, activation: str) -> dict[str, Any]:
    """A line of a layer table."""
    return {
        "name": name,
        "kind": "dense",
        "from": [source],
        "inputs": inputs,
        "outputs": outputs,
        "activation": activation,
    }


def small_network(outputs: int = 1, activation: str = "linear") -> list[dict[str, Any]]:
    """2-16-16-outputs."""
    return [
        dense("hidden1", "observation", 2, 16, "tanh"),
        dense("hidden2", "hidden1", 16, 16, "tanh"),
        dense("out", "hidden2", 16, outputs, activation),
    ]


def remembering_network() -> list[dict[str, Any]]:
    """2-GRU16-16-1."""
    gru = {"name": "memory", "kind": "gru", "from": ["observation"], "inputs": 2, "outputs": 16, "activation": "linear"}
    return [gru, dense("hidden", "memory", 16, 16, "tanh"), dense("out", "hidden", 16, 1, "linear")]
