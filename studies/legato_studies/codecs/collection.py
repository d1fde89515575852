"""The profiles that come with Legato, measured again: ``python -m legato_studies.codecs.collection SOURCES``."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from legato.profile.clip import LONGEST_FRAMES
from legato.profile.measure import ENCODERS, profile_clip
from legato_studies import command

OPTIONS: command.Options = {
    "sources": {"type": Path, "help": "folder of the source clips"},
    "--table": {"type": Path, "default": Path("profiles/clips.toml"), "help": "of clips"},
    "--out": {"type": Path, "default": Path("profiles"), "help": "folder of the profiles"},
    "--only": {"nargs": "*", "default": [], "type": str, "help": "names of the table"},
}


def main(arguments: Sequence[str] | None = None) -> int:
    return command.run("codecs.collection", __doc__, OPTIONS, _run, arguments)


def _run(given: command.Given) -> str:
    """One profile for each entry of the table, of files below the sources."""
    made = []
    for name, entry in tomllib.loads(given.table.read_text(encoding="utf-8")).items():
        if given.only and name not in given.only:
            continue
        path = profile_clip(
            given.sources / entry["file"],
            given.out / f"{name}.safetensors",
            encoders=entry.get("encoders", ENCODERS),
            heights=entry["heights"],
            name=name,
            licence=entry["licence"],
            origin=entry["origin"],
            longest_frames=entry.get("frames", LONGEST_FRAMES),
            fps=entry.get("fps"),
        )
        made.append(f"{path}: {path.stat().st_size} bytes")
    return "\n".join(made)


if __name__ == "__main__":
    sys.exit(main())
