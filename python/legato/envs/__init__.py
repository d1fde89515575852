"""Environments: calls steered from outside, for reinforcement learning. Needs ``pip install legato-rtc[gym]``.

``legato.envs.CallVectorEnv`` steps many calls at once in Rust; ``gymnasium.make("legato/Call-v0")`` is one call.
Rewards are functions in :mod:`legato.envs.rewards`; observations and actions are those of a learned controller
(``legato controllers``), the same that run in simulated and real calls.
"""

from __future__ import annotations

from legato.envs.registration import require_gymnasium

require_gymnasium()

from legato.envs.call_env import CallEnv  # noqa: E402
from legato.envs.intervals import Intervals  # noqa: E402
from legato.envs.joined_env import JoinedVectorEnv  # noqa: E402
from legato.envs.registration import register  # noqa: E402
from legato.envs.replayed_env import ReplayedVectorEnv  # noqa: E402
from legato.envs.vector_env import CallVectorEnv  # noqa: E402

register()

__all__ = ["CallEnv", "CallVectorEnv", "Intervals", "JoinedVectorEnv", "ReplayedVectorEnv"]
