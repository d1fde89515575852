"""``-o key=value``: changes single values of a scenario.

A key is a dotted path (``forward.queue.limit_ms``); a number in it selects an item of a list (``calls.0.start_s``).
A value is written as in TOML; anything that is not valid TOML is a string, so quotes can be left out.
"""

from __future__ import annotations

import datetime
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from legato.errors import ScenarioError


def apply(text: str, path: str | Path, changes: Mapping[str, Any]) -> str:
    """The scenario ``text``, read from file ``path``, with ``changes`` (dotted key to value) applied.

    Unknown keys are not refused here: the scenario's own reader refuses them by name.
    """
    if not changes:
        return text
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path}: not TOML: {error}") from None
    for key, value in changes.items():
        _put(table, key, value)
    return tomli_w.dumps(table)


def nested(options: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted keys as nested tables: ``{"aimd.beta": 0.9}`` is ``{"aimd": {"beta": 0.9}}``."""
    table: dict[str, Any] = {}
    for key, value in options.items():
        _put(table, key, value)
    return table


def parse(options: Iterable[str], named: str = "-o") -> dict[str, Any]:
    """``["a.b=1", "c=text"]`` as ``{"a.b": 1, "c": "text"}``; ``named`` is the option that they were given by."""
    changes: dict[str, Any] = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or not key.strip():
            hint = "for example: -o duration_s=30" if named == "-o" else None
            raise ScenarioError(f"{named} {option}: not of the form key=value", hint=hint)
        if key.strip() in changes:
            raise ScenarioError(f"{named} {option}: {key.strip()} is given twice")
        changes[key.strip()] = parse_value(value)
    return changes


def parse_value(text: str) -> Any:
    """The value that ``text`` has in TOML, or ``text`` itself where it is not valid TOML."""
    try:
        table = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return table["value"] if len(table) == 1 else text


def written(value: Any) -> str:
    """The text that :func:`parse_value` reads as ``value``: as short as can be typed."""
    if isinstance(value, str) and parse_value(value) == value:
        return value
    return in_toml(value)


def in_toml(value: Any) -> str:
    """A value as TOML on one line.

    Raises:
        ScenarioError: TOML has no such value.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            # TOML takes JSON's escapes, and wants one for DEL as well.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case list() | tuple():
            return f"[{', '.join(map(in_toml, value))}]"
        case Mapping():
            return f"{{{', '.join(f'{_key(key)} = {in_toml(one)}' for key, one in value.items())}}}"
    raise ScenarioError(f"{value!r}: TOML has no such value")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else in_toml(name)


def _put(table: dict[str, Any], key: str, value: Any) -> None:
    place: Any = table
    *parents, last = key.split(".")
    for depth, name in enumerate(parents):
        if isinstance(place, list):
            place = _item(place, name, key)
        else:
            place = place.setdefault(name, {})
        if not isinstance(place, dict | list):
            inside = ".".join(parents[: depth + 1])
            raise ScenarioError(f"-o {key}={value}: '{inside}' is a value, not a table: nothing lies below it")
    if isinstance(place, list):
        _item(place, last, key)
        place[int(last)] = value
    else:
        place[last] = value


def _item(items: list[Any], index: str, key: str) -> Any:
    if not index.isdecimal() or int(index) >= len(items):
        raise ScenarioError(f"-o {key}: '{index}' picks nothing from a list of {len(items)}")
    return items[int(index)]
