"""The scenario of a plan: its text, with the user's changes. Both are checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from legato import _core
from legato.errors import ScenarioError
from legato.plan import overrides, shipped
from legato.plan.plan import POLICY_KEY


def read(name: str | Path, changes: Mapping[str, Any] | None = None) -> tuple[Path, str]:
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


def assignments(options: Mapping[str, Any] | None) -> list[str]:
    """Changes of a scenario as ``-o`` takes them."""
    found = with_policies_found(options or {})
    return [f"{key}={overrides.written(value)}" for key, value in found.items()]


def with_policies_found(options: Mapping[str, Any]) -> dict[str, Any]:
    """A policy's folder below the working one by its whole path, which holds wherever the run is repeated."""
    return {
        key: str(Path(value).absolute())
        if key.rpartition(".")[2] == POLICY_KEY and isinstance(value, str) and (Path(value) / "policy.toml").is_file()
        else value
        for key, value in options.items()
    }
