"""Learning where it runs: a policy that goes on learning in the calls it decides ([zhang2020], OnRL).

Each user's policy learns from that user's calls, on that user's network, while they run. Every few seconds it takes
some gradient steps and decides with the new weights from the next interval on. After each call the weights of all users
are averaged and given back to them ([zhang2020] calls it federated). A safeguard bounds what exploring can do: a rule
decides while the path is at risk, and each takeover costs reward.

Nothing learns unless :func:`learn_online` is called: a policy in a plan or a call never changes. The frozen policy
meets the same calls under the same safeguard, so that what learning gained or cost is a paired difference.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from legato.errors import TrainingError
from legato.policy import policy_folder
from legato.train.evaluation import evaluate
from legato.train.learner import without_gradients
from legato.train.ppo import Ppo, Settings

PROGRESS = "progress.jsonl"
POLICY = "policy"
_NO_ACTOR_STEPS_SEED = 7


@dataclass(frozen=True)
class OnlineSettings:
    """How users learn. PPO's numbers are those of one call's rounds."""

    users: int = 8
    calls: int = 10
    """Of each user, one after the other."""
    warm_up_calls: int = 1
    """First calls in which the critic learns and the policy does not: a critic that knows nothing would spoil it."""
    federated: bool = True
    """Average the users' weights after each call; otherwise each keeps its own."""
    ppo: Settings = field(
        default_factory=lambda: Settings(
            envs=1, rollout=196, minibatch=98, epochs=4, learning_rate=2e-3, discount=0.95, gae_lambda=0.9,
            clip=0.1, initial_action_std=0.05, entropy_weight=0.0,
        )
    )  # fmt: skip
    """``rollout`` decisions of 50 ms are about 10 s: the batch of one round."""
    rounds_a_call: int = 3
    """With these, the 30 s of a call."""


@dataclass(frozen=True)
class OnlineCall:
    """A call of a user."""

    call: int
    """From 0."""
    user: int
    reward: float
    """Per decision, with exploration."""
    frozen_reward: float
    """Of the policy that all began with, on the same call, without exploration."""
    takeovers_per_min: float
    """Of the safeguard."""


@dataclass(frozen=True)
class LearnedOnline:
    """The outcome."""

    folder: Path
    calls: tuple[OnlineCall, ...]

    def gain(self, first: int, last: int) -> list[float]:
        """Reward minus the frozen policy's, over calls ``first`` to ``last``, one mean for each user."""
        users = sorted({each.user for each in self.calls})
        chosen = [each for each in self.calls if first <= each.call <= last]
        return [float(np.mean([c.reward - c.frozen_reward for c in chosen if c.user == user])) for user in users]


def learn_online(
    policy: str | Path,
    make_env: Callable[[int], Any],
    folder: str | Path,
    settings: OnlineSettings | None = None,
    *,
    seed: int = 1,
    on_call: Callable[[int, Sequence[OnlineCall]], None] | None = None,
) -> LearnedOnline:
    """Let users learn from a policy onwards, and write the weights they end with.

    Args:
        policy: the folder all users begin with.
        make_env: the environment of a user by its number: one call at a time, under its safeguard. It is reset with a
            seed for each call.
        folder: gets ``progress.jsonl`` and, under ``policy``, the average of all users' weights.
        settings: how they learn.
        seed: of exploration and calls.
        on_call: called after each call of all users, with its number and what it brought.
    """
    settings = settings or OnlineSettings()
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise TrainingError(f"{folder}: is not empty", "name another folder")
    torch.set_num_threads(1)
    manifest, layers, tensors = policy_folder.read(Path(policy))
    users = [_User(number, make_env(number), layers, tensors, settings, seed) for number in range(settings.users)]
    frozen = copy.deepcopy(users[0].learner.agent)
    frozen_envs = [make_env(number) for number in range(settings.users)]
    folder.mkdir(parents=True, exist_ok=True)
    done: list[OnlineCall] = []
    with (folder / PROGRESS).open("w", encoding="utf-8") as lines:
        for call in range(settings.calls):
            seeds = [call_seed(seed, user.number, call) for user in users]
            rewards = [user.play(call, own) for user, own in zip(users, seeds, strict=True)]
            kept = [evaluate(frozen, env, own)["reward"] for env, own in zip(frozen_envs, seeds, strict=True)]
            now = [
                OnlineCall(call, user.number, reward, of_frozen, user.takeovers_per_min)
                for user, reward, of_frozen in zip(users, rewards, kept, strict=True)
            ]
            lines.writelines(json.dumps(asdict(each)) + "\n" for each in now)
            lines.flush()
            done += now
            if settings.federated:
                share([user.learner.agent for user in users])
            if on_call is not None:
                on_call(call, now)
    agents = [user.learner.agent for user in users]
    share(agents)
    learned = manifest | {"trained": {**manifest.get("trained", {}), "learned_online": _facts(settings, seed)}}
    arrays = {name: tensor.detach().numpy() for name, tensor in agents[0].actor_tensors().items()}
    policy_folder.write(folder / POLICY, learned, layers, arrays, onnx=False)
    for env in [*frozen_envs, *(user.learner.env for user in users)]:
        env.close()
    return LearnedOnline(folder, tuple(done))


def call_seed(seed: int, user: int, call: int) -> int:
    """Of a user's call: networks of different users and calls are independent."""
    return int(np.random.SeedSequence([seed, user, call]).generate_state(1)[0])


@without_gradients
def share(agents: Sequence[torch.nn.Module]) -> None:
    """Give all agents the mean of their weights: federated averaging, each user with the same weight."""
    states = [agent.state_dict() for agent in agents]
    mean = {name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]}
    for agent in agents:
        agent.load_state_dict(mean)


def _facts(settings: OnlineSettings, seed: int) -> dict[str, Any]:
    return {"users": settings.users, "calls": settings.calls, "federated": settings.federated, "seed": seed}


class _User:
    """A user: a learner and its calls."""

    def __init__(
        self,
        number: int,
        env: Any,
        layers: Sequence[Mapping[str, Any]],
        tensors: Mapping[str, Any],
        settings: OnlineSettings,
        seed: int,
    ) -> None:
        self.number = number
        self.settings = settings
        counted = _CountingTakeovers(env)
        ppo = replace(settings.ppo, steps=settings.calls * settings.rounds_a_call * settings.ppo.round_steps)
        own_seed = int(np.random.SeedSequence([seed, number, _NO_ACTOR_STEPS_SEED]).generate_state(1)[0])
        self.learner = Ppo(counted, layers, ppo, own_seed)
        self.learner.agent.actor.load(tensors)
        self._takeovers = counted

    def play(self, call: int, seed: int) -> float:
        """One call, learning from it; the reward per decision."""
        self.learner.begin(seed)
        self._takeovers.forget()
        rewards = []
        for _ in range(self.settings.rounds_a_call):
            before = {name: tensor.clone() for name, tensor in self.learner.agent.actor_tensors().items()}
            rewards.append(self.learner.iterate()["reward"])
            if call < self.settings.warm_up_calls:
                self.learner.agent.actor.load(before)
        return float(np.mean(rewards))

    @property
    def takeovers_per_min(self) -> float:
        """Of the last call."""
        return self._takeovers.per_min()


class _CountingTakeovers:
    """An environment that counts the safeguard's takeovers."""

    def __init__(self, env: Any) -> None:
        self._env = env
        self.forget()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def forget(self) -> None:
        """Begin to count."""
        self._count = self._seconds = 0.0

    def step(self, actions: Any) -> Any:
        """As the environment's."""
        result = self._env.step(actions)
        intervals = result[-1]["intervals"]
        self._count += float(intervals["takeovers"].sum())
        self._seconds += float(intervals["interval_s"].sum())
        return result

    def per_min(self) -> float:
        """Since :meth:`forget`."""
        return 60.0 * self._count / max(self._seconds, 1e-9)
