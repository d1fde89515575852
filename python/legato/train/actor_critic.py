"""Actor and critic: the network that acts, and the one that predicts the return.

The actor is the network of ``policy.toml``'s layer table, the deployed network. The critic has the same layers and one
linear output; or (``shared_until``) both share the first layers of one network, as R3Net's do. A hidden state is a
tuple, one tensor ``(N, H)`` or ``None`` for each network here.

Continuous actions are clamped to their range only where they meet the environment: training uses the drawn actions. A
last layer that is a softmax is left out in training, as it changes no order. So is a sigmoid, if asked for
(``explore_in_logits``): noise is then a factor on small actions and not a term, and no draw is out of range.

The critic's output is in units of the returns seen so far, ``(value - mean) / std``. When mean and standard deviation
move, its last layer is adjusted so that every value stays ([hasselt2016], "PopArt"). A reward in thousands of kbit/s
and one in thousandths are learned alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor, nn

from legato.errors import TrainingError
from legato.train.distributions import Categorical, Gaussian
from legato.train.learner import without_gradients
from legato.train.network import Network
from legato.train.schedule import Schedule

Hidden = tuple[Tensor | None, ...]
NO_STATE: Hidden = (None, None, None)
"""Of networks without memory, however many."""

_RETURNS_WEIGHT = 0.3
"""How far the critic's mean and variance move to those of a round's returns."""


@dataclass(frozen=True)
class Settings:
    """The numbers of a training that every algorithm with an actor and a critic has. A :data:`Schedule` is a number, or
    points over the share of training done."""

    action_std: Schedule | None = None
    """Standard deviation of a continuous action; ``None``: learned, the same in every state."""
    initial_action_std: float = 0.5
    """Where a learned one begins."""
    hold_noise: int = 1
    """For how many decisions in a row a continuous action's noise is held."""
    explore_in_logits: bool = False
    """Draw continuous actions before the last layer's sigmoid: exploration then scales with small actions."""
    initial_output: float = 0.0
    """Where the actor's output begins, before its last activation."""
    input_gain: tuple[float, ...] | None = None
    """What the first weights of each observed number, or channel, are multiplied by, where these numbers are not all
    about 1 in size."""
    shared_until: str | None = None
    """The last layer that actor and critic share; ``None``: a network each."""
    steps: int = 720_000
    """Decisions in total, over all environments; rounded up to whole rounds."""
    envs: int = 240
    """Environments stepped at once."""
    rollout: int = 60
    """Decisions of each environment in a round."""
    learning_rate: Schedule = ((0.0, 3e-3), (1.0, 0.0))
    discount: float = 0.99
    """What a reward is worth one decision later."""
    gae_lambda: float = 0.95
    """0: one step ahead, then the critic's value; 1: the whole return. [schulman2016]"""
    value_weight: float = 0.5
    entropy_weight: Schedule = 0.0
    max_gradient_norm: float = 0.5
    adam_betas: tuple[float, float] = (0.9, 0.999)
    adam_epsilon: float = 1e-5

    @property
    def round_steps(self) -> int:
        """Decisions of one round."""
        return self.envs * self.rollout

    @property
    def rounds(self) -> int:
        """Rounds of the whole training."""
        return -(-self.steps // self.round_steps)


class ActorCritic(nn.Module):  # type: ignore[misc] # torch is not there to be read
    """The networks of a training.

    Args:
        layers: the actor's layer table.
        actions: the environment's ``single_action_space``: ``Box`` of one number, or ``Discrete``.
        settings: how they begin.
        random: what the first weights are drawn from.
    """

    def __init__(
        self, layers: Sequence[Mapping[str, Any]], actions: Box | Discrete, settings: Settings, random: torch.Generator
    ) -> None:
        super().__init__()
        self.discrete = isinstance(actions, Discrete)
        _check_output(layers, actions)
        acting = [dict(layer) for layer in layers]
        if acting[-1].get("activation") == "softmax":
            acting[-1]["activation"] = "linear"
        self._in_logits = settings.explore_in_logits
        if self._in_logits:
            if self.discrete or acting[-1]["activation"] != "sigmoid":
                raise TrainingError("explore_in_logits: the last layer's activation is not a sigmoid")
            acting[-1]["activation"] = "linear"
        judging = [*acting[:-1], {**acting[-1], "outputs": 1, "activation": "linear"}]
        shared = _index_of(settings.shared_until, acting) + 1 if settings.shared_until else 0
        self.trunk = Network(acting[:shared]) if shared else None
        self.actor = Network(_standing_on(acting, shared))
        self.critic = Network(_standing_on(judging, shared))
        _draw_weights(self.trunk, math.sqrt(2), random)
        _draw_weights(self.actor, 0.01, random)  # the first actions hardly depend on the observation
        _draw_weights(self.critic, 1.0, random)
        with torch.no_grad():
            self.actor.tensors()[f"{self.actor.last}.bias"].fill_(settings.initial_output)
        for network in (self.trunk,) if self.trunk is not None else (self.actor, self.critic):
            _scale_inputs(network, settings.input_gain)
        self.distribution: Categorical | Gaussian
        if isinstance(actions, Discrete):
            self.distribution = Categorical()
        else:
            self.distribution = Gaussian(
                settings.initial_action_std, learned=settings.action_std is None, hold=settings.hold_noise
            )
            self._low, self._high = float(actions.low.min()), float(actions.high.max())
        self.register_buffer("return_mean", torch.zeros(()))
        self.register_buffer("return_std", torch.ones(()))
        self.register_buffer("returns_seen", torch.zeros(()))

    @property
    def recurrent(self) -> bool:
        """Whether any network has memory."""
        return any(network.recurrent for network in self._networks())

    def initial(self, envs: int) -> Hidden:
        """The hidden state that episodes begin with."""
        return tuple(network.initial(envs) for network in self._networks())

    def restart(self, hidden: Hidden, starts: Tensor) -> Hidden:
        """The hidden state, reset where an episode starts."""
        if not self.recurrent or not bool(starts.any()):
            return hidden
        going_on = (~starts).float().unsqueeze(-1)
        return tuple(None if h is None else h * going_on for h in hidden)

    def forward(self, obs: Tensor, hidden: Hidden, starts: Tensor | None = None) -> tuple[Tensor, Tensor, Hidden]:
        """The actor's output, the critic's, the state after. ``(N, F)``, or ``(T, N, F)`` with ``starts``."""
        first: Hidden = ()
        if self.trunk is not None:
            obs, after = self.trunk(obs, hidden[0], starts)
            first, hidden = (after,), hidden[1:]
        out, actor_after = self.actor(obs, hidden[0], starts)
        value, critic_after = self.critic(obs, hidden[1], starts)
        return out, value.squeeze(-1), (*first, actor_after, critic_after)

    def act(
        self, obs: Tensor, hidden: Hidden, starts: Tensor, random: torch.Generator
    ) -> tuple[Tensor, Tensor, Tensor, Hidden]:
        """One action for each environment: the action, its log-probability, the value, the state after."""
        out, value, hidden = self(obs, self.restart(hidden, starts))
        action = self.distribution.draw(out, random)
        return action, self.distribution.log_prob(out, action), self.denormalised(value), hidden

    def value(self, obs: Tensor, hidden: Hidden) -> Tensor:
        """The return that the critic expects, ``(N,)``."""
        return self.denormalised(self(obs, hidden)[1])

    def best(self, obs: Tensor, hidden: Hidden) -> tuple[Tensor, Hidden]:
        """The action without exploration, as a deployed policy takes it, and the state after."""
        out, _, hidden = self(obs, hidden)
        return self.distribution.best(out), hidden

    def denormalised(self, value: Tensor) -> Tensor:
        """From the critic's units to the reward's."""
        return value * self.return_std + self.return_mean

    def normalised(self, value: Tensor) -> Tensor:
        """From the reward's units to the critic's."""
        return (value - self.return_mean) / self.return_std

    @without_gradients
    def take_returns(self, returns: Tensor) -> None:
        """Move the critic's units towards the returns of a round; its values stay."""
        # [hasselt2016], proposition 1: W' = W s / s', b' = (s b + m - m') / s'
        weight = max(_RETURNS_WEIGHT, 1 / (1 + float(self.returns_seen)))
        self.returns_seen += 1
        mean, variance = returns.mean(), returns.var()
        new_mean = self.return_mean + weight * (mean - self.return_mean)
        new_variance = self.return_std.square() * (1 - weight) + weight * variance
        new_std = new_variance.sqrt().clamp(min=1e-4)
        tensors = self.critic.tensors()
        tensors[f"{self.critic.last}.weight"].mul_(self.return_std / new_std)
        bias = tensors[f"{self.critic.last}.bias"]
        bias.mul_(self.return_std).add_(self.return_mean - new_mean).div_(new_std)
        self.return_mean.copy_(new_mean)
        self.return_std.copy_(new_std)

    def to_env(self, action: Tensor) -> np.ndarray:
        """An action as the environment takes it."""
        if not self.discrete:
            action = (torch.sigmoid(action) if self._in_logits else action).clamp(self._low, self._high)
        taken: np.ndarray = action.numpy()
        return taken

    def action_std(self) -> float:
        """Standard deviation of a continuous action; NaN if actions are discrete."""
        return math.nan if self.discrete else float(self.distribution.log_std.detach().exp())

    def actor_tensors(self) -> dict[str, Tensor]:
        """The deployed network's weights by ``layer.tensor``: the shared layers' and the actor's."""
        networks = (self.actor,) if self.trunk is None else (self.trunk, self.actor)
        return {name: tensor for network in networks for name, tensor in network.tensors().items()}

    def _networks(self) -> tuple[Network, ...]:
        return (self.actor, self.critic) if self.trunk is None else (self.trunk, self.actor, self.critic)


def _check_output(layers: Sequence[Mapping[str, Any]], actions: Any) -> None:
    outputs = layers[-1]["outputs"]
    if isinstance(actions, Discrete):
        wanted = int(actions.n)
    elif isinstance(actions, Box) and actions.shape == (1,):
        wanted = 1
    else:
        raise TrainingError(f"actions are {actions}", "one number, Box(shape=(1,)), or one choice, Discrete(n)")
    if outputs != wanted:
        raise TrainingError(
            f"layer {layers[-1]['name']}: outputs is {outputs}, the environment's actions take {wanted}"
        )


def _index_of(name: str, layers: Sequence[Mapping[str, Any]]) -> int:
    for index, layer in enumerate(layers[:-1]):
        if layer["name"] == name:
            return index
    names = ", ".join(layer["name"] for layer in layers[:-1])
    raise TrainingError(f"shared_until is {name!r}; the layers before the last are {names}")


def _standing_on(layers: list[dict[str, Any]], shared: int) -> list[dict[str, Any]]:
    """The layers after the shared ones, whose last takes the observation's place."""
    if not shared:
        return layers
    below = layers[shared - 1]["name"]
    hidden_names = {layer["name"] for layer in layers[: shared - 1]} | {"observation"}
    rest = []
    for layer in layers[shared:]:
        for source in layer["from"]:
            if source.split("[")[0] in hidden_names:
                raise TrainingError(f"layer {layer['name']}: from names {source}, which lies below the shared {below}")
        sources = [("observation" + s[len(below) :]) if s.split("[")[0] == below else s for s in layer["from"]]
        rest.append({**layer, "from": sources})
    return rest


def _draw_weights(network: Network | None, output_gain: float, random: torch.Generator) -> None:
    """Orthogonal weights and zero biases, as usual for policy gradients."""
    if network is None:
        return
    for name, parameter in network.tensors().items():
        with torch.no_grad():
            if parameter.dim() < 2:
                parameter.zero_()
            else:
                last = name.split(".")[0] == network.last
                nn.init.orthogonal_(parameter.flatten(1), output_gain if last else math.sqrt(2), generator=random)


def _scale_inputs(network: Network, gain: Sequence[float] | None) -> None:
    """Multiply the columns of every layer that takes the whole observation: a dense one's, a convolution's channels."""
    if gain is None:
        return
    columns = {"dense": "inputs", "conv1d": "channels"}
    for layer in network.layers:
        if layer["kind"] in columns and list(layer["from"]) == ["observation"]:
            count = layer[columns[layer["kind"]]]
            if count != len(gain):
                raise TrainingError(f"input_gain has {len(gain)} numbers, layer {layer['name']} takes {count}")
            with torch.no_grad():
                weight = network.tensors()[f"{layer['name']}.weight"]
                weight.mul_(torch.tensor(gain, dtype=torch.float32).reshape(1, -1, *(1,) * (weight.dim() - 2)))
