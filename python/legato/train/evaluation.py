"""How good a policy is on networks it is not trained on: the reward of whole calls, without exploration."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from legato.errors import TrainingError
from legato.train.learner import without_gradients

MAX_DECISIONS = 100_000
"""Of one call: an environment that never ends an episode is reported."""


class Actor(Protocol):
    """A policy that can be evaluated."""

    def initial(self, envs: int) -> Any: ...

    def best(self, obs: Tensor, hidden: Any) -> tuple[Tensor, Any]: ...

    def to_env(self, action: Tensor) -> np.ndarray: ...


@without_gradients
def evaluate(actor: Actor, env: Any, seed: int, options: Mapping[str, Any] | None = None) -> dict[str, float]:
    """Play each environment's first episode after ``reset(seed, options)``: the same networks at every evaluation.

    Returns:
        ``reward``: per decision, the mean over calls; ``reward_p10``: its tenth percentile over calls; ``calls``: their
        number.
    """
    obs, _ = env.reset(seed=seed, options=dict(options) if options else None)
    hidden = actor.initial(env.num_envs)
    total = np.zeros(env.num_envs)
    decisions = np.zeros(env.num_envs)
    playing = np.ones(env.num_envs, dtype=bool)
    for _ in range(MAX_DECISIONS):
        action, hidden = actor.best(torch.from_numpy(np.array(obs, dtype=np.float32)), hidden)
        obs, reward, terminated, truncated, _ = env.step(actor.to_env(action))
        total += np.where(playing, reward, 0.0)
        decisions += playing
        playing &= ~(terminated | truncated)
        if not playing.any():
            break
    else:
        raise TrainingError(f"an episode of evaluation has not ended after {MAX_DECISIONS} decisions")
    rewards = total / decisions
    return {
        "reward": float(rewards.mean()),
        "reward_p10": float(np.percentile(rewards, 10)),
        "calls": float(env.num_envs),
    }


class Evaluator:
    """Evaluations during a training, one after another on one thread, each of a copy of the actor.

    The environment is made, used and closed on that thread: native ones must stay with the thread that made them.
    """

    def __init__(self, make_env: Callable[[], Any], seed: int) -> None:
        self._seed = seed
        self._env: Any = None
        # OpenMP's number of threads is set per calling thread: without this a second one spins through evaluations.
        self._thread = ThreadPoolExecutor(
            max_workers=1, thread_name_prefix="evaluation", initializer=torch.set_num_threads, initargs=(1,)
        )
        self._made = self._thread.submit(self._make, make_env)

    def begin(self, actor: Actor) -> Future[dict[str, float]]:
        """Starts :func:`evaluate`; returns its future result."""
        return self._thread.submit(self._evaluate, copy.deepcopy(actor))

    def close(self) -> None:
        """Wait for the evaluations that have started."""
        self._thread.submit(self._close)
        self._thread.shutdown()

    def _make(self, make_env: Callable[[], Any]) -> None:
        self._env = make_env()

    def _evaluate(self, actor: Actor) -> dict[str, float]:
        self._made.result()  # raises why there is no environment
        return evaluate(actor, self._env, self._seed)

    def _close(self) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None
