"""Learning in real calls: a policy's weights are replaced between two decisions while the call goes on ([zhang2020]).

What learns and by which rule is the same as in simulated calls (:mod:`legato.train.online`): PPO on rounds of about ten
seconds, under a safeguard, each user's weights averaged with the others' after every call. But a call cannot stop: it
hands over each interval as it is finished, a second thread learns and gives weights back, and neither waits for the
other. Decisions are judged by the weights that drew them, which may be a round old.

A user is a link of the plan: its calls are those of the plan's seeds. The folder is::

    progress.jsonl              one line per call
    users/N.safetensors         each user's learner, from which the next call goes on
    policy/                     the average of all users' weights, written after each call
"""

from __future__ import annotations

import copy
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from legato import _core, atomic
from legato.envs import CallVectorEnv, rewards
from legato.envs.intervals import COLUMNS, Intervals
from legato.errors import TrainingError
from legato.plan import shipped
from legato.policy import policy_folder
from legato.train import checkpoint
from legato.train.actor_critic import NO_STATE
from legato.train.learner import without_gradients
from legato.train.online import POLICY, PROGRESS, OnlineSettings, share
from legato.train.ppo import Ppo

if TYPE_CHECKING:
    from legato.plan import Plan

USERS = "users"
REWARD = "onrl"
"""Made for policies that learn under a safeguard, of what a sender knows."""

_POLL_S = 0.1
_NICE = 10
"""The learner's thread gives way to the call's."""


@dataclass(frozen=True)
class CallLearned:
    """The outcome of a call."""

    session: int
    user: int
    call: int
    """Of the user, from 0."""
    decisions: int
    rounds: int
    """Rounds learned from, those after the call's end too."""
    weights_used: int
    """The newest weights that decided in the call: 0 are the initial ones."""
    reward: float
    """Per decision."""
    takeovers_per_min: float
    """Of the safeguard."""


class _Known(Intervals):
    """Figures of a real call, whose ground truth no sender has."""

    def __getitem__(self, name: str) -> Any:
        if name.startswith("true_"):
            raise TrainingError(f"reads {name}, which no sender of a real call knows", "aurora, onrl, onrl-own do not")
        return super().__getitem__(name)


class LearningInCalls:
    """The users of a plan's real calls, and where they keep their policies.

    Args:
        plan: of one learned controller at the sender.
        folder: gets what is above; one that holds it already needs ``resume``.
        settings: how users learn; their number is the plan's.
        reward: a name of :mod:`legato.envs.rewards` that reads no ground truth.
        seed: of exploration's learner.
        resume: go on with what the folder holds.
    """

    def __init__(
        self,
        plan: Plan,
        folder: str | Path,
        settings: OnlineSettings | None = None,
        *,
        reward: str = REWARD,
        seed: int = 1,
        resume: bool = False,
    ) -> None:
        self.folder = Path(folder)
        self._settings = settings or OnlineSettings()
        self.controller, self._config = _learned(plan)
        policy = shipped.policy(Path(str(self._config.pop("policy", "") or self.controller)))
        self._manifest, self._layers, self._tensors = policy_folder.read(policy)
        if factor := self._manifest["observation"].get("interval_rtt_factor"):
            self._config.setdefault("interval_rtt_factor", factor)
        if any(layer["kind"] == "gru" for layer in self._layers):
            raise TrainingError(f"{policy}: remembers (a layer is a gru), and cannot learn in real calls")
        self._reward = rewards.named(reward)
        try:
            self._reward(_Known(np.zeros((1, len(COLUMNS)), np.float32)))
        except TrainingError as error:
            raise TrainingError(f"reward {reward}: {error}", error.hint) from None
        self.users = plan.sessions // max(len(plan.seeds), 1)
        torch.set_num_threads(1)
        env = CallVectorEnv(1, "nvc_cc", self.controller, REWARD, threads=1)
        self._learners = [
            _Learner(env, self._layers, self._tensors, self._settings, seed + n) for n in range(self.users)
        ]
        self.done: list[CallLearned] = []
        if self.folder.exists() and any(self.folder.iterdir()):
            if not resume or not (self.folder / PROGRESS).is_file():
                raise TrainingError(f"{self.folder}: is not empty", "--resume goes on with it; or name another folder")
            self._restore()

    def steered(self, plan: Plan) -> Plan:
        """The plan, its controller under the safeguard and steered from outside."""
        (given,) = plan.controllers
        label = given.get("label") if isinstance(given, dict) else None
        around = {"inner": self.controller, "inner_config": {**self._config, "policy": "hand"}}
        guarded = {"name": "safeguard", "label": label or f"{self.controller} learning", "config": around}
        return replace(plan, controllers=[guarded])

    def order(self, plan: Plan) -> list[int]:
        """The plan's sessions in the order of calls: one of every user, then the next of every user."""
        return sorted(range(plan.sessions), key=lambda number: (self._call(plan, number), self._user(plan, number)))

    @contextmanager
    def during(self, plan: Plan, number: int) -> Iterator[_core.LiveExchange]:
        """Learn from session ``number`` while it is called; the new weights are kept if nothing fails."""
        user, call = self._user(plan, number), self._call(plan, number)
        learner = self._learners[user]
        text, weights = policy_folder.packed(self._manifest, self._layers, _arrays(learner.agent))
        exchange = _core.LiveExchange(text, weights, learner.std(), str(self.folder / POLICY))
        beside = _Beside(learner, exchange, self._pack, self._reward)
        beside.start()
        try:
            yield exchange
        finally:
            beside.end()
        beside.raise_problem()
        self._keep(CallLearned(number, user, call, **beside.figures()))

    def _keep(self, learned: CallLearned) -> None:
        self.done.append(learned)
        if self._settings.federated and len({one.user for one in self.done if one.call == learned.call}) == self.users:
            share([learner.agent for learner in self._learners])
        (self.folder / USERS).mkdir(parents=True, exist_ok=True)
        for number, learner in enumerate(self._learners):
            checkpoint.save(self.folder / USERS / f"{number}.safetensors", learner.tensors(), learner.facts())
        mean = copy.deepcopy(self._learners[0].agent)
        share([mean, *(copy.deepcopy(learner.agent) for learner in self._learners[1:])])
        facts = {"users": self.users, "calls": len(self.done), "federated": self._settings.federated, "real": True}
        trained = {**self._manifest.get("trained", {}), "learned_online": facts}
        policy = self.folder / POLICY
        policy_folder.write(policy, self._manifest | {"trained": trained}, self._layers, _arrays(mean), onnx=False)
        lines = "".join(json.dumps(vars(one)) + "\n" for one in self.done)
        atomic.write_text(self.folder / PROGRESS, lines)

    def _restore(self) -> None:
        lines = (self.folder / PROGRESS).read_text(encoding="utf-8").splitlines()
        try:
            self.done = [CallLearned(**json.loads(line)) for line in lines]
        except (TypeError, ValueError) as error:
            raise TrainingError(f"{self.folder / PROGRESS}: {error}") from error
        for number, learner in enumerate(self._learners):
            learner.restore(*checkpoint.load(self.folder / USERS / f"{number}.safetensors"))

    def _pack(self, learner: _Learner) -> bytes:
        return policy_folder.packed(self._manifest, self._layers, _arrays(learner.agent))[1]

    @staticmethod
    def _user(plan: Plan, number: int) -> int:
        _, trace, clip, _ = plan.places(number)
        return trace * max(len(plan.clips), 1) + clip

    @staticmethod
    def _call(plan: Plan, number: int) -> int:
        return plan.places(number)[3]


class _Learner(Ppo):
    """PPO whose rounds are played by a real call."""

    def __init__(
        self,
        env: Any,
        layers: Sequence[Mapping[str, Any]],
        tensors: Mapping[str, Any],
        settings: OnlineSettings,
        seed: int,
    ) -> None:
        super().__init__(env, layers, settings.ppo, seed)
        self.agent.actor.load(tensors)
        self._warm_up_rounds = settings.warm_up_calls * settings.rounds_a_call
        self._played: _Round | None = None

    def std(self) -> float:
        """Of a continuous action's noise; 0 where actions are choices."""
        return 0.0 if self.agent.discrete else self.agent.action_std()

    def learn_from(self, played: _Round) -> None:
        """One round. The first rounds teach the critic alone, as in simulated calls."""
        before = {name: tensor.clone() for name, tensor in self.agent.actor_tensors().items()}
        self._played = played
        warms_up = self.rounds_done < self._warm_up_rounds
        self.iterate()
        if warms_up:
            self.agent.actor.load(before)

    @without_gradients
    def play(self) -> Tensor:
        """Take the round that the call has played; returns the value of the state after it."""
        played, r = self._played, self.rollout
        assert played is not None  # learn_from sets it
        steps = self.settings.rollout
        seen = torch.from_numpy(played.observations)
        _, values, _ = self.agent(seen, NO_STATE)
        values = self.agent.denormalised(values)
        r.hidden = NO_STATE
        r.obs[:, 0], r.values[:, 0], r.rewards[:, 0] = seen[:steps], values[:steps], torch.from_numpy(played.rewards)
        actions = torch.from_numpy(played.actions)
        r.actions[:, 0] = actions.long() if self.agent.discrete else actions.unsqueeze(-1)
        for version in np.unique(played.versions):
            chosen = torch.from_numpy(played.versions == version)
            drew = played.agents[int(version)]
            out, _, _ = drew(seen[:steps][chosen], NO_STATE)
            r.log_probs[chosen, 0] = drew.distribution.log_prob(out, r.actions[chosen, 0])
        r.starts.zero_()
        r.done.zero_()
        r.final_values.zero_()
        r.starts[0, 0] = played.begins
        return values[steps:]


@dataclass(frozen=True)
class _Round:
    """Decisions of a real call in a row."""

    observations: np.ndarray
    """One more than decisions."""
    actions: np.ndarray
    versions: np.ndarray
    """Of the weights that drew each action."""
    rewards: np.ndarray
    """Of what followed each action."""
    agents: Mapping[int, Any]
    """By version."""
    begins: bool
    """Whether the call began with it."""


class _Beside(threading.Thread):
    """Learns from a call while it runs."""

    def __init__(self, learner: _Learner, exchange: _core.LiveExchange, pack: Any, reward: Any) -> None:
        super().__init__(name="legato-learner", daemon=True)
        self._learner, self._exchange, self._pack, self._reward = learner, exchange, pack, reward
        self._over = threading.Event()
        self._problem: Exception | None = None
        self._agents = {0: copy.deepcopy(learner.agent)}
        self._version = self._rounds = self._first = 0
        self._seen: list[tuple[np.ndarray, float, int, float]] = []
        self._rewards: list[float] = []
        self._takeovers = self._seconds = 0.0
        self._weights_used = self._decisions = 0
        rewards.forget(reward, np.ones(1, np.bool_))

    def run(self) -> None:
        """Until the call is over and its last intervals are used."""
        with suppress(AttributeError, OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        try:
            over = False
            while not over:
                over = self._over.wait(_POLL_S)
                self._take()
                while len(self._seen) > self._learner.settings.rollout:
                    self._learn()
        except Exception as problem:  # the call goes on; its owner hears of it afterwards
            self._problem = problem

    def end(self) -> None:
        """The call is over."""
        self._over.set()
        self.join()

    def raise_problem(self) -> None:
        """What stopped the learning, if anything did."""
        if self._problem is not None:
            raise self._problem

    def figures(self) -> dict[str, Any]:
        """Of the call."""
        return {
            "decisions": self._decisions,
            "rounds": self._rounds,
            "weights_used": self._weights_used,
            "reward": float(np.mean(self._rewards)) if self._rewards else 0.0,
            "takeovers_per_min": 60.0 * self._takeovers / max(self._seconds, 1e-9),
        }

    def _take(self) -> None:
        observations, actions, versions, rows = self._exchange.take()
        for seen, action, version, row in zip(observations, actions, versions, rows, strict=True):
            interval = _Known(row[None])
            reward = float(self._reward(interval)[0])
            # The first interval of a call is before any action.
            if self._decisions:
                self._rewards.append(reward)
            self._takeovers += float(interval["takeovers"][0])
            self._seconds += float(interval["interval_s"][0])
            self._decisions += 1
            self._weights_used = max(self._weights_used, int(version))
            self._seen.append((seen, float(action), int(version), reward))

    def _learn(self) -> None:
        steps = self._learner.settings.rollout
        part, self._seen = self._seen[: steps + 1], self._seen[steps:]
        begins, self._first = self._first == 0, self._first + 1
        observations, actions, versions, gained = (np.array(column) for column in zip(*part, strict=True))
        played = _Round(
            observations.astype(np.float32),
            actions[:steps].astype(np.float32),
            versions[:steps],
            gained[1:].astype(np.float32),
            self._agents,
            begins,
        )
        # An output that is not finite let the fallback decide: such a round teaches nothing.
        if not (np.isfinite(played.actions).all() and np.isfinite(played.rewards).all()):
            return
        self._learner.learn_from(played)
        self._rounds += 1
        self._version += 1
        self._agents[self._version] = copy.deepcopy(self._learner.agent)
        needed = min((version for _, _, version, _ in self._seen), default=self._version)
        for version in [known for known in self._agents if known < min(needed, self._weights_used)]:
            del self._agents[version]
        self._exchange.give(self._version, self._pack(self._learner), self._learner.std())


def _learned(plan: Plan) -> tuple[str, dict[str, Any]]:
    """The plan's one learned controller at the sender, and its parameters."""
    if len(plan.controllers) != 1:
        raise TrainingError(f"learn: one controller learns, and {len(plan.controllers)} are named", "--controller onrl")
    (given,) = plan.controllers
    name, config = (given, {}) if isinstance(given, str) else (given["name"], dict(given.get("config") or {}))
    entry = next(entry for entry in _core.controllers() if entry["name"] == name)
    if not entry["learned"] or entry["side"] != "sender":
        raise TrainingError(f"learn: {name} is not a learned controller at the sender", "onrl, aurora and nvc-cc are")
    return name, config


def _arrays(agent: Any) -> dict[str, np.ndarray]:
    return {name: tensor.detach().numpy() for name, tensor in agent.actor_tensors().items()}
