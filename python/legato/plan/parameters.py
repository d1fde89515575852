"""What the parameters of controllers mean, as TOML with comments: the sentences are the doc comments of the crates."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from itertools import groupby
from typing import Any

import tomli_w

from legato import _core

WIDTH = 118


def as_toml(name: str, config: Mapping[str, Any] | None = None) -> str:
    """The parameters of a controller with those of ``config`` given: what each means, its unit and range, its value.

    A value that differs from the default is followed by the default. Refuses invalid parameters.
    """
    found = _core.controller_parameters(name, tomli_w.dumps(dict(config or {})))
    if not found:
        return "# it has no parameters"
    # Keys outside any table come first: after the head of a table they would belong to it.
    found.sort(key=lambda parameter: "." in parameter["key"])
    tables = groupby(found, key=lambda parameter: parameter["key"].rpartition(".")[0])
    return "\n\n".join(_table(table, list(parameters)) for table, parameters in tables)


def _table(name: str, parameters: list[dict[str, Any]]) -> str:
    text = "\n\n".join(_entry(parameter) for parameter in parameters)
    return f"[{name}]\n{text}" if name else text


def _entry(parameter: dict[str, Any]) -> str:
    key = parameter["key"].rpartition(".")[2]
    bounds = ", ".join(filter(None, [parameter["unit"], parameter["range"]]))
    meaning = parameter["meaning"] + (f" [{bounds}]" if bounds else "")
    lines = textwrap.wrap(meaning, WIDTH, initial_indent="# ", subsequent_indent="# ")
    value, default = parameter["value_toml"], parameter["default_toml"]
    if value is None:
        return "\n".join([*lines, f"# {key} = (absent)"])
    changed = f"  # default: {default}" if default is not None and default != value else ""
    return "\n".join([*lines, f"{key} = {value}{changed}"])
