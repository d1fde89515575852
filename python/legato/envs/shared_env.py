"""Several calls on shared links as a PettingZoo ``ParallelEnv``: each call is an agent, all decide at once.

``pip install legato-rtc[gym]``, then ``legato.envs.shared_env.SharedCallsEnv("rfc8867/5_4", controller="nvc-cc")``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from legato import _core
from legato.envs import rewards
from legato.envs.intervals import COLUMNS, Intervals
from legato.envs.many_calls import spaces_of, steered
from legato.envs.registration import require_pettingzoo
from legato.plan import Choice

require_pettingzoo()

from pettingzoo import ParallelEnv  # noqa: E402

Array = NDArray[np.float32]
Agents = dict[str, Any]


class SharedCallsEnv(ParallelEnv):  # type: ignore[misc] # PettingZoo has no types
    """The calls of one session on the links they share.

    Args:
        scenario: a file or the name of a shipped scenario. Its calls that name no controller of their own are the
            agents, under their names there (``call 1``, ...); other calls, TCP and UDP are traffic beside them.
        controller: the learned controller whose observation and action these are.
        reward: a name of :mod:`legato.envs.rewards`, or a function of :class:`Intervals`, one row per agent.
        calls: number of calls, all from the beginning, instead of those of the scenario.
        options: keys of the scenario to change.
        duration_s: of a session.

    Agents come and go with their calls: ``agents`` are those whose action is due. A call that begins later joins
    with an observation and a reward of 0; one that ends, at its own end or the session's, is truncated, never
    terminated. ``infos[agent]["interval"]`` is the ground truth of its step, which no observation holds. The same
    seed gives the same session.
    """

    metadata: dict[str, Any] = {"name": "legato_shared_calls_v0", "render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        scenario: str | Path = "rfc8867/5_4",
        controller: str = "nvc-cc",
        reward: str | rewards.Reward = "aurora",
        *,
        calls: int | None = None,
        options: Mapping[str, Any] | None = None,
        duration_s: float | None = None,
        traces: Iterable[str | Path] = (),
        clips: Iterable[str | Path] = (),
        seed: int = 0,
    ) -> None:
        changes = dict(options or {})
        if duration_s is not None:
            changes["duration_s"] = duration_s
        if calls is not None:
            changes["calls"] = [{} for _ in range(calls)]
        made = Choice(scenario, options=changes, traces=traces, clips=clips).plan()
        made.controllers[:] = [steered(controller, {})]
        self._calls = _core.SharedCalls(made.to_json(), seed)
        self.possible_agents = list(self._calls.names)
        self.agents: list[str] = []
        self.render_mode = None
        self.controller = controller
        self._reward = rewards.named(reward)
        self._observation_space, self._action_space = spaces_of(self._calls.spaces)
        number = len(self.possible_agents)
        self._observations: Array = np.zeros((number, self._calls.spaces.width), np.float32)
        self._rows: Array = np.full((number, len(COLUMNS)), np.nan, np.float32)
        self._truncated = np.zeros(number, np.bool_)
        self._acting = np.zeros(number, np.bool_)
        self._next_seed = seed
        self.intervals = Intervals(self._rows)

    def observation_space(self, agent: str) -> gymnasium.Space[Any]:
        """Every agent's observation space; the same object each time."""
        return self._observation_space

    def action_space(self, agent: str) -> gymnasium.Space[Any]:
        """Every agent's action space."""
        return self._action_space

    @property
    def features(self) -> list[str]:
        """One interval's features by name; an observation is :attr:`history` of them, the oldest first."""
        return self._calls.spaces.features

    @property
    def history(self) -> int:
        """Number of intervals in an observation."""
        return self._calls.spaces.history

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Agents, Agents]:
        """Start a session. The same seed gives the same session; without one it differs from the last."""
        self._next_seed = self._next_seed + 1 if seed is None else seed
        self._calls.reset(self._next_seed, self._observations, self._acting)
        rewards.forget(self._reward, np.ones(len(self.possible_agents), np.bool_))
        self.agents = self._who(self._acting)
        return self._seen(self.agents), {agent: {} for agent in self.agents}

    def step(self, actions: Mapping[str, Any]) -> tuple[Agents, dict[str, float], Agents, Agents, Agents]:
        """Act for each agent; returns (observations, rewards, terminations, truncations, infos) by agent."""
        if not self.agents:
            return {}, {}, {}, {}, {}
        decisions = np.zeros(len(self.possible_agents), np.float32)
        for agent in self.agents:
            decisions[self._place(agent)] = np.asarray(actions[agent], np.float32).reshape(())
        acted = self.agents
        self._rows[:] = np.nan
        self._calls.step(decisions, self._observations, self._rows, self._truncated, self._acting)
        earned = self._reward(self.intervals)
        self.agents = self._who(self._acting)
        reported = acted + [agent for agent in self.agents if agent not in acted]
        return (
            self._seen(reported),
            {agent: float(earned[self._place(agent)]) if agent in acted else 0.0 for agent in reported},
            dict.fromkeys(reported, False),
            {agent: bool(self._truncated[self._place(agent)]) for agent in reported},
            {agent: {"interval": self._interval(agent)} for agent in reported},
        )

    def close(self) -> None:
        """Nothing to close."""

    def _place(self, agent: str) -> int:
        return self.possible_agents.index(agent)

    def _who(self, are: NDArray[np.bool_]) -> list[str]:
        return [agent for agent, is_one in zip(self.possible_agents, are, strict=True) if is_one]

    def _seen(self, agents: Iterable[str]) -> Agents:
        return {agent: self._observations[self._place(agent)].copy() for agent in agents}

    def _interval(self, agent: str) -> dict[str, float]:
        numbers = zip(COLUMNS, self._rows[self._place(agent)], strict=True)
        return {name: float(number) for name, number in numbers if not math.isnan(number)}
