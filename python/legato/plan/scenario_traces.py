"""Traces that a scenario's text names: files in its folder, or shipped traces by their names."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from legato.errors import TraceError, did_you_mean
from legato.plan import shipped


def places(text: str, path: str | Path, *, without_forward: bool = False) -> dict[str, str]:
    """The path of each shipped trace that a scenario names, as ``{"fcc/12": "/…/data/traces/fcc/…"}``.

    Args:
        text: the scenario.
        path: its file, whose folder is where files that it names are looked for first.
        without_forward: leave out the forward capacity, in whose place other traces are put.

    Raises:
        TraceError: a name without a dot is neither a file's nor a shipped trace's, or a name means several traces.
    """
    folder, found = Path(path).parent, {}
    for key, name in _named(text):
        if (without_forward and key == "forward.capacity.trace") or _is_there(folder, name):
            continue
        addresses = shipped.trace_addresses(name) or []
        wrong = f"{path}: {key} = '{name}': "
        if not addresses and "." in name:
            continue  # a file, which its reader misses by its path
        if not addresses:
            known = shipped.trace_names().values()
            close = did_you_mean(name, sorted(known), "`legato traces list` shows the traces that come with Legato")
            raise TraceError(f"{wrong}no such file, and no trace that comes with Legato", hint=close)
        if len(addresses) > 1:
            first = shipped.trace_names()[Path(addresses[0].partition("#")[0])]
            raise TraceError(f"{wrong}means {len(addresses)} traces", hint=f"a scenario plays one, as '{first}'")
        found[name] = addresses[0]
    return found


def _named(text: str) -> Iterator[tuple[str, str]]:
    """Each place where the text names a trace, and the name; none where it is no TOML, which its reader says."""
    try:
        scenario = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    links = scenario.get("links", [])
    parts = [(way, scenario.get(way)) for way in ("forward", "reverse")]
    parts += [(f"links[{n}]", link) for n, link in enumerate(links if isinstance(links, list) else [])]
    for key, part in parts:
        for table in ("capacity", "conditions"):
            named: Any = part.get(table) if isinstance(part, dict) else None
            name = named.get("trace") if isinstance(named, dict) else None
            if isinstance(name, str):
                yield f"{key}.{table}.trace", name


def _is_there(folder: Path, name: str) -> bool:
    file, mark, _ = name.rpartition("#")
    return (folder / name).exists() or bool(mark and (folder / file).exists())
