"""What one may choose of the calls to make: the same for ``run``, ``compare``, ``call``, ``link`` and ``gap``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from legato.errors import Error
from legato.plan import clips, controllers, scenarios, specs, traces
from legato.plan.plan import Plan

LOGS = ("summary", "series", "packets")
"""What a run writes in addition to its summary: nothing; time series and frames; every packet as well."""


@dataclass(frozen=True)
class Choice:
    """A scenario, its changed keys, and the lists it is crossed with; an empty list takes the scenario's value."""

    scenario: str | Path
    """A TOML file, or the name of a scenario that comes with Legato (``"cellular"``)."""
    options: Mapping[str, Any] | None = None
    """Values of the scenario to change, by dotted key: ``{"duration_s": 30}``."""
    controllers: Iterable[str] = ()
    """Names, with optional parameters: ``["gcc", "fixed@target_bitrate_bps=800000"]``."""
    traces: Iterable[str | Path] = ()
    """Files, folders, globs or shipped names (``"fcc"``, ``"fcc/12"``), with optional options:
    ``"lte/*.txt@scale=0.25,start_s=30"``."""
    clips: Iterable[str | Path] = ()
    """Profiles, video files (profiled first, then cached), globs of both, or shipped names."""
    seeds: int | Sequence[int] = 1
    """A number of seeds (1, 2, ...), or a list of them."""
    log: str = "series"
    """One of :data:`LOGS`."""
    duration_s: float | None = None
    """Length of a call, instead of the scenario's."""
    strict: bool = False
    """Refuse a trace or clip that cannot be read among several; otherwise it is left out with a
    :class:`legato.DataWarning`."""

    def __post_init__(self) -> None:
        for name in ("controllers", "traces", "clips"):  # as lists: a choice can be made into a plan twice
            object.__setattr__(self, name, specs.listed(getattr(self, name)))

    @classmethod
    def of(cls, scenario: str | Path | Choice, *rest: Any) -> Choice:
        """The choice that a function is given: whole in place of the scenario, or by its parts in the order above."""
        if not isinstance(scenario, Choice):
            return cls(scenario, *rest)
        if cls("", *rest) != cls(""):
            raise Error(f"{scenario.scenario}: all that is chosen goes into the Choice, and nothing of it beside that")
        return scenario

    @property
    def changes(self) -> dict[str, Any]:
        """All that is changed in the scenario, by dotted key."""
        duration = {} if self.duration_s is None else {"duration_s": self.duration_s}
        return {**(self.options or {}), **duration}

    def plan(
        self, calls_per_part: int | None = None, on_clip_progress: Callable[[str, float], None] | None = None
    ) -> Plan:
        """The plan of these calls.

        Everything quick is checked before clips are profiled, so that a misspelt name is reported at once.
        """
        if self.log not in LOGS:
            raise Error(f"log = {self.log}: not one of {', '.join(LOGS)}")
        chosen_controllers = controllers.chosen(self.controllers)
        controllers.refuse_changes_of_what_is_replaced(chosen_controllers, self.changes)
        chosen_traces = traces.chosen(self.traces, strict=self.strict)
        chosen_seeds = specs.seeds(self.seeds)
        options = scenarios.with_policies_found(self.changes)
        path, text = scenarios.read(self.scenario, options)
        chosen_clips = clips.chosen(self.clips, on_clip_progress, strict=self.strict)
        return Plan(
            scenario_path=specs.from_here(path),
            scenario=text,
            controllers=chosen_controllers,
            traces=chosen_traces,
            clips=[clip.profile for clip in chosen_clips],
            seeds=chosen_seeds,
            log=self.log,
            calls_per_part=calls_per_part,
            policies=controllers.policy_folders(chosen_controllers),
            options=scenarios.assignments(options),
            videos={clip.profile: clip.video for clip in chosen_clips if clip.video},
        )
