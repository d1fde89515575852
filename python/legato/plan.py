"""A plan: which calls a run makes. One scenario, crossed with controllers, traces, clips and seeds.

The native module takes a plan as JSON. This module makes that JSON from what users type: names, globs,
``gcc@key=value``, video files. Nothing is simulated here.
"""

from __future__ import annotations

import glob
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from legato import _core, overrides, shipped
from legato.errors import ControllerError, Error, ScenarioError, TraceError

LOGS = ("summary", "series", "packets")
"""What a run writes in addition to its summary: nothing; time series and frames; every packet as well."""

PLANNED = ("scenario", "scenario_path", "controllers", "traces", "clips", "seeds", "log")
"""What every plan.json holds."""

_TRACE_NUMBERS = ("duration_s", "scale", "start_s")
_TRACE_OPTIONS = (*_TRACE_NUMBERS, "family")


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
        """The JSON that the native module reads and that the run folder keeps as plan.json."""
        document = {name: getattr(self, name) for name in PLANNED}
        if self.policies:
            document["policies"] = self.policies
        if self.calls_per_part is not None:
            document["calls_per_part"] = self.calls_per_part
        return json.dumps(document, indent=2, ensure_ascii=False)


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
    on_clip_progress: Callable[[str, float], None] | None = None,
) -> Plan:
    """A plan from what users type; arguments as in :func:`legato.run`.

    Everything quick is checked before clips are profiled, so that a misspelt name is reported at once.
    """
    from legato import clips

    if log not in LOGS:
        raise Error(f"log = {log}: not one of {', '.join(LOGS)}")
    chosen_controllers = controllers(controller_specs)
    _refuse_changes_of_what_is_replaced(chosen_controllers, options or {})
    chosen_traces = traces(trace_specs)
    chosen_seeds = seeds(seed_spec)
    path, text = read_scenario(scenario_name, options)
    return Plan(
        scenario_path=from_here(path),
        scenario=text,
        controllers=chosen_controllers,
        traces=chosen_traces,
        clips=clips.profiles(clip_specs, on_clip_progress),
        seeds=chosen_seeds,
        log=log,
        calls_per_part=calls_per_part,
        policies=policy_folders(chosen_controllers),
    )


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
    """The path of a scenario, and its text with ``changes`` (dotted key to value) applied."""
    path = shipped.scenario(name)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from None
    return path, overrides.apply(text, path, changes or {})


def controllers(specs: Iterable[str]) -> list[str | dict[str, Any]]:
    """The plan's list for ``["gcc@aimd.beta=0.9,fixed@target_bitrate_bps=800000"]``; unknown names are refused.

    The option ``label`` is not a parameter: reports use it as the controller's name.
    """
    known = [entry["name"] for entry in _core.controllers()]
    specs, chosen = list(specs), []
    for name, config in _split(specs):
        if name not in known:
            raise ControllerError(f"no controller is called '{name}'", hint=f"there are: {', '.join(known)}")
        label = {"label": str(config.pop("label"))} if "label" in config else {}
        chosen.append({"name": name, "config": overrides.nested(config), **label} if config or label else name)
    if specs and not chosen:
        raise ControllerError(f"controllers = {', '.join(specs)!r}: names none", hint=f"there are: {', '.join(known)}")
    return chosen


def policy_folders(chosen: Sequence[str | dict[str, Any]]) -> list[str]:
    """The folders that trained policies are found in by name; empty if no controller can need one."""
    # The safeguard may wrap a learned controller.
    needing = {entry["name"] for entry in _core.controllers() if entry["learned"]} | {"safeguard"}
    named = {name if isinstance(name, str) else name["name"] for name in chosen}
    return [from_here(shipped.policies_folder())] if needing & named else []


def traces(specs: Iterable[str | Path]) -> list[str | dict[str, Any]]:
    """The plan's list for files, folders and globs; ``PATTERN@scale=0.25,start_s=30`` sets how they are played."""
    specs, chosen = list(specs), []
    for pattern, options in _split(map(str, specs)):
        unknown = sorted(set(options) - set(_TRACE_OPTIONS))
        if unknown:
            raise TraceError(
                f"{pattern}@{unknown[0]}={options[unknown[0]]}: a trace has no option '{unknown[0]}'",
                hint=f"there are: {', '.join(sorted(_TRACE_OPTIONS))}",
            )
        for name in options.keys() & set(_TRACE_NUMBERS):
            if not isinstance(options[name], int | float) or isinstance(options[name], bool):
                raise TraceError(f"{pattern}@{name}={options[name]}: {name} has to be a number")
        for path in expand(pattern, TraceError, "trace"):
            chosen.append({"path": str(path), **options} if options else str(path))
    if specs and not chosen:
        raise TraceError(f"traces = {', '.join(map(str, specs))!r}: names none")
    return chosen


def expand(pattern: str, error: type[Error], what: str) -> list[Path]:
    """The files that a pattern names: a file, a folder with all below it, or a glob (``**`` is recursive).

    Sorted, so that a plan does not depend on the order of a directory. Licences, manifests and the like that lie
    beside the data are skipped unless the pattern names them.
    """
    path = Path(pattern).expanduser()
    file, mark, _ = str(path).rpartition("#")
    if path.is_file() or (mark and Path(file).is_file()):  # file#part: one of several traces in a file
        return [path]
    hits = [path] if path.is_dir() else [Path(hit) for hit in glob.glob(str(path), recursive=True)]  # noqa: PTH207
    found = {file for hit in hits for file in (hit.rglob("*") if hit.is_dir() else [hit]) if _is_data(file)}
    if not found:
        is_pattern = any(mark in pattern for mark in "*?[")
        message = f"{pattern}: matches no file" if is_pattern else f"{pattern}: no such {what} file"
        raise error(
            message,
            hint="`legato traces list` shows the traces that come with Legato" if what == "trace" else None,
        )
    return sorted(found)


def _is_data(path: Path) -> bool:
    beside = path.name.startswith((".", "COPYING", "COPYRIGHT", "LICENSE", "MANIFEST", "NOTICE", "README"))
    return path.is_file() and not beside and path.suffix != ".md"


def from_here(path: str | Path) -> str:
    """A path below the working folder as a relative one, so that run folders do not depend on where they were made."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def seeds(count_or_list: int | Sequence[int]) -> list[int]:
    """``[1, 2, 3]`` for ``3``; a list unchanged."""
    chosen = list(range(1, count_or_list + 1)) if isinstance(count_or_list, int) else list(count_or_list)
    if not chosen:
        raise Error(f"seeds = {count_or_list}: at least one seed is needed")
    for seed in chosen:
        if not 0 <= seed < 2**64:
            raise Error(f"seed = {seed}: a seed is an integer from 0 to 2^64 - 1")
    return chosen


def _split(specs: Iterable[str]) -> list[tuple[str, dict[str, Any]]]:
    """``a,b@x=1,y=2,c`` is ``a``, ``b`` with two options, and ``c``: options follow the name they belong to."""
    parts: list[tuple[str, dict[str, Any]]] = []
    for spec in specs:
        if Path(spec).is_file():  # whatever its name holds
            parts.append((spec, {}))
            continue
        takes_options = False
        for item in spec.split(","):
            name, at, option = item.strip().rpartition("@") if "=" in item else (item.strip(), "", "")
            if at:
                parts.append((name, {}))
                takes_options = True
            elif "=" in item and takes_options:
                option = item.strip()
            elif item.strip():
                parts.append((item.strip(), {}))
                takes_options = False
            if option:
                key, _, value = option.partition("=")
                parts[-1][1][key.strip()] = overrides.parse_value(value.strip())
    return parts
