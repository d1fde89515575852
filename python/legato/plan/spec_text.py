"""What names a controller or a trace on the command line: ``name``, or ``name@key=value,key=value``; several are
separated by commas.

A name or value with a comma, an ``@`` or the like goes into double quotes, as TOML writes text; a value may also be a
list or a table of TOML. The function :func:`read` reads specs, and :func:`written` writes one that reads back
unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from legato.plan import overrides

_QUOTED = re.compile(r'\s*("(?:[^"\\]|\\.)*")\s*(?:@(.*))?', re.DOTALL)
_VALUE_BEGINS = re.compile(r'=\s*["\[{]')
_DOTTED = re.compile(r"[A-Za-z0-9_-]+")
_NEEDS_QUOTES = re.compile(r'[,@="\[\]{}]|^\s|\s$|^$')


def read(spec: str) -> list[tuple[str, dict[str, Any]]]:
    """``a,b@x=1,y=2,c`` is ``a``, ``b`` with two options, and ``c``: options follow the name they belong to."""
    parts: list[tuple[str, dict[str, Any]]] = []
    takes_options = False
    for item in _items(spec):
        name, option = _name_and_option(item)
        if name is not None:
            parts.append((name, {}))
            takes_options = bool(option)
        elif "=" in item and takes_options:
            option = item.strip()
        elif item.strip():
            parts.append((item.strip(), {}))
            takes_options = False
        if option:
            key, _, value = option.partition("=")
            parts[-1][1][key.strip()] = overrides.parse_value(value.strip())
    return parts


def written(name: str, options: Mapping[str, Any]) -> str:
    """The spec of a name with options; those within tables have dotted keys."""
    text = overrides.in_toml(name) if _NEEDS_QUOTES.search(name) else name
    set_ = ",".join(f"{key}={_value(value)}" for key, value in _flat(options))
    return f"{text}@{set_}" if set_ else text


def _value(value: Any) -> str:
    if isinstance(value, str) and _NEEDS_QUOTES.search(value):
        return overrides.in_toml(value)
    return overrides.written(value)


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Tables within tables as dotted keys, where their keys can be so written."""
    for key, value in table.items():
        if isinstance(value, Mapping) and value and all(map(_DOTTED.fullmatch, value)):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield above + key, value


def _name_and_option(item: str) -> tuple[str | None, str]:
    """The parts before the ``@`` and after it; no name where the item is an option alone, or a name alone."""
    if quoted := _QUOTED.fullmatch(item):
        name = overrides.parse_value(quoted[1])
        if name != quoted[1]:
            return name, (quoted[2] or "").strip()
    if "=" not in item:
        return None, ""
    # An @ within a quoted value is part of it.
    begins = _VALUE_BEGINS.search(item)
    head, rest = (item[: begins.start()], item[begins.start() :]) if begins else (item, "")
    name, at, option = head.strip().rpartition("@")
    return (name, option + rest) if at else (None, "")


def _items(spec: str) -> list[str]:
    """Split at the commas that are neither in quotes nor in brackets."""
    items, begin, depth, quoted, opens, previous = [], 0, 0, False, True, ""
    for at, letter in enumerate(spec):
        if quoted:
            quoted = letter != '"' or previous == "\\"
            # Of two backslashes the second escapes nothing.
            previous = "" if previous == "\\" else letter
            continue
        if letter == '"' and (opens or depth):
            quoted = True
        elif letter in "[{" and ((opens and spec[begin:at].rstrip().endswith("=")) or depth):
            depth += 1
        elif letter in "]}" and depth:
            depth -= 1
        elif letter == "," and not depth:
            items.append(spec[begin:at])
            begin = at + 1
        opens = letter in ",=" or (opens and letter.isspace())
        previous = ""
    if quoted or depth:  # they never close, so they are letters of a name
        return spec.split(",")
    return [*items, spec[begin:]]
