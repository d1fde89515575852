"""Interactive imitation: Concerto's training. Play, ask the expert for its action, learn that, play again.

The expert is the simulator, which knows what the network can carry. Each of ``loops`` rounds of supervision plays all
environments with a mixture: the expert decides with probability ``beta``, otherwise the learner; in the first loop,
before the learner has learned anything, the expert always does. All states visited are labelled with the expert's
choice and added to those of earlier loops, and the network is trained on them for some epochs.

An environment reports what the expert would do on the observation it returns: ``info["expert_action"]``, ``(N,)``
indices, from ``reset`` and from every ``step``.

How we read [concerto] section 3.3 where it is open:

- eq. (6) prints the weights 2^-k, all equal; the text wants nearer decisions to weigh more, so 2^-i. A "weighted
  average" has weights that sum to one; where an episode has fewer predecessors, the existing ones are averaged.
- eq. (7) needs a gradient, which an argmax lacks: there the policy is the mean rate of its distribution. Predecessors
  are computed with the current weights (or those of the epoch's beginning, ``smooth_refresh``) and held fixed. In
  eq. (4) the policy is the argmax, as printed.
- Rates are in units of ``unit_mbps``. In Mbit/s, where no squared error exceeds 6.25, C = 8 drowns it as C = 100 does.
In steps of 0.1 Mbit/s C = 8 is an error of 3 steps and C = 100 one of 10, the two that the paper's Table 3 compares.
- The learning rate is multiplied by 0.6 each loop, and the 20 epochs are those of all loops together.
- "L2 normalization" of the last layer is a penalty on its weights.

- Between the expert and the learner, the newest learner alone plays, unless ``smile`` is set: [concerto] names the
  algorithm SMILE ([ross2010]), which plays a mixture of the learners of all loops so far, and less and less of the
  expert: with 1 - alpha for beta, the expert has beta^n of the decisions of loop n and learner j (1 - beta) beta^(j-1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from gymnasium.spaces import Discrete
from torch import Tensor, nn
from torch.nn import functional

from legato.errors import TrainingError
from legato.train.learner import Learner, without_gradients
from legato.train.network import Network


@dataclass(frozen=True)
class Settings:
    """Every number of a training."""

    rates_mbps: tuple[float, ...] = tuple(k / 10 for k in range(26))
    """The rate of each choice."""
    envs: int = 64
    rollout: int = 300
    """Decisions of each environment in a loop."""
    loops: int = 4
    epochs: int = 5
    """Of each loop."""
    beta: float = 0.5
    """Share of decisions that the expert takes."""
    smile: bool = False
    """Whether the learners of all earlier loops play, as in SMILE, and the expert's share is ``beta`` to the power of
    the loop; otherwise the newest learner plays with a constant share of the expert."""
    aggregate: bool = True
    """Whether a loop also learns from the states of earlier ones."""
    minibatch: int = 32
    learning_rate: float = 1e-3
    learning_rate_decay_ratio: float = 0.6
    """Factor on the learning rate from loop to loop."""
    weighted: bool = True
    """Whether errors weigh by their size, eq. (4); otherwise plain cross-entropy, eq. (3)."""
    overshoot_weight: float = 8.0
    """C: the additional weight of a rate above the expert's."""
    smooth_weight: float = 0.5
    """lambda of eq. (7)."""
    unit_mbps: float = 1.0
    """The unit of errors and steps of the rate, eq. (4) and (7)."""
    smooth_decisions: int = 3
    """k of eq. (6)."""
    smooth_refresh: Literal["step", "epoch"] = "step"
    """When the rates of the preceding decisions, eq. (6), are recomputed. Once per epoch takes a third of the time."""
    l2_weight: float = 1e-4
    """Of the last layer's weights."""

    @property
    def rounds(self) -> int:
        """Epochs of the whole training."""
        return self.loops * self.epochs

    @property
    def round_steps(self) -> int:
        """Decisions played per epoch."""
        return self.envs * self.rollout // self.epochs


class Classifier(nn.Module):  # type: ignore[misc] # torch is not there to be read
    """The network as a classifier, for evaluation and export."""

    def __init__(self, layers: Sequence[Mapping[str, Any]], actions: Discrete) -> None:
        super().__init__()
        table = [dict(layer) for layer in layers]
        if table[-1]["outputs"] != actions.n:
            raise TrainingError(
                f"layer {table[-1]['name']}: outputs is {table[-1]['outputs']}, choices are {actions.n}"
            )
        if table[-1].get("activation") == "softmax":  # the loss takes its logarithm, which is exact only before
            table[-1]["activation"] = "linear"
        self.actor = Network(table)
        if self.actor.recurrent:
            raise TrainingError("imitation trains networks without memory", "put the past into the observation")

    def forward(self, obs: Tensor) -> Tensor:
        """Logits, ``(B, choices)``."""
        return self.actor(obs, self.actor.initial(len(obs)))[0]

    def initial(self, envs: int) -> None:
        """It has no state."""

    def best(self, obs: Tensor, hidden: None) -> tuple[Tensor, None]:
        """The likeliest choice."""
        return self(obs).argmax(-1), hidden

    def to_env(self, action: Tensor) -> np.ndarray:
        """As the environment takes it."""
        taken: np.ndarray = action.numpy()
        return taken

    def actor_tensors(self) -> dict[str, Tensor]:
        """The weights by ``layer.tensor``."""
        return self.actor.tensors()


class Imitation(Learner):
    """A training in progress; a round is an epoch, a leg must be a loop.

    Args:
        env: a ``gymnasium.vector.VectorEnv`` with choices, ``SAME_STEP``, and ``info["expert_action"]``.
        layers: the network's layer table, as in ``policy.toml``.
        seed: of weights, the mixture and the order of minibatches.
    """

    def __init__(self, env: Any, layers: Sequence[Mapping[str, Any]], settings: Settings, seed: int) -> None:
        if not isinstance(env.single_action_space, Discrete) or env.single_action_space.n != len(settings.rates_mbps):
            raise TrainingError(f"actions are {env.single_action_space}, rates_mbps names {len(settings.rates_mbps)}")
        self.env, self.settings = env, settings
        self.random = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # torch's own first weights
            self.agent = Classifier(layers, env.single_action_space)
        last = f"{self.agent.actor.last}.weight"
        tensors = self.agent.actor.tensors()
        groups = [
            {"params": [t for name, t in tensors.items() if name != last]},
            {"params": [tensors[last]], "weight_decay": 2 * settings.l2_weight},
        ]
        self.adam = torch.optim.Adam(groups, lr=settings.learning_rate, fused=True)
        self.rates = torch.tensor(settings.rates_mbps, dtype=torch.float32)
        self.learners: list[dict[str, Tensor]] = []
        """The weights at the end of each loop so far; only SMILE keeps them."""
        features = int(np.prod(env.single_observation_space.shape))
        self.seen = {"obs": torch.empty(0, features), "labels": torch.empty(0).long(), "age": torch.empty(0).long()}
        """All states to learn from: ``obs (S, F)``, the expert's ``labels (S,)``, and ``age (S,)``: decisions since the
        episode began. They are in order of time, so that an environment's previous state is ``envs`` rows before."""

    def begin(self, seed: int, options: Mapping[str, Any] | None = None) -> None:
        """Reset the environments and play a loop's decisions in them."""
        if self.rounds_done % self.settings.epochs:
            raise TrainingError(f"round {self.rounds_done} lies within a loop", "leg_rounds must be settings.epochs")
        loop = self.rounds_done // self.settings.epochs
        if self.settings.smile and loop:
            self.learners.append({name: x.detach().clone() for name, x in self.agent.actor.tensors().items()})
        expert_ratio = self.settings.beta**loop if self.settings.smile else self.settings.beta
        played = self._play(seed, options, expert_ratio if loop else 1.0)
        if self.settings.aggregate:
            played = {name: torch.cat((self.seen[name], x)) for name, x in played.items()}
        self.seen = played

    @without_gradients
    def _play(self, seed: int, options: Mapping[str, Any] | None, beta: float) -> dict[str, Tensor]:
        """The states of one loop; the expert acts with probability ``beta``."""
        s = self.settings
        obs, info = self.env.reset(seed=seed, options=dict(options) if options else None)
        age = torch.zeros(s.envs, dtype=torch.int64)
        steps: list[tuple[Tensor, ...]] = []
        total = 0.0
        for _ in range(s.rollout):
            seen, labels = torch.tensor(obs), torch.from_numpy(_expert(info))
            steps.append((seen, labels, age))
            experts = torch.rand(s.envs, generator=self.random) < beta
            action = torch.where(experts, labels, self._mixture(seen) if self.learners else self.agent(seen).argmax(-1))
            obs, reward, terminated, truncated, info = self.env.step(action.numpy())
            total += float(np.mean(reward))
            age = torch.where(torch.from_numpy(terminated | truncated), 0, age + 1)
        self._reward = total / s.rollout
        if not np.isfinite(self._reward):
            raise TrainingError(f"reward is {self._reward} in loop {self.rounds_done // s.epochs + 1}")
        return {name: torch.cat(x) for name, x in zip(self.seen, zip(*steps, strict=True), strict=True)}

    def _mixture(self, seen: Tensor) -> Tensor:
        """What a learner of an earlier loop decides, drawn for each environment."""
        # [ross2010] Algorithm 3.1: learner j has a share of alpha (1 - alpha)^(j - 1), and alpha is 1 - beta here.
        shares = torch.pow(self.settings.beta, torch.arange(len(self.learners), dtype=torch.float32))
        drawn = torch.multinomial(shares, len(seen), replacement=True, generator=self.random)
        newest = {name: x.clone() for name, x in self.agent.actor.tensors().items()}
        choices = []
        for weights in self.learners:
            self.agent.actor.load(weights)
            choices.append(self.agent(seen).argmax(-1))
        self.agent.actor.load(newest)
        return torch.stack(choices).gather(0, drawn.unsqueeze(0))[0]

    def iterate(self) -> dict[str, float]:
        """Train for one epoch; returns its figures by name."""
        s = self.settings
        rate = s.learning_rate * s.learning_rate_decay_ratio ** (self.rounds_done // s.epochs)
        for group in self.adam.param_groups:
            group["lr"] = rate
        states = len(self.seen["labels"])
        rates_mbps = self._rates_of(self.seen["obs"]) if s.smooth_refresh == "epoch" else None
        totals = torch.zeros(4)
        for places in torch.randperm(states, generator=self.random).split(s.minibatch):
            labels = self.seen["labels"][places]
            logits = self.agent(self.seen["obs"][places])
            imitation = self.imitation_loss(logits, labels)
            # [concerto] eq. (7): the loss, and lambda times the distance to the rates before
            smooth = unsmoothness(self.mean_rate(logits), *self.rates_before(places, rates_mbps))
            loss = imitation + s.smooth_weight / s.unit_mbps * smooth
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
            with torch.no_grad():
                chosen = logits.argmax(-1)
                parts = (imitation, smooth, (chosen == labels).float().mean(), (chosen > labels).float().mean())
                totals += torch.stack(parts) * len(places)
        imitation_loss, smoothness, correct, over = (totals / states).tolist()
        if not np.isfinite(imitation_loss):
            raise TrainingError(f"loss is {imitation_loss} in epoch {self.rounds_done + 1}", "a smaller learning_rate")
        self.rounds_done += 1
        return {
            "reward": self._reward,
            "imitation_loss": imitation_loss,
            "smoothness_mbps": smoothness,
            "correct_ratio": correct,
            "overshoot_ratio": over,
            "learning_rate": rate,
            "states": float(states),
        }

    def imitation_loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The weighted cross-entropy with the expert's choices, the mean over all states."""
        # [concerto] eq. (5): l = w H(p, q), where p is all on the expert's choice
        losses = functional.cross_entropy(logits, labels, reduction="none")
        if self.settings.weighted:
            units = self.rates / self.settings.unit_mbps
            losses = losses * error_weight(units[logits.argmax(-1)], units[labels], self.settings.overshoot_weight)
        return losses.mean()

    def rates_before(self, places: Tensor, rates_mbps: Tensor | None) -> tuple[Tensor, Tensor]:
        """The rates of the ``k`` decisions before each state, ``(B, k)``, the nearest first, and whether they exist.

        Args:
            places: of the states, ``(B,)``.
            rates_mbps: of all states; ``None``: computed with the current weights.
        """
        back = torch.arange(1, self.settings.smooth_decisions + 1)
        earlier = (places.unsqueeze(1) - back * self.settings.envs).clamp(min=0)
        if rates_mbps is None:
            before = self._rates_of(self.seen["obs"][earlier.flatten()]).view(earlier.shape)
        else:
            before = rates_mbps[earlier]
        return before, self.seen["age"][places].unsqueeze(1) >= back

    @without_gradients
    def _rates_of(self, obs: Tensor) -> Tensor:
        return torch.cat([self.mean_rate(self.agent(some)) for some in obs.split(1024)])

    def mean_rate(self, logits: Tensor) -> Tensor:
        """The mean rate of the policy's distribution, Mbit/s."""
        return logits.softmax(-1) @ self.rates

    def tensors(self) -> dict[str, Tensor]:
        """And the states seen."""
        kept = {f"learner.{n}.{name}": x for n, of in enumerate(self.learners) for name, x in of.items()}
        return super().tensors() | {f"seen.{name}": tensor for name, tensor in self.seen.items()} | kept

    def restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        super().restore(tensors, facts)
        self.seen = {name: tensors[f"seen.{name}"] for name in self.seen}
        loops = 1 + max((int(name.split(".")[1]) for name in tensors if name.startswith("learner.")), default=-1)
        self.learners = [
            {name.split(".", 2)[2]: x for name, x in tensors.items() if name.startswith(f"learner.{n}.")}
            for n in range(loops)
        ]


def error_weight(chosen: Tensor, expert: Tensor, overshoot_weight: float) -> Tensor:
    """The weight of each state's error: its square, and more if the choice was too high."""
    # [concerto] eq. (4): w = |pi - pi*|^2 if pi <= pi*, |pi - pi*|^2 + C else
    return (chosen - expert).square() + overshoot_weight * (chosen > expert)


def unsmoothness(rate_mbps: Tensor, before_mbps: Tensor, has_before: Tensor) -> Tensor:
    """The mean distance of each rate from the weighted average of those before it, Mbit/s.

    Args:
        rate_mbps: ``(B,)``.
        before_mbps: ``(B, k)``, the nearest first.
        has_before: ``(B, k)``, whether the episode had begun by then.
    """
    # [concerto] eq. (6): phi = sum over i of 2^-i pi(s_{t-i}); eq. (7) adds lambda |pi(s_t) - phi|
    weights = torch.pow(2.0, -torch.arange(1.0, before_mbps.shape[1] + 1)) * has_before
    total = weights.sum(1)
    average = (before_mbps * weights).sum(1) / total.clamp(min=1e-9)
    return torch.where(total > 0, (rate_mbps - average).abs(), 0.0).mean()


def _expert(info: Mapping[str, Any]) -> np.ndarray:
    if "expert_action" not in info:
        raise TrainingError("info has no expert_action", "imitation needs an environment that labels observations")
    return np.asarray(info["expert_action"], dtype=np.int64)
