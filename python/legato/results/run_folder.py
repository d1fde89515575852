"""A run folder on disk (docs/reference/run-folder.md): its manifest, its plan and the files of its tables.

Nothing here reads a table; see store.py. One line that names the file reports the fault of a folder.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from legato.errors import RunFolderError

FORMAT = 1
"""The version of docs/reference/run-folder.md that this code reads."""
MAX_JSON_BYTES = 256 << 20
"""A manifest larger than this is refused unread."""


@dataclass(frozen=True)
class RunFolder:
    """One run: its plan, and the places of its tables."""

    path: Path
    manifest: dict[str, Any]
    plan: dict[str, Any]
    summary: tuple[Path, ...]
    repeat: dict[str, Any] = field(default_factory=dict)
    """repeat.json: the command that makes the run again, and the places of the user's files; empty without it."""

    @property
    def name(self) -> str:
        return self.path.resolve().name

    @property
    def calls(self) -> int:
        """Calls that were planned, finished or not."""
        return int(self.manifest["calls"])

    @property
    def real(self) -> bool:
        """Whether its calls were real ones."""
        return self.manifest.get("kind") == "call"

    @property
    def scenario(self) -> str:
        return str(self.manifest["scenario"])

    @property
    def version(self) -> str:
        version = str(self.manifest.get("legato", "unknown"))
        commit = str(self.manifest.get("commit", "unknown"))
        return version if commit == "unknown" else f"{version} ({commit})"

    @property
    def scenario_toml(self) -> str | None:
        """The scenario as it was resolved, or None where the plan does not hold it."""
        text = self.plan.get("scenario")
        return text if isinstance(text, str) and "=" in text else None

    def names(self, key: str) -> list[str]:
        """A list of the manifest (`controllers`, `traces`, `clips`, `seeds`) as text."""
        values = self.manifest.get(key)
        return [str(value) for value in values] if isinstance(values, list) else []

    def part(self, table: str, call: int) -> Path | None:
        """The file of `table` that holds call number `call`, or None where it was not logged."""
        per_part = int(self.manifest.get("calls_per_part") or 0)
        if per_part < 1:
            return None
        path = self.path / table / f"{call // per_part:05}.parquet"
        return path if path.is_file() else None


def open_run(path: str | Path) -> RunFolder:
    """Reads the manifest and the plan of a run folder.

    Raises:
        RunFolderError: not a run folder, one of another format, or one without a finished call.
    """
    path = Path(path)
    if not path.is_dir():
        what = "is a file, not a run folder" if path.exists() else "no such folder"
        raise RunFolderError(f"{path}: {what}", "a run folder is what `legato run` and `legato compare` write")
    manifest_path = path / "manifest.json"
    if not manifest_path.is_file():
        raise RunFolderError(
            f"{path}: not a run folder: it has no manifest.json",
            "give the folder that `legato run` or `legato compare` wrote (--out)",
        )
    manifest = _read_json(manifest_path)
    _check_manifest(manifest_path, manifest)
    plan_path = path / "plan.json"
    plan = _read_json(plan_path) if plan_path.is_file() else {}
    summary = tuple(sorted((path / "summary").glob("[0-9]*.parquet")))
    if not summary:
        raise RunFolderError(
            f"{path / 'summary'}: no finished part: none of {manifest['calls']} calls is done",
            "run the same command again: a sweep continues with the parts that are missing",
        )
    repeat_path = path / "repeat.json"
    return RunFolder(path, manifest, plan, summary, _read_json(repeat_path) if repeat_path.is_file() else {})


def _read_json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_JSON_BYTES:
            raise RunFolderError(f"{path}: larger than {MAX_JSON_BYTES >> 20} MiB; not a file that Legato wrote")
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunFolderError(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise RunFolderError(f"{path}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise RunFolderError(f"{path}: holds a {type(value).__name__}, not an object")
    return value


def _check_manifest(path: Path, manifest: dict[str, Any]) -> None:
    version = manifest.get("format")
    if version != FORMAT:
        raise RunFolderError(
            f"{path}: format = {json.dumps(version)}, this version of Legato reads format = {FORMAT}",
            "make the report with the version that made the run, or run it again",
        )
    calls = manifest.get("calls")
    if not isinstance(calls, int) or isinstance(calls, bool) or calls < 1:
        raise RunFolderError(f"{path}: calls = {json.dumps(calls)}, must be a number above 0")
    if not isinstance(manifest.get("scenario"), str):
        raise RunFolderError(f"{path}: scenario = {json.dumps(manifest.get('scenario'))}, must be a name")
