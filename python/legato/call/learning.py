"""What learns in real calls, as they see it: :class:`legato.train.in_calls.LearningInCalls` is the one there is."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from legato._core import LiveExchange
    from legato.plan import Plan


class Learning(Protocol):
    """The users of a plan's calls, which learn in them."""

    def order(self, plan: Plan) -> Iterable[int]:
        """The plan's sessions in the order in which they are called."""

    def during(self, plan: Plan, number: int) -> AbstractContextManager[LiveExchange]:
        """Learn from session ``number`` while it is called."""
