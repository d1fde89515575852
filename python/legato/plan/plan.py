"""A plan: which calls a run makes. One scenario, crossed with controllers, traces, clips and seeds.

The native module takes a plan as JSON. :class:`legato.plan.choice.Choice` makes one of what users type.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from legato.plan import scenario_traces

POLICY_KEY = "policy"
"""The parameter of controllers that names a trained policy."""

PLANNED = ("scenario", "scenario_path", "controllers", "traces", "clips", "seeds", "log")
"""What every plan.json holds."""


@dataclass(frozen=True)
class Plan:
    """The calls of a run: the product of these lists, seeds varying fastest. An empty list takes the scenario's own."""

    scenario_path: str
    scenario: str
    controllers: list[str | dict[str, Any]] = field(default_factory=list)
    traces: list[str | dict[str, Any]] = field(default_factory=list)
    clips: list[str] = field(default_factory=list)
    seeds: list[int] = field(default_factory=lambda: [1])
    log: str = "series"
    calls_per_part: int | None = None
    policies: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    """The changes to the scenario's file, ``key=value`` each; ``scenario`` has them already."""
    videos: dict[str, str] = field(default_factory=dict)
    """The video that a profile of ``clips`` was measured from, where the user named the video."""
    call: dict[str, Any] | None = None
    """How real calls are made, by the names of the command line's options."""

    @property
    def sessions(self) -> int:
        """How many the product of the lists has; where a scenario names several calls, each session makes them all."""
        return math.prod(self._lengths())

    def places(self, session: int) -> tuple[int, int, int, int]:
        """The places in their lists of a session's controller, trace, clip and seed."""
        places = []
        for length in reversed(self._lengths()):
            session, place = divmod(session, length)
            places.append(place)
        seed, clip, trace, controller = places
        return controller, trace, clip, seed

    def _lengths(self) -> list[int]:
        return [max(len(values), 1) for values in (self.controllers, self.traces, self.clips, self.seeds)]

    def to_json(self) -> str:
        """The JSON that the native module reads; what a run folder keeps is in :mod:`legato.plan.record`."""
        return json.dumps({**self.document(), **self.native()}, indent=2, ensure_ascii=False)

    def native(self) -> dict[str, Any]:
        """Further input of the native module that a run folder does not keep: paths belong to one machine."""
        places = scenario_traces.places(self.scenario, self.scenario_path, without_forward=bool(self.traces))
        return {"scenario_traces": places} if places else {}

    def document(self) -> dict[str, Any]:
        """All but optional values that are empty or absent."""
        document = {name: getattr(self, name) for name in PLANNED}
        further = {name: getattr(self, name) for name in ("policies", "options", "call") if getattr(self, name)}
        parts = {} if self.calls_per_part is None else {"calls_per_part": self.calls_per_part}
        return {**document, **further, **parts}
