"""Guided PPO: early in training, the actor is also drawn towards what the simulator knows to be right.

A recurrent policy whose action is the bitrate itself has to learn from the reward alone that its action should follow
the receiver rate, which takes far more calls. Here the loss begins with a further term, the distance of the actor's
output to a share of the capacity to come, on the states that the policy itself visits. Distances above count more than
those below, so a low quantile is learned: near the capacity where it can be predicted, well below where it cannot. The
term fades to zero: the end of the training depends on the reward alone. The observation never holds the label, and
nothing of this is deployed.

It combines interactive imitation (as in [concerto]) with PPO; [r3net] has PPO alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorWrapper
from torch import Tensor

from legato.errors import TrainingError
from legato.train.ppo import Batch, Ppo, Settings
from legato.train.schedule import Schedule, at


@dataclass(frozen=True)
class GuidedSettings(Settings):
    """PPO's, and those of the guidance."""

    guide_weight: Schedule = ((0.0, 10.0), (0.5, 10.0), (0.7, 0.0))
    """Of the distance to the label, relative to the policy's loss."""
    over_weight: float = 12.0
    """How much more a bitrate above the label counts than one below: a high one fills queues."""
    guide_ratio: float = 1.0
    """The label: this share of the capacity to come, minus …"""
    drain_per_s: float = 2.0
    """… this much of it for each second of queuing delay: the queue needs capacity too."""
    full_scale_bps: float = 8e6
    """The rate that an action of 1 means."""


_SMOOTH = 0.1
"""Of an output in logits: a tenth of a small rate."""


class GuidedPpo(Ppo):
    """A training in progress. For recurrent policies whose action is a rate as a share of ``full_scale_bps``."""

    settings: GuidedSettings

    def __init__(self, env: Any, layers: Sequence[Mapping[str, Any]], settings: GuidedSettings, seed: int) -> None:
        super().__init__(_Watched(env), layers, settings, seed)
        if not (self.agent.recurrent and settings.explore_in_logits):
            raise TrainingError("guided: a recurrent network and explore_in_logits are needed")

    def learn(self, last_value: Tensor, share_done: float) -> dict[str, float]:
        """As PPO's, with labels."""
        self._guide_weight = at(self.settings.guide_weight, share_done)
        self.rollout.labels = self.labels(*self.env.taken(self.settings.rollout))
        return super().learn(last_value, share_done)

    def labels(self, capacity_ahead_bps: Tensor, queue_delay_s: Tensor) -> Tensor:
        """The actor's target output; NaN where the capacity is unknown."""
        s = self.settings
        ratio = (s.guide_ratio - s.drain_per_s * queue_delay_s).clamp(min=0.1)
        share = ratio * capacity_ahead_bps / s.full_scale_bps
        return torch.logit(share.clamp(0.005, 0.95))

    def further_loss(self, out: Tensor, batch: Batch) -> Tensor | float:
        """The weighted distance to the labels."""
        if self._guide_weight == 0.0:
            return 0.0
        return self._guide_weight * quantile_distance(out.squeeze(-1), batch.labels, self.settings.over_weight)


def quantile_distance(out: Tensor, labels: Tensor, over_weight: float) -> Tensor:
    """How far outputs are from their labels, the mean over all decisions; an unknown label (NaN) is no distance."""
    # [koenker1978]: a quantile's loss is |d|, weighted by d's sign. Here it is smooth: its slope is d / (|d| + s).
    distance = (out - labels).nan_to_num(0.0)
    size = distance.abs()
    smooth = size - _SMOOTH * torch.log1p(size / _SMOOTH)
    return torch.where(distance > 0, over_weight * smooth, smooth).mean()


class _Watched(VectorWrapper):
    """An environment that records the capacity ahead and the delay behind for each action."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._seen: list[tuple[np.ndarray, np.ndarray]] = []
        self._next = self._nothing()

    def reset(self, **kwargs: Any) -> Any:
        self._seen.clear()
        self._next = self._nothing()
        return self.env.reset(**kwargs)

    def step(self, actions: Any) -> Any:
        self._seen.append(self._next)
        stepped = self.env.step(actions)
        _, _, _, truncated, info = stepped
        # The next call's first capacity is not in this call's last interval.
        intervals = info["intervals"]
        ahead_bps = np.where(truncated, np.nan, intervals["true_capacity_ahead_bps"])
        # Where nothing arrived, the queue has waited for another interval.
        waited_s = self._next[1] + intervals["interval_s"]
        delay_s = np.where(np.isnan(intervals["delay_ms"]), waited_s, intervals.seconds("delay"))
        self._next = (ahead_bps.astype(np.float32), np.where(truncated, 0.0, delay_s).astype(np.float32))
        return stepped

    def taken(self, steps: int) -> tuple[Tensor, Tensor]:
        """Of the last ``steps`` actions, ``(T, N)`` each: the capacity ahead in bit/s, the queuing delay in s."""
        last, self._seen = self._seen[-steps:], []
        ahead_bps, delay_s = (torch.from_numpy(np.stack(one)) for one in zip(*last, strict=True))
        return ahead_bps, delay_s

    def _nothing(self) -> tuple[np.ndarray, np.ndarray]:
        return np.full(self.env.num_envs, np.nan, np.float32), np.zeros(self.env.num_envs, np.float32)
