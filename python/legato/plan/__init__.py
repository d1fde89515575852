"""Turns the user's input into a plan: names, lists, patterns and ``key=value``, as a run folder keeps them too."""

from legato.plan.choice import Choice
from legato.plan.plan import Plan

__all__ = ["Choice", "Plan"]
