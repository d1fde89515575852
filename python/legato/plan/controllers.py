"""The controllers of a plan, as they are typed: ``gcc@aimd.beta=0.9,fixed@target_bitrate_bps=800000``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from legato import _core
from legato.errors import ControllerError, Error, did_you_mean
from legato.plan import overrides, shipped, specs


def chosen(given: Iterable[str]) -> list[str | dict[str, Any]]:
    """The plan's list for ``["gcc@aimd.beta=0.9,fixed@target_bitrate_bps=800000"]``; unknown names are refused.

    The option ``label`` is not a parameter: reports use it as the controller's name.
    """
    known = [entry["name"] for entry in _core.controllers()]
    found: list[str | dict[str, Any]] = []
    for name, config in specs.items(given, "controllers", ControllerError):
        base, mark, option = name.partition("@")
        if mark and base in known:
            raise ControllerError(f"{name}: '{option}' is no parameter", hint=f"KEY=VALUE is: {base}@{option}=VALUE")
        if name not in known:
            raise ControllerError(f"no controller is called '{name}'", hint=did_you_mean(name, known))
        label = {"label": str(config.pop("label"))} if "label" in config else {}
        found.append({"name": name, "config": overrides.nested(config), **label} if config or label else name)
    specs.once(((json.dumps(one, sort_keys=True, default=str), _shown(one)) for one in found), "controllers")
    labels = [one["label"] for one in found if isinstance(one, dict) and "label" in one]
    specs.once(((label, f"label {label}") for label in labels), "controllers")
    return found


def _shown(controller: str | dict[str, Any]) -> str:
    return controller if isinstance(controller, str) else str(controller.get("label", controller["name"]))


def policy_folders(named: Sequence[str | dict[str, Any]]) -> list[str]:
    """The folders that trained policies are found in by name; empty if no controller can need one."""
    # The safeguard may wrap a learned controller.
    needing = {entry["name"] for entry in _core.controllers() if entry["learned"]} | {"safeguard"}
    names = {name if isinstance(name, str) else name["name"] for name in named}
    return [specs.from_here(shipped.policies_folder())] if needing & names else []


def refuse_changes_of_what_is_replaced(named: Sequence[str | dict[str, Any]], options: Mapping[str, Any]) -> None:
    lost = sorted(key for key in options if key == "controller" or key.startswith("controller."))
    if named and lost:
        name = named[0] if isinstance(named[0], str) else named[0]["name"]
        key = lost[0].removeprefix("controller.config.") if lost[0].startswith("controller.config.") else "KEY"
        raise Error(
            f"{lost[0]} = {options[lost[0]]}: changes the scenario's controller, in whose place '{name}' is put",
            hint=f"write it with the name: {name}@{key}=VALUE",
        )
