"""Many calls at once, stepped in Rust with the interpreter released."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from legato import _core, plan
from legato.envs import rewards
from legato.envs.many_calls import Array, ManyCalls, Step, spaces_of


class CallVectorEnv(ManyCalls):
    """``num_envs`` calls of one scenario, each with a network, clip and seed of its own.

    A step answers each call's next decision and runs to the one after; the next step overwrites what it gave. A
    call ends by running out of time: it is truncated, never terminated, and ``info["final_obs"]`` has what its
    controller would have seen, for bootstrapping; another call begins in its place in the same step.

    ``scenario`` is a file or the name of a shipped one, ``options`` changes keys of it; ``controller`` names the
    learned controller whose observation and action these are; ``reward`` is a name of :mod:`legato.envs.rewards`
    or a function of :class:`Intervals`. ``info["intervals"]`` is the ground truth of the step: rewards and labels
    may use it, observations never hold any of it. ``staggered`` cuts the first call of each place off at a random age:
    from then on calls of every age are under way at once. With ``safeguard``, parameters of the controller of that name
    (``{}``: its own), the steered one has it around it: while it holds, answers are taken and not obeyed.
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
        safeguard: Mapping[str, Any] | None = None,
        threads: int = 0,
        seed: int = 0,
        staggered: bool = False,
    ) -> None:
        changes = dict(options or {})
        if duration_s is not None:
            changes["duration_s"] = duration_s
        made = plan.make(scenario, options=changes, trace_specs=traces, clip_specs=clips)
        hand = {"policy": "hand"}
        made.controllers[:] = [{"name": controller, "config": hand}]
        if safeguard is not None:
            around = {**safeguard, "inner": controller, "inner_config": hand}
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
        """How many intervals an observation holds."""
        return self._batch.spaces.history

    @property
    def feature_width(self) -> int:
        """How many numbers a feature is."""
        return self._batch.spaces.feature_width

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin all calls anew. The same seed gives the same calls; none gives other ones than before."""
        self._batch.reset(self._begin(seed, options), self._observations, self._staggered)
        if hasattr(self._reward, "reset"):
            self._reward.reset(np.ones(self.num_envs, np.bool_))
        return self._observations, {}

    def step(self, actions: Any) -> Step:
        """Answer each call; (observations, rewards, terminated, truncated, info)."""
        answers = self._answers(actions)
        self._batch.step(answers, self._observations, self._final, self._rows, self._truncated)
        reward = self._reward(self.intervals)
        if hasattr(self._reward, "reset") and self._truncated.any():
            self._reward.reset(self._truncated)
        return self._told(reward)
