"""Many calls at once, stepped in Rust with the interpreter released."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from legato import _core
from legato.envs import rewards
from legato.envs.many_calls import Array, ManyCalls, Step, spaces_of, steered
from legato.plan import Choice


class CallVectorEnv(ManyCalls):
    """``num_envs`` calls of one scenario, each with a different network, clip and seed.

    A step applies each call's next decision and runs to the one after; it overwrites the arrays that the last step
    returned. A call ends by running out of time: it is truncated, never terminated, and ``info["final_obs"]`` holds the
    observation that its controller would have had, for bootstrapping; another call replaces it in the same step.

    ``scenario`` is a file or the name of a shipped one, ``options`` changes keys of it. ``controller`` names the
    learned controller that gives observation and action. ``reward`` is a name of :mod:`legato.envs.rewards` or a
    function of :class:`Intervals`. ``info["intervals"]`` is the ground truth of the step: rewards and labels may use
    it, observations never hold any of it. ``staggered`` ends the first call of each slot at a random age, so that calls
    of every age run at once. ``config`` holds parameters of the controller; ``safeguard`` those of the controller of
    that name (``{}``: its defaults), which then wraps the steered one: while it intervenes, actions are accepted but
    have no effect.
    """

    def __init__(
        self,
        num_envs: int = 64,
        scenario: str | Path = "drawn",
        controller: str = "nvc-cc",
        reward: str | rewards.Reward = "nvc-cc",
        *,
        options: Mapping[str, Any] | None = None,
        traces: Iterable[str | Path] = (),
        clips: Iterable[str | Path] = (),
        duration_s: float | None = None,
        config: Mapping[str, Any] | None = None,
        safeguard: Mapping[str, Any] | None = None,
        threads: int = 0,
        seed: int = 0,
        staggered: bool = False,
    ) -> None:
        changes = dict(options or {})
        if duration_s is not None:
            changes["duration_s"] = duration_s
        made = Choice(scenario, options=changes, traces=traces, clips=clips).plan()
        inner = steered(controller, config or {})
        made.controllers[:] = [inner]
        if safeguard is not None:
            around = {**safeguard, "inner": controller, "inner_config": inner["config"]}
            made.controllers[:] = [{"name": "safeguard", "config": around}]
        self._batch = _core.CallBatch(made.to_json(), num_envs, seed, threads)
        super().__init__(num_envs, controller, *spaces_of(self._batch.spaces), seed=seed)
        self._reward = rewards.named(reward)
        self._staggered = staggered

    @property
    def features(self) -> list[str]:
        """One interval's features by name; an observation is :attr:`history` of them, the oldest first."""
        return self._batch.spaces.features

    @property
    def history(self) -> int:
        """Number of intervals in an observation."""
        return self._batch.spaces.history

    @property
    def feature_width(self) -> int:
        """Number of values of a feature."""
        return self._batch.spaces.feature_width

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Start all calls anew. The same seed gives the same calls; without one they differ from the last."""
        self._batch.reset(self._begin(seed, options), self._observations, self._staggered)
        rewards.forget(self._reward, np.ones(self.num_envs, np.bool_))
        return self._observations, {}

    def step(self, actions: Any) -> Step:
        """Act in each call; returns (observations, rewards, terminated, truncated, info)."""
        self._batch.step(self._actions(actions), self._observations, self._final, self._rows, self._truncated)
        reward = self._reward(self.intervals)
        rewards.forget(self._reward, self._truncated)
        return self._result(reward)
