"""How a run is made again: the command and the user's files, as the run folder has them in ``repeat.json`` and
``plan.json``. Files are compared with the hashes taken when the run was made."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from legato.plan.user_files import changed
from legato.results.run_folder import RunFolder, open_run


@dataclass(frozen=True)
class UserFile:
    """A file that did not come with Legato."""

    name: str
    """Its whole path, or its name in the plan where there is no path."""
    sha256: str
    problem: str | None
    """The files that have changed since the run was made."""


def command(run: RunFolder) -> str | None:
    """The command line for a shell, in any folder; ``None`` where the run folder has none."""
    words = run.repeat.get("command")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return None
    return shlex.join([*words, "--out", f"{run.name}-again"])


def lines(folders: Iterable[Path]) -> Markup:
    """The commands of several run folders for a page, one under the other; those without one are passed over."""
    found = (command(open_run(folder)) for folder in folders if (folder / "repeat.json").is_file())
    return Markup("<br>").join(Markup("<code>{}</code>").format(one) for one in found if one)


def below(folder: Path) -> list[Path]:
    """The run folders in a folder, at any depth, sorted."""
    return sorted(file.parent for file in folder.rglob("repeat.json") if (file.parent / "summary").is_dir())


def files(run: RunFolder) -> list[UserFile]:
    """The user's files that the run depends on."""
    places = run.repeat.get("places")
    return [_file(one, places if isinstance(places, dict) else {}) for one in run.plan.get("files") or []]


def _file(one: dict[str, Any], places: dict[str, str]) -> UserFile:
    place = places.get(one["name"])
    return UserFile(place or one["name"], one["sha256"], changed(one["sha256"], place))
