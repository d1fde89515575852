"""A vector environment of calls over recorded networks, drawn anew at each reset ([r3net] §2.1, §2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from legato import _core
from legato.envs import rewards
from legato.envs.many_calls import Array, ManyCalls, Step, spaces_of, steered
from legato.errors import Error
from legato.links import TUNED, Part, replayed
from legato.plan import Choice


class ReplayedVectorEnv(ManyCalls):
    """``num_envs`` calls over ``paths`` paths of :mod:`legato.links.replayed`, side by side.

    A share ``lte_ratio`` of the paths is cellular; with ``clips`` every other path carries frames of one of them;
    ``beside`` adds audio, TCP flows, and recorded delay and loss. A call gets one of its path's ``traces_each`` windows
    of recordings, and the next call in its slot another. A reset draws all of them again from its seed, so a training
    that resets at each leg plays on legs times paths times windows networks. Steps, ends of calls and ``info`` are as
    in :class:`~legato.envs.CallVectorEnv`.
    """

    def __init__(
        self,
        num_envs: int,
        part: Part = TUNED,
        *,
        paths: int = 12,
        traces_each: int = 32,
        lte_traces_each: int = 4,
        lte_ratio: float = replayed.LTE_RATIO,
        clips: Sequence[str] = (),
        beside: replayed.Beside = replayed.NOTHING,
        duration_s: tuple[float, float] = (30.0, 30.0),
        scenario: str | Path = "r3net",
        controller: str = "r3net",
        reward: str | rewards.Reward = "r3net",
        threads: int = 1,
        seed: int = 0,
    ) -> None:
        if num_envs % paths or num_envs <= 0:
            raise Error(f"num_envs = {num_envs}: not a multiple of paths = {paths}")
        self.num_envs, self.controller = num_envs, controller
        self._part, self._paths, self._windows = part, paths, traces_each
        self._choice: dict[str, Any] = {
            "lte_traces_each": lte_traces_each, "lte_ratio": lte_ratio, "clips": clips, "beside": beside,
        }  # fmt: skip
        self._scenario, self._threads, self._duration_s = scenario, threads, duration_s
        self._reward = rewards.named(reward)
        self._drawn_seed: int | None = None
        self._draw(seed)
        super().__init__(num_envs, controller, *spaces_of(self._batches[0].spaces), seed=seed)

    def _draw(self, seed: int) -> None:
        if seed == self._drawn_seed:
            return
        each = self.num_envs // self._paths
        self._batches = []
        self._slots = [slice(k * each, (k + 1) * each) for k in range(self._paths)]
        # Calls of one length would all have the same age, and so would each round of a training.
        lengths_s = np.random.default_rng(seed).uniform(*self._duration_s, self._paths)
        networks = replayed.draw(self._part, seed, self._paths, self._windows, **self._choice)
        for network, length_s in zip(networks, lengths_s, strict=True):
            options = {**network.options, "duration_s": round(float(length_s), 2)}
            made = Choice(self._scenario, options=options, traces=network.traces).plan()
            made.controllers[:] = [steered(self.controller, {})]
            self._batches.append(_core.CallBatch(made.to_json(), each, seed, self._threads))
        self._drawn_seed = seed

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Draw networks and start all calls. The same seed gives the same calls; without one they differ."""
        drawn = self._begin(seed, options)
        self._draw(drawn)
        own = np.random.SeedSequence(drawn).generate_state(self._paths)
        for batch, slots, batch_seed in zip(self._batches, self._slots, own, strict=True):
            batch.reset(int(batch_seed), self._observations[slots])
        rewards.forget(self._reward, np.ones(self.num_envs, np.bool_))
        return self._observations, {}

    def step(self, actions: Any) -> Step:
        """Act in each call; returns (observations, rewards, terminated, truncated, info)."""
        actions = self._actions(actions)
        for batch, at in zip(self._batches, self._slots, strict=True):
            batch.step(actions[at], self._observations[at], self._final[at], self._rows[at], self._truncated[at])
        reward = self._reward(self.intervals)
        rewards.forget(self._reward, self._truncated)
        return self._result(reward)
