"""A plan as a run folder keeps it, and the second file that records the places of the plan's files.

``plan.json`` names files so that the same plan has the same bytes wherever it is made. Shipped files have their name in
the shipped data. The user's files have the shortest unique end of their paths, with a hash of their content.
``repeat.json`` has what belongs to one machine: the command that makes the run again, and the whole path of each of the
user's files.
"""

from __future__ import annotations

import json
import os
import tomllib
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from legato.errors import DataWarning, Error, RunFolderError
from legato.plan import clips, shipped
from legato.plan.plan import PLANNED, POLICY_KEY, Plan
from legato.plan.specs import from_here
from legato.plan.user_files import changed, sha256

REPEAT = "repeat.json"


@dataclass(frozen=True)
class Record:
    """A plan whose files have the names that a run folder keeps."""

    document: dict[str, Any]
    """plan.json's content."""
    native: dict[str, str]
    """The path of each name that is not itself a path, for the native module."""
    places: dict[str, str]
    """The whole path of each of the user's files, by name."""
    typed: dict[str, str]
    """Whole paths as the plan has them: what errors name."""
    further: dict[str, Any] = field(default_factory=dict)
    """What else the native module takes and does not keep."""

    def to_json(self) -> str:
        """The JSON that the native module reads; it keeps all but the paths."""
        return json.dumps({**self.document, **self.further, "places": self.native}, indent=2, ensure_ascii=False)

    @contextmanager
    def errors_as_typed(self) -> Iterator[None]:
        """Errors of the native module, which reads whole paths, name files as the user did."""
        try:
            yield
        except Error as error:
            message = str(error)
            for whole in sorted(self.typed, key=len, reverse=True):
                message = message.replace(whole, self.typed[whole])
            raise type(error)(message, error.hint) from None


def recorded(plan: Plan) -> Record:
    """Names for the files of a plan, which must be there."""
    named = list(_named(plan))
    names = _names({real for _, real in named} | set(_in_scenario(plan)))
    written = {path: names[real] for path, real in named}
    document = plan.document()
    document["scenario_path"] = written.get(plan.scenario_path, "")
    document["controllers"] = [_with_policy(one, written) for one in plan.controllers]
    document["traces"] = [
        {**one, "path": _trace(one["path"], written)} if isinstance(one, dict) else _trace(one, written)
        for one in plan.traces
    ]
    document["clips"] = [written[plan.videos.get(clip, clip)] for clip in plan.clips]
    if plan.policies:
        document["policies"] = [written[folder] for folder in plan.policies]
    if plan.call:
        document["call"] = {
            key: written.get(value, value) if key == "clip" else value for key, value in plan.call.items()
        }
    places = {name: _text(real) for real, name in sorted(names.items(), key=lambda item: item[1]) if not _came(real)}
    if places:
        document["files"] = [{"name": name, "sha256": sha256(Path(place))} for name, place in places.items()]
        _warn_of_copies(document["files"], {written[_file(path)] for path in map(_path, plan.traces)})
    native = {name: _text(real) for real, name in names.items()}
    native |= {_trace(path, written): _text(_whole(path)) for path in map(_path, plan.traces)}
    native |= {written[video]: profile for profile, video in plan.videos.items()}
    typed = {_text(real): path for path, real in named}
    paths = {name: path for name, path in native.items() if name != path}
    return Record(document, paths, places, typed, plan.native())


def _warn_of_copies(files: Iterable[Mapping[str, str]], traces: Collection[str]) -> None:
    """Say which traces have the same bytes: they are one network, however many files they are."""
    same: dict[str, list[str]] = {}
    for file in files:
        if file["name"] in traces:
            same.setdefault(file["sha256"], []).append(file["name"])
    copies = [names for names in same.values() if len(names) > 1]
    if copies:
        first, second, *more = copies[0]
        shown = f"{first}, {second} and {len(more)} more" if more else f"{first} and {second}"
        others = f"; so it is with {len(copies) - 1} more of the files" if len(copies) > 1 else ""
        warnings.warn(f"{shown} have the same content: copies count as one network{others}", DataWarning, stacklevel=2)


def read_plan(folder: Path) -> Plan:
    """The plan of a run folder, its files where they lay when it was made.

    Raises:
        RunFolderError: it cannot be read, or one of the user's files has changed since or is no longer there.
    """
    from legato.results.run_folder import open_run

    written = open_run(folder).plan
    absent = [name for name in PLANNED if name not in written]
    if absent:
        raise RunFolderError(f"{folder / 'plan.json'}: key {absent[0]} is absent")
    known = {one.name for one in fields(Plan)}
    plan = Plan(**{name: value for name, value in written.items() if name in known})
    places = read_repeat(folder).get("places", {})
    for file in written.get("files", []):
        if problem := changed(file["sha256"], places.get(file["name"])):
            raise RunFolderError(f"{folder}: depends on {places.get(file['name'], file['name'])}: {problem}")

    def place(name: str) -> str:
        file, mark, part = name.rpartition("#")
        if mark and name not in places and file in places:
            return f"{places[file]}#{part}"
        shipped_path = shipped.path_of(name)
        return places.get(name) or (from_here(shipped_path) if shipped_path.exists() else name)

    profiles = {name: str(clips.profile_of(Path(place(name)))) for name in plan.clips}
    return replace(
        plan,
        scenario_path=place(plan.scenario_path),
        controllers=[_with_policy(one, places) for one in plan.controllers],
        traces=[{**one, "path": place(one["path"])} if isinstance(one, dict) else place(one) for one in plan.traces],
        clips=list(profiles.values()),
        policies=[place(folder) for folder in plan.policies],
        videos={profile: place(name) for name, profile in profiles.items() if profile != place(name)},
    )


def read_repeat(folder: Path) -> dict[str, Any]:
    """``repeat.json`` of a run folder; nothing where it has none, or a damaged one."""
    try:
        document = json.loads((folder / REPEAT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _named(plan: Plan) -> Iterator[tuple[str, Path]]:
    """Each path that a plan names, as it does, and the whole one."""
    if plan.scenario_path:
        yield plan.scenario_path, _whole(plan.scenario_path)
    for path in map(_path, plan.traces):
        file = _file(path)
        yield file, _whole(file)
    for clip in plan.clips:
        path = plan.videos.get(clip, clip)
        yield path, _whole(path)
    for folder in plan.policies:
        yield folder, _whole(folder)
    scenario = Path(plan.scenario_path).parent
    for controller in plan.controllers:
        policy = _policy(controller)
        # One that the scenario's folder or Legato's has goes by that name; else it is looked for from here.
        if policy and not _policy_in((scenario, *map(Path, plan.policies)), policy) and _is_policy(Path(policy)):
            yield policy, _whole(policy)
    if plan.call and plan.call.get("clip"):
        yield plan.call["clip"], _whole(plan.call["clip"])


def _policy_in(folders: Iterable[Path], name: str) -> bool:
    return not Path(name).is_absolute() and any(_is_policy(folder / name) for folder in folders)


def _is_policy(folder: Path) -> bool:
    return (folder / "policy.toml").is_file()


def _in_scenario(plan: Plan) -> Iterator[Path]:
    """The files and policies that the scenario's text names, from its folder."""
    folder = Path(plan.scenario_path).parent
    try:
        texts = list(_texts(tomllib.loads(plan.scenario)))
    except tomllib.TOMLDecodeError:
        return  # the scenario's reader reports the fault
    for text in texts:
        path = folder / _file(text, folder)
        if ("/" in text or "." in text) and (path.is_file() or _is_policy(path)):
            yield _whole(str(path))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _names(paths: Iterable[Path]) -> dict[Path, str]:
    """A name for each whole path: that of the shipped data, or the shortest end that no other has."""
    names = {path: name for path in paths if (name := shipped.name_of(path))}
    own = sorted(set(paths) - set(names))
    for path in own:
        ends = ("/".join(path.parts[-length:]) for length in range(1, len(path.parts)))
        others = [str(other) for other in own if other != path]
        names[path] = next(
            (end for end in ends if end not in names.values() and not any(one.endswith(f"/{end}") for one in others)),
            str(path),
        )
    return names


def _came(path: Path) -> bool:
    return shipped.name_of(path) is not None


def _whole(path: str) -> Path:
    """An absolute path without ``..``; symbolic links stay where that names the same file."""
    plain = Path(os.path.abspath(path))  # noqa: PTH100
    file = Path(_file(path))
    if file.exists() and not (Path(_file(str(plain))).exists() and file.samefile(_file(str(plain)))):
        return Path(path).resolve()
    return plain


def _text(whole: Path) -> str:
    """A path as text; from here where a folder above has a name that is no text."""
    try:
        str(whole).encode()
    except UnicodeEncodeError:
        return os.path.relpath(whole)
    return str(whole)


def _file(trace: str, folder: Path = Path()) -> str:
    """The file of a trace that may be one of several in it: ``file#part``."""
    file, mark, _ = trace.rpartition("#")
    return file if mark and not (folder / trace).exists() else trace


def _path(trace: str | Mapping[str, Any]) -> str:
    return trace if isinstance(trace, str) else trace["path"]


def _trace(path: str, written: Mapping[str, str]) -> str:
    """The name of a trace, with its part."""
    file = _file(path)
    return written[file] + path.removeprefix(file)


def _policy(controller: str | Mapping[str, Any]) -> str | None:
    """A controller's policy, where it names one."""
    named = None if isinstance(controller, str) else controller.get("config", {}).get(POLICY_KEY)
    return named if isinstance(named, str) else None


def _with_policy(controller: str | dict[str, Any], names: Mapping[str, str]) -> str | dict[str, Any]:
    """The controller, its policy by another name where that is in ``names``."""
    policy = _policy(controller)
    if not isinstance(controller, dict) or policy is None or policy not in names:
        return controller
    return {**controller, "config": controller["config"] | {POLICY_KEY: names[policy]}}
