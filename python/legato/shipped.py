"""Where the data that come with Legato lie: scenarios, traces and clip profiles.

In a checkout they are the folders ``scenarios/``, ``data/traces/`` and ``profiles/`` of the repository;
in an installed wheel, copies of them under ``legato/data/`` (without the copyleft traces, which may not
travel in a package under our licence).
"""

from __future__ import annotations

from pathlib import Path

from legato.errors import Error, ProfileError, ScenarioError

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent.parent
_PACKED = _PACKAGE / "data"


def _folder(packed: str, checkout: str) -> Path:
    in_wheel = _PACKED / packed
    return in_wheel if in_wheel.is_dir() else _CHECKOUT / checkout


def scenarios() -> list[Path]:
    """Every scenario file that comes with Legato, by path."""
    return sorted(_folder("scenarios", "scenarios").rglob("*.toml"))


def traces() -> list[Path]:
    """Every trace that comes with Legato, by path; the name of its folder is its family."""
    folder = traces_folder()
    skipped = {".md", ".tsv", ".json"}
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in skipped and not path.name.startswith(("LICENSE", "."))
    )


def traces_folder() -> Path:
    """The folder the traces lie in, one folder a family below it."""
    return _folder("traces", "data/traces")


def profiles() -> list[Path]:
    """Every clip profile that comes with Legato, by path."""
    return sorted(_folder("profiles", "profiles").rglob("*.safetensors"))


def scenario(name: str | Path) -> Path:
    """A scenario by file, or by the name of one that comes with Legato (``"cellular"``)."""
    known = {path.stem: path for path in scenarios()}
    return _by_path_or_name(str(name), known, ScenarioError, "scenario")


def profile(name: str | Path) -> Path:
    """A clip profile by file, or by the name of one that comes with Legato."""
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
    names = ", ".join(known) or "none"
    raise error(f"{name}: no such {what} file", hint=f"by name there are: {names}")
