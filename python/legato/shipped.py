"""Locates the data that come with Legato: scenarios, traces, clip profiles and policies.

In a checkout they are the folders ``scenarios/``, ``data/traces/``, ``profiles/`` and ``policies/`` of the repository.
An installed wheel has copies below ``legato/packed/``, so that a scenario finds its trace and clip by the same relative
path. Traces under a copyleft licence are not in the wheel, whose licence does not permit it.
"""

from __future__ import annotations

import csv
import difflib
from dataclasses import dataclass
from pathlib import Path

from legato.errors import Error, ProfileError, ScenarioError

_PACKAGE = Path(__file__).resolve().parent
_PACKED = _PACKAGE / "packed"
_ROOT = _PACKED if _PACKED.is_dir() else _PACKAGE.parent.parent
_NO_CAPACITY = {"errant-rtt"}  # round-trip times of speed tests: nothing to play


def scenarios() -> list[Path]:
    """Every scenario file that comes with Legato, sorted by path."""
    return sorted((_ROOT / "scenarios").rglob("*.toml"))


@dataclass(frozen=True)
class ShippedTrace:
    """One recorded trace that comes with Legato; MANIFEST.tsv beside it names its source."""

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


def profiles() -> list[Path]:
    """Every clip profile that comes with Legato, sorted by path."""
    return sorted((_ROOT / "profiles").rglob("*.safetensors"))


def policies_folder() -> Path:
    """The folder of trained policies: one folder per policy."""
    return _ROOT / "policies"


def policy(name: str | Path) -> Path:
    """A policy's folder: a path, or the name of a policy that comes with Legato (``"nvc-cc"``)."""
    path = Path(name)
    packed = policies_folder() / path.name
    return packed if path.name == str(name) and not path.exists() and packed.is_dir() else path


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
    alike = difflib.get_close_matches(name, known, cutoff=0.75)
    names = ", ".join(alike or sorted({one.partition("/")[0] + "/…" * ("/" in one) for one in known})) or "none"
    raise error(f"{name}: no such {what} file", hint=f"by name there {'is' if len(alike) == 1 else 'are'}: {names}")
