"""What every algorithm's training in progress has, and how it is saved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from torch import Generator, Tensor, nn, no_grad
from torch.optim import Optimizer

P = ParamSpec("P")
R = TypeVar("R")


def without_gradients(function: Callable[P, R]) -> Callable[P, R]:
    """Runs a function under ``torch.no_grad``, and keeps its signature."""
    wrapped: Callable[P, R] = no_grad()(function)
    return wrapped


class Learner(ABC):
    """A training in progress. An algorithm adds how it plays and learns: :meth:`begin` and :meth:`iterate`."""

    settings: Any
    agent: nn.Module
    """The policy for evaluation and export, as :class:`legato.train.evaluation.Actor` has it; and ``actor_tensors()``.
    """
    adam: Optimizer
    random: Generator
    rounds_done: int = 0

    @abstractmethod
    def begin(self, seed: int, options: Mapping[str, Any] | None = None) -> None:
        """Start new episodes in all environments: before the first round, and whenever a run asks for it."""

    @abstractmethod
    def iterate(self) -> dict[str, float]:
        """Play and learn for one round; returns the round's figures by name."""

    def tensors(self) -> dict[str, Tensor]:
        """Everything to save between two calls of :meth:`begin`, with :meth:`facts`."""
        tensors = {f"agent.{name}": tensor for name, tensor in self.agent.state_dict().items()}
        for index, moments in self.adam.state_dict()["state"].items():
            tensors |= {f"adam.{index}.{name}": tensor for name, tensor in moments.items()}
        return {**tensors, "random": self.random.get_state()}

    def facts(self) -> dict[str, Any]:
        """What to save that is not a tensor."""
        return {"rounds_done": self.rounds_done}

    def restore(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Continue from a saved state; the next call must be :meth:`begin`."""
        self.agent.load_state_dict({name[6:]: tensor for name, tensor in tensors.items() if name.startswith("agent.")})
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            if name.startswith("adam."):
                _, index, what = name.split(".")
                moments.setdefault(int(index), {})[what] = tensor
        groups = self.adam.state_dict()["param_groups"]
        self.adam.load_state_dict({"state": moments, "param_groups": groups})
        self.random.set_state(tensors["random"])
        self.rounds_done = int(facts["rounds_done"])
