"""Locates the data that come with Legato: scenarios, traces, clip profiles and policies.

In a checkout they are the folders ``scenarios/``, ``data/traces/``, ``profiles/`` and ``policies/`` of the repository.
An installed wheel has copies below ``legato/packed/``, so that a scenario finds its trace and clip by the same relative
path. Traces under a copyleft licence are not in the wheel, whose licence does not permit it.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from legato.errors import Error, PolicyError, ProfileError, ScenarioError, did_you_mean

_PACKAGE = Path(__file__).resolve().parent.parent
_PACKED = _PACKAGE / "packed"
_ROOT = _PACKED if _PACKED.is_dir() else _PACKAGE.parent.parent
_FOLDERS = ("scenarios", "data", "profiles", "policies")
_NO_CAPACITY = {"errant-rtt"}  # round-trip times of speed tests: nothing to play


def scenarios() -> list[Path]:
    """Every scenario file that comes with Legato, sorted by path."""
    return sorted((_ROOT / "scenarios").rglob("*.toml"))


@dataclass(frozen=True)
class ShippedTrace:
    """One recorded trace that comes with Legato; MANIFEST.tsv in its folder names its source."""

    path: Path
    family: str
    licence: str


def traces() -> list[ShippedTrace]:
    """Every capacity trace that comes with Legato, sorted by path, as MANIFEST.tsv lists them."""
    folder = traces_folder()
    manifest = folder / "MANIFEST.tsv"
    if not manifest.is_file():
        return []
    with manifest.open(encoding="utf-8", newline="") as lines:
        rows = [
            ShippedTrace(folder / row["path"], row["family"], row["licence"])
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            if row["family"] not in _NO_CAPACITY and not Path(row["path"]).name.startswith("README")
        ]
    return sorted((row for row in rows if row.path.is_file()), key=lambda row: row.path)


def traces_folder() -> Path:
    """The folder of traces: one folder per family; those under a copyleft licence are below copyleft/."""
    return _ROOT / "data" / "traces"


def trace_families() -> list[str]:
    """The families of shipped traces, which are names for all of their traces."""
    return list(dict.fromkeys(trace.family for trace in traces()))


def trace_names() -> dict[Path, str]:
    """The name of each shipped trace: its family and its number there, from 1 in the order of paths (``fcc/12``)."""
    numbers = dict.fromkeys(trace_families(), 0)
    names = {}
    for trace in traces():
        numbers[trace.family] += 1
        names[trace.path] = f"{trace.family}/{numbers[trace.family]}"
    return names


def trace_addresses(name: str) -> list[str] | None:
    """The addresses of the shipped traces that a name means; ``None`` where it names none.

    A family (``fcc``) means all of its traces, ``fcc/12`` one, ``nyu-mets/3#run.1`` a part of one, and any path below
    the folder of traces the file or folder there.
    """
    whole, mark, part = name.partition("#")
    found = [path for path, known in trace_names().items() if whole in (known, known.rpartition("/")[0])]
    if not found and ".." not in Path(whole).parts and not Path(whole).is_absolute():
        place = traces_folder() / whole
        found = [trace.path for trace in traces() if place == trace.path or place in trace.path.parents]
    return [f"{path}{mark}{part}" for path in found] or None


def profiles() -> list[Path]:
    """Every clip profile that comes with Legato, sorted by path."""
    return sorted((_ROOT / "profiles").rglob("*.safetensors"))


def policies_folder() -> Path:
    """The folder of trained policies: one folder per policy."""
    return _ROOT / "policies"


def policy(name: str | Path, *, there: bool = False) -> Path:
    """A policy's folder: a path, or the name of a policy that comes with Legato (``"nvc-cc"``); ``there``: refused
    where there is none."""
    path = Path(name)
    packed = policies_folder() / path.name
    if path.name == str(name) and not path.exists():
        if packed.is_dir():
            return packed
        if there:
            known = sorted(folder.name for folder in policies_folder().iterdir() if folder.is_dir())
            raise PolicyError(f"{name}: no such policy", did_you_mean(str(name), known))
    return path


def without_place(message: str) -> str:
    """A message with shipped files named from the folder of shipped data on, wherever that was installed."""
    here = Path.cwd()
    roots = [_ROOT, *([_ROOT.relative_to(here)] if _ROOT.is_relative_to(here) and here != _ROOT else [])]
    for root in roots:
        for folder in ("scenarios", "profiles", "policies", "data/traces"):
            message = message.replace(f"{root / folder}/", f"{folder}/")
    return message


def name_of(path: Path) -> str | None:
    """What an absolute path is called below the folder of all shipped data, as ``"data/traces/fcc/a.txt"``; ``None``
    if it did not come with Legato. The name is the same in a checkout and in a wheel."""
    for one in (path, path.resolve()):
        if any(one.is_relative_to(_ROOT / folder) for folder in _FOLDERS):
            return one.relative_to(_ROOT).as_posix()
    return None


def path_of(name: str) -> Path:
    """The inverse of :func:`name_of`."""
    return _ROOT / name


def scenario(name: str | Path) -> Path:
    """The path of a scenario: a file, or the name of one that comes with Legato (``"cellular"``, ``"rfc8867/5_4"``)."""
    folder = _ROOT / "scenarios"
    known = {path.relative_to(folder).with_suffix("").as_posix(): path for path in scenarios()}
    return _by_path_or_name(str(name), known, ScenarioError, "scenario")


def profile(name: str | Path) -> Path:
    """The path of a clip profile: a file, or the name of one that comes with Legato."""
    known = {path.stem: path for path in profiles()}
    return _by_path_or_name(str(name), known, ProfileError, "clip or profile")


def _by_path_or_name(name: str, known: dict[str, Path], error: type[Error], what: str) -> Path:
    path = Path(name)
    if path.is_file():
        return path
    if name in known:
        return known[name]
    if path.is_dir():
        raise error(f"{name}: is a folder, not a {what}")
    # Those in a folder are many: the folder stands for them, unless the name is nearly one of them.
    names = ", ".join(sorted({one.partition("/")[0] + "/…" * ("/" in one) for one in known})) or "none"
    raise error(f"{name}: no such {what} file", hint=did_you_mean(name, known, f"by name: {names}"))
