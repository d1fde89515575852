"""The command line that makes a run again, from any folder, put together from its plan.

Shipped files go by name, the user's files by their whole paths.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

from legato import atomic
from legato.errors import Error
from legato.plan import shipped, traces
from legato.plan.plan import POLICY_KEY
from legato.plan.record import REPEAT, Record
from legato.plan.spec_text import written

_MANY = 4
"""Traces from which on the folder or glob is printed that names them all, where there is one."""
_DEFAULTS = {
    "peers": "chromium", "direction": "send", "link": "inside", "codec": "h264", "size": "1280x720", "fps": 30,
    "clip": None, "vmaf": False, "name": "others", "feedback": "twcc",
}  # fmt: skip
"""Options of real calls that are not printed where they have these values."""


def write(record: Record, folder: Path) -> None:
    """Write ``repeat.json`` into a run's folder."""
    document = {"command": words(record), "places": record.places}
    atomic.write_text(folder / REPEAT, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def words(record: Record) -> list[str]:
    """The command line, all but ``--out``.

    It is `legato call` or `legato link` for real calls; else `legato compare` where several things are crossed and
    seeds are counted, and `legato run`.
    """
    plan = record.document
    seeds = list(plan["seeds"])
    controllers = [_spec(one, lambda policy: record.places.get(policy, policy)) for one in plan["controllers"]]
    lists = {"--traces": _traces(plan["traces"], record), "--clips": _clips(plan["clips"], record)}
    own: Mapping[str, Any] | None = plan.get("call")
    if own and "learns" in own:
        # The command names the safeguard around it.
        controllers = [own["learns"]]
    scenario = _scenario(plan["scenario_path"], record)
    counted = seeds == list(range(1, len(seeds) + 1))
    crossed = len(controllers) > 1 or len(seeds) > 1 or any(lists.values())
    if own is None and controllers and counted and crossed:
        chosen = ["legato", "compare", "--scenario", scenario, "--controllers", ",".join(controllers)]
        chosen += _options(lists)
        chosen += ["--seeds", str(len(seeds))] if len(seeds) > 1 else []
    else:
        verb = "run" if own is None else "link" if "near" in own else "call"
        chosen = ["legato", verb, scenario]
        chosen += _options({"--controller": [] if verb == "link" else controllers, **lists})
        chosen += _options({"--seed": [] if seeds == [1] else map(str, seeds)})
        chosen += list(_of_call(own or {}, record))
    chosen += _options({"-o": plan.get("options", [])})
    chosen += ["--log", plan["log"]] if plan["log"] != "series" else []
    if own is None and plan.get("calls_per_part") is not None:
        chosen += ["--calls-per-part", str(plan["calls_per_part"])]
    return chosen


def _options(lists: Mapping[str, Iterable[str]]) -> list[str]:
    # `--name=value`: a value may begin with a dash.
    return [word for name, values in lists.items() for value in values for word in _option(name, value)]


def _option(name: str, value: str) -> tuple[str, ...]:
    return (f"{name}={value}",) if value.startswith("-") and name.startswith("--") else (name, value)


def _of_call(own: Mapping[str, Any], record: Record) -> Iterator[str]:
    for key, value in own.items():
        if key == "learns" or (value == _DEFAULTS.get(key, value) and key in _DEFAULTS):
            continue
        if value is True:
            yield f"--{key}"
        else:
            yield from _option(f"--{key}", record.places.get(value, value) if key == "clip" else str(value))


def _scenario(name: str, record: Record) -> str:
    if name in record.places:
        return record.places[name]
    of_scenarios = name.removeprefix("scenarios/")
    return of_scenarios.removesuffix(".toml") if of_scenarios != name else str(shipped.path_of(name))


def _clips(names: Sequence[str], record: Record) -> list[str]:
    chosen = [record.places.get(name) or PurePosixPath(name).stem for name in names]
    plain = not any("," in path or path != path.strip() for path in chosen)
    return [",".join(chosen)] if chosen and plain else chosen


def _traces(entries: Sequence[str | Mapping[str, Any]], record: Record) -> list[str]:
    tables = [{"path": entry} if isinstance(entry, str) else entry for entry in entries]
    found = []
    for _, group in groupby(tables, key=lambda table: {**table, "path": None}):
        same = list(group)
        set_ = {key: value for key, value in same[0].items() if key != "path"}
        paths = [table["path"] for table in same]
        found += [written(path, set_) for path in _together(paths, record) or [_trace(one, record) for one in paths]]
    return [",".join(found)] if found else []


def _together(names: Sequence[str], record: Record) -> list[str] | None:
    """The family, folder or glob that names just these traces, where they are many and there is one."""
    if len(names) < _MANY:
        return None
    paths = [_whole(name, record) for name in names]
    folder = paths[0].parent
    families = {trace.path: trace.family for trace in shipped.traces()}
    patterns = [families[paths[0]]] if paths[0] in families else [str(folder), str(folder / f"*{paths[0].suffix}")]
    for pattern in patterns:
        with suppress(Error):
            if [Path(address).absolute() for address in traces.addresses(pattern)] == paths:
                return [pattern]
    return None


def _trace(name: str, record: Record) -> str:
    return _short(_whole(name, record))


def _whole(name: str, record: Record) -> Path:
    """The path of a trace by its name in the plan, with its part."""
    file, mark, part = name.rpartition("#")
    if mark and name not in record.places and file in record.places:
        return Path(f"{record.places[file]}#{part}")
    return Path(record.places.get(name) or shipped.path_of(name))


def _short(path: Path) -> str:
    folder = shipped.traces_folder()
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def _spec(controller: str | Mapping[str, Any], place: Callable[[str], str]) -> str:
    if isinstance(controller, str):
        return controller
    config = dict(controller.get("config") or {})
    if isinstance(config.get(POLICY_KEY), str):
        config[POLICY_KEY] = place(config[POLICY_KEY])
    return written(controller["name"], config | ({"label": controller["label"]} if controller.get("label") else {}))
