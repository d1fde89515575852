"""A vector environment of calls over recorded networks, drawn anew at each reset ([r3net] §2.1, §2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from legato import _core, plan
from legato.envs import replayed, rewards
from legato.envs.answers import one_each
from legato.envs.intervals import Intervals
from legato.errors import Error

Array = NDArray[np.float32]


class ReplayedVectorEnv(VectorEnv):
    """``num_envs`` calls over ``paths`` paths of :mod:`legato.envs.replayed`, side by side.

    Of the paths ``lte_ratio`` are cellular; with ``clips`` every other path carries frames of one of them. A call
    meets one of its path's ``traces_each`` windows of recordings, and the next call in its place another. A reset
    draws all of them anew from its seed, so a training that is reset at each leg sees as many networks as it has legs
    times paths times windows. Steps, ends of calls and ``info`` are as of :class:`~legato.envs.CallVectorEnv`.
    """

    def __init__(
        self,
        num_envs: int,
        split: str = "train",
        *,
        paths: int = 12,
        traces_each: int = 32,
        lte_traces_each: int = 4,
        lte_ratio: float = replayed.LTE_RATIO,
        clips: Sequence[str] = (),
        duration_s: tuple[float, float] = (30.0, 30.0),
        scenario: str | Path = "r3net",
        controller: str = "r3net",
        reward: str | rewards.Reward = "r3net",
        threads: int = 1,
        seed: int = 0,
    ) -> None:
        if num_envs % paths or num_envs <= 0:
            raise Error(f"num_envs = {num_envs}: not a multiple of paths = {paths}")
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}
        self.render_mode = None
        self.controller = controller
        self._split, self._paths, self._windows = split, paths, traces_each
        self._choice = {"lte_traces_each": lte_traces_each, "lte_ratio": lte_ratio, "clips": clips}
        self._scenario, self._threads, self._duration_s = scenario, threads, duration_s
        self._reward = rewards.named(reward)
        self._drawn_seed: int | None = None
        self._next_seed = seed
        self._draw(seed)
        first = self._batches[0]
        self.single_observation_space = gymnasium.spaces.Box(-1e4, 1e4, (first.width,), np.float32)
        if first.choices is not None:
            self.single_action_space: gymnasium.Space = gymnasium.spaces.Discrete(first.choices)
        else:
            self.single_action_space = gymnasium.spaces.Box(*first.action_range, (1,), np.float32)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self._observations: Array = np.zeros((num_envs, first.width), np.float32)
        self._final: Array = np.zeros((num_envs, first.width), np.float32)
        self._rows: Array = np.zeros((num_envs, len(_core.CallBatch.columns())), np.float32)
        self._truncated = np.zeros(num_envs, np.bool_)
        self._terminated = np.zeros(num_envs, np.bool_)
        self.intervals = Intervals(self._rows)

    def _draw(self, seed: int) -> None:
        if seed == self._drawn_seed:
            return
        each = self.num_envs // self._paths
        self._batches = []
        self._slots = [slice(k * each, (k + 1) * each) for k in range(self._paths)]
        # Calls of one length would all be of one age, and each round of a training would see one age alone.
        lengths_s = np.random.default_rng(seed).uniform(*self._duration_s, self._paths)
        networks = replayed.draw(self._split, seed, self._paths, self._windows, **self._choice)
        for network, length_s in zip(networks, lengths_s, strict=True):
            options = {**network.options, "duration_s": round(float(length_s), 2)}
            made = plan.make(self._scenario, options=options, trace_specs=network.traces)
            made.controllers[:] = [{"name": self.controller, "config": {"policy": "hand"}}]
            self._batches.append(_core.CallBatch(made.to_json(), each, seed, self._threads))
        self._drawn_seed = seed

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Draw networks and begin all calls. The same seed gives the same calls; none gives other ones than before."""
        if isinstance(seed, list):
            seed = seed[0]
        super().reset(seed=seed, options=options)
        self._next_seed = self._next_seed + 1 if seed is None else seed
        self._draw(self._next_seed)
        own = np.random.SeedSequence(self._next_seed).generate_state(self._paths)
        for batch, slots, batch_seed in zip(self._batches, self._slots, own, strict=True):
            batch.reset(int(batch_seed), self._observations[slots])
        if hasattr(self._reward, "reset"):
            self._reward.reset(np.ones(self.num_envs, np.bool_))
        return self._observations, {}

    def step(self, actions: Any) -> tuple[Array, Array, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Answer each call; (observations, rewards, terminated, truncated, info)."""
        answers = one_each(actions, self.num_envs)
        for batch, at in zip(self._batches, self._slots, strict=True):
            batch.step(answers[at], self._observations[at], self._final[at], self._rows[at], self._truncated[at])
        reward = self._reward(self.intervals)
        info: dict[str, Any] = {"intervals": self.intervals}
        if self._truncated.any():
            info["final_obs"] = self._final
            info["_final_obs"] = self._truncated
            if hasattr(self._reward, "reset"):
                self._reward.reset(self._truncated)
        return self._observations, reward, self._terminated, self._truncated, info

    def close_extras(self, **kwargs: Any) -> None:
        """There is nothing to close."""
