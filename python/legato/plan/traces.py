"""The traces of a plan, as they are typed: files, folders, globs and shipped names, with options behind an ``@``."""

from __future__ import annotations

import glob
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from legato import _core
from legato.errors import TraceError, did_you_mean, warn_of_left_out
from legato.plan import shipped, specs

_NUMBERS = ("duration_s", "scale", "start_s")
_OPTIONS = (*_NUMBERS, "family", "plays")
_PLAYS = ("capacity", "path")


def chosen(given: Iterable[str | Path], *, strict: bool = False) -> list[str | dict[str, Any]]:
    """The plan's list for files, folders, globs and shipped names; ``PATTERN@scale=0.25,start_s=30`` sets options.

    Args:
        given: what was typed.
        strict: refuse what is no trace among several files; otherwise it is left out with a warning.
    """
    found: list[tuple[str, dict[str, Any]]] = []
    for pattern, options in specs.items(given, "traces", TraceError):
        _check_options(pattern, options)
        found += [(address, options) for address in addresses(pattern)]
    same = (((os.path.abspath(path), *sorted(options.items())), path) for path, options in found)  # noqa: PTH100
    specs.once(same, "traces", TraceError)
    kept = found if len(found) == 1 else _readable(found, strict=strict)
    return [{"path": address, **options} if options else address for address, options in kept]


def _check_options(pattern: str, options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        wrong = f"{pattern}@{name}={value}: "
        if name not in _OPTIONS:
            hint = did_you_mean(name, sorted(_OPTIONS))
            raise TraceError(f"{wrong}a trace has no option '{name}'", hint=hint)
        if name == "plays" and value not in _PLAYS:
            raise TraceError(f"{wrong}not one of {', '.join(_PLAYS)}", hint=did_you_mean(str(value), _PLAYS))
        if name not in _NUMBERS:
            continue
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise TraceError(f"{wrong}{name} has to be a number")
        if not math.isfinite(value):
            raise TraceError(f"{wrong}{name} has to be a finite number")
        if value < 0 or (value == 0 and name != "start_s"):
            raise TraceError(f"{wrong}{name} has to be {'0 or more' if name == 'start_s' else 'above 0'}")


def _readable(chosen: Sequence[tuple[str, dict[str, Any]]], *, strict: bool) -> list[tuple[str, dict[str, Any]]]:
    """The traces among them; the others are left out with a warning, unless ``strict`` or none is left."""
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
    warn_of_left_out(refused)
    return kept


def addresses(pattern: str) -> list[str]:
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


def load_trace(path: str | Path, format: str | None = None) -> _core.Trace:
    """A capacity trace: a file in any format that Legato reads, or a shipped trace by its name (``"fcc/12"``).

    Where a file holds several traces, ``path#part`` names one; without a part the longest is taken.
    ``format`` names the format where the content is ambiguous.
    """
    found = addresses(str(path))
    if len(found) > 1:
        raise TraceError(f"{path}: names {len(found)} traces, one is needed", hint="legato traces list shows them")
    return _core.load_trace(found[0], format)
