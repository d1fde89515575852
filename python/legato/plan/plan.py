"""A plan: which calls a run makes. One scenario, crossed with controllers, traces, clips and seeds.

The native module takes a plan as JSON. This module makes that JSON from what users type: names, globs,
``gcc@key=value``, video files. Nothing is simulated here.
"""

from __future__ import annotations

import glob
import json
import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from legato import _core
from legato.errors import ControllerError, DataWarning, Error, ScenarioError, TraceError, did_you_mean
from legato.plan import clips, overrides, scenario_traces, shipped, specs

LOGS = ("summary", "series", "packets")
"""What a run writes in addition to its summary: nothing; time series and frames; every packet as well."""

POLICY_KEY = "policy"
"""The parameter of controllers that names a trained policy."""

PLANNED = ("scenario", "scenario_path", "controllers", "traces", "clips", "seeds", "log")
"""What every plan.json holds."""

_TRACE_NUMBERS = ("duration_s", "scale", "start_s")
_TRACE_OPTIONS = (*_TRACE_NUMBERS, "family", "plays")
_PLAYS = ("capacity", "path")


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
    """What was changed in the scenario's file, ``key=value`` each; ``scenario`` has it already."""
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
        """What the native module needs besides, and a run folder does not keep: paths belong to one machine."""
        places = scenario_traces.places(self.scenario, self.scenario_path, without_forward=bool(self.traces))
        return {"scenario_traces": places} if places else {}

    def document(self) -> dict[str, Any]:
        """All but what is empty or absent and need not be there."""
        document = {name: getattr(self, name) for name in PLANNED}
        further = {name: getattr(self, name) for name in ("policies", "options", "call") if getattr(self, name)}
        parts = {} if self.calls_per_part is None else {"calls_per_part": self.calls_per_part}
        return {**document, **further, **parts}


def make(
    scenario_name: str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    controller_specs: Iterable[str] = (),
    trace_specs: Iterable[str | Path] = (),
    clip_specs: Iterable[str | Path] = (),
    seed_spec: int | Sequence[int] = 1,
    log: str = "series",
    calls_per_part: int | None = None,
    strict: bool = False,
    on_clip_progress: Callable[[str, float], None] | None = None,
) -> Plan:
    """A plan from what users type; arguments as in :func:`legato.run`.

    Everything quick is checked before clips are profiled, so that a misspelt name is reported at once.
    """
    if log not in LOGS:
        raise Error(f"log = {log}: not one of {', '.join(LOGS)}")
    chosen_controllers = controllers(controller_specs)
    _refuse_changes_of_what_is_replaced(chosen_controllers, options or {})
    chosen_traces = traces(trace_specs, strict=strict)
    chosen_seeds = specs.seeds(seed_spec)
    options = _with_policies_found(options or {})
    path, text = read_scenario(scenario_name, options)
    chosen_clips = clips.chosen(clip_specs, on_clip_progress, strict=strict)
    return Plan(
        scenario_path=specs.from_here(path),
        scenario=text,
        controllers=chosen_controllers,
        traces=chosen_traces,
        clips=[clip.profile for clip in chosen_clips],
        seeds=chosen_seeds,
        log=log,
        calls_per_part=calls_per_part,
        policies=policy_folders(chosen_controllers),
        options=assignments(options),
        videos={clip.profile: clip.video for clip in chosen_clips if clip.video},
    )


def assignments(options: Mapping[str, Any] | None) -> list[str]:
    """Changes of a scenario as ``-o`` takes them."""
    found = _with_policies_found(options or {})
    return [f"{key}={overrides.written(value)}" for key, value in found.items()]


def _with_policies_found(options: Mapping[str, Any]) -> dict[str, Any]:
    """A policy's folder below the working one by its whole path, which holds wherever the run is repeated."""
    return {
        key: str(Path(value).absolute())
        if key.rpartition(".")[2] == POLICY_KEY and isinstance(value, str) and (Path(value) / "policy.toml").is_file()
        else value
        for key, value in options.items()
    }


def _refuse_changes_of_what_is_replaced(chosen: Sequence[str | dict[str, Any]], options: Mapping[str, Any]) -> None:
    lost = sorted(key for key in options if key == "controller" or key.startswith("controller."))
    if chosen and lost:
        name = chosen[0] if isinstance(chosen[0], str) else chosen[0]["name"]
        key = lost[0].removeprefix("controller.config.") if lost[0].startswith("controller.config.") else "KEY"
        raise Error(
            f"{lost[0]} = {options[lost[0]]}: changes the scenario's controller, in whose place '{name}' is put",
            hint=f"write it with the name: {name}@{key}=VALUE",
        )


def read_scenario(name: str | Path, changes: Mapping[str, Any] | None = None) -> tuple[Path, str]:
    """The path of a scenario, and its text with ``changes`` (dotted key to value) applied; both are checked.

    An error names the file as it was typed, with the line that it has there, or the change that is at fault.
    """
    path = shipped.scenario(name)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{name}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise ScenarioError(f"{name}: {error.strerror}") from None
    try:
        changed = overrides.apply(text, name, changes or {})
    except ScenarioError as error:  # of the file's own reader if it is not TOML: that one names the line
        raise (_refusal(text, str(name)) or error) from None
    if (refused := _refusal(changed, str(name))) is None:
        return path, changed
    if not changes:
        raise refused
    # Changing rewrites the text, so its lines are not the file's. The file's own fault is named by the file's own line.
    if (own := _refusal(text, str(name))) is not None and _without_line(own) == _without_line(refused):
        raise own
    raise _fault_of_a_change(text, name, changes, refused)


def _refusal(text: str, name: str) -> ScenarioError | None:
    try:
        _core.resolve_scenario(text, name)
    except ScenarioError as error:
        return error
    return None


def _without_line(error: ScenarioError) -> str:
    return re.sub(r":\d+: ", ": ", str(error), count=1)


def _fault_of_a_change(
    text: str, name: str | Path, changes: Mapping[str, Any], refused: ScenarioError
) -> ScenarioError:
    """The refusal, with the change without which it would not be: by itself, else the first that does it."""
    each = list(changes)
    alone = [key for key in each if _refusal(_with(text, name, changes, [k for k in each if k != key]), "") is None]
    upto = (key for n, key in enumerate(each) if _refusal(_with(text, name, changes, each[: n + 1]), "") is not None)
    key = alone[0] if alone else next(upto)
    why = _without_line(refused).removeprefix(f"{name}: ").removeprefix(f"{key}: ")
    why = re.sub(r", in `[^`]*`$", "", why)  # the line as it was rewritten
    return ScenarioError(f"{name}: -o {key}={changes[key]}: {why}")


def _with(text: str, name: str | Path, changes: Mapping[str, Any], keys: Sequence[str]) -> str:
    return overrides.apply(text, name, {key: changes[key] for key in keys})


def controllers(given: Iterable[str]) -> list[str | dict[str, Any]]:
    """The plan's list for ``["gcc@aimd.beta=0.9,fixed@target_bitrate_bps=800000"]``; unknown names are refused.

    The option ``label`` is not a parameter: reports use it as the controller's name.
    """
    known = [entry["name"] for entry in _core.controllers()]
    chosen: list[str | dict[str, Any]] = []
    for name, config in specs.items(given, "controllers", ControllerError):
        if name not in known:
            raise ControllerError(f"no controller is called '{name}'", hint=did_you_mean(name, known))
        label = {"label": str(config.pop("label"))} if "label" in config else {}
        chosen.append({"name": name, "config": overrides.nested(config), **label} if config or label else name)
    specs.once(((json.dumps(one, sort_keys=True, default=str), _shown(one)) for one in chosen), "controllers")
    labels = [one["label"] for one in chosen if isinstance(one, dict) and "label" in one]
    specs.once(((label, f"label {label}") for label in labels), "controllers")
    return chosen


def _shown(controller: str | dict[str, Any]) -> str:
    return controller if isinstance(controller, str) else str(controller.get("label", controller["name"]))


def policy_folders(chosen: Sequence[str | dict[str, Any]]) -> list[str]:
    """The folders that trained policies are found in by name; empty if no controller can need one."""
    # The safeguard may wrap a learned controller.
    needing = {entry["name"] for entry in _core.controllers() if entry["learned"]} | {"safeguard"}
    named = {name if isinstance(name, str) else name["name"] for name in chosen}
    return [specs.from_here(shipped.policies_folder())] if needing & named else []


def traces(given: Iterable[str | Path], *, strict: bool = False) -> list[str | dict[str, Any]]:
    """The plan's list for files, folders, globs and shipped names; ``PATTERN@scale=0.25,start_s=30`` sets options.

    Args:
        given: what was typed.
        strict: refuse what is no trace among several files; otherwise it is left out with a warning.
    """
    chosen: list[tuple[str, dict[str, Any]]] = []
    for pattern, options in specs.items(given, "traces", TraceError):
        _check_trace_options(pattern, options)
        chosen += [(address, options) for address in trace_addresses(pattern)]
    same = (((os.path.abspath(path), *sorted(options.items())), path) for path, options in chosen)  # noqa: PTH100
    specs.once(same, "traces", TraceError)
    kept = chosen if len(chosen) == 1 else _readable(chosen, strict=strict)
    return [{"path": address, **options} if options else address for address, options in kept]


def _check_trace_options(pattern: str, options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        wrong = f"{pattern}@{name}={value}: "
        if name not in _TRACE_OPTIONS:
            hint = did_you_mean(name, sorted(_TRACE_OPTIONS))
            raise TraceError(f"{wrong}a trace has no option '{name}'", hint=hint)
        if name == "plays" and value not in _PLAYS:
            raise TraceError(f"{wrong}not one of {', '.join(_PLAYS)}", hint=did_you_mean(str(value), _PLAYS))
        if name not in _TRACE_NUMBERS:
            continue
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise TraceError(f"{wrong}{name} has to be a number")
        if not math.isfinite(value):
            raise TraceError(f"{wrong}{name} has to be a finite number")
        if value < 0 or (value == 0 and name != "start_s"):
            raise TraceError(f"{wrong}{name} has to be {'0 or more' if name == 'start_s' else 'above 0'}")


def _readable(chosen: Sequence[tuple[str, dict[str, Any]]], *, strict: bool) -> list[tuple[str, dict[str, Any]]]:
    """Those that are traces; the others are left out with a warning, unless ``strict`` or none is left."""
    kept: list[tuple[str, dict[str, Any]]] = []
    refused: list[TraceError] = []
    for address, options in chosen:
        try:
            _core.load_trace(address, options.get("family"))
            kept.append((address, options))
        except TraceError as error:
            refused.append(error)
    if refused and (strict or not kept):
        raise refused[0]
    for error in refused:
        warnings.warn(f"{error}; left out", DataWarning, stacklevel=2)
    return kept


def trace_addresses(pattern: str) -> list[str]:
    """The traces that a pattern names: files, or those of a shipped family (``fcc``), or one of them (``fcc/12``)."""
    known = None if glob.glob(str(Path(pattern).expanduser())) else shipped.trace_addresses(pattern)  # noqa: PTH207
    if known is not None:
        return [specs.from_here(address) for address in known]
    try:
        return [str(path) for path in specs.files(pattern, TraceError, "trace")]
    except TraceError as error:
        names = (*shipped.trace_families(), *(f"{name}/1" for name in shipped.trace_families()))
        error.hint = error.hint or did_you_mean(
            pattern, names, "`legato traces list` shows the traces that come with Legato"
        )
        raise
