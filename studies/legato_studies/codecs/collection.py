"""The profiles that come with Legato, measured again: ``python -m legato_studies.codecs.collection SOURCES``."""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path

from legato.errors import Error
from legato.profile.clip import LONGEST_FRAMES
from legato.profile.measure import ENCODERS, profile_clip


def measure_collection(table: Path, sources: Path, out: Path, only: set[str]) -> None:
    """One profile for each entry of the TOML `table`, of files below `sources`."""
    for name, entry in tomllib.loads(table.read_text()).items():
        if only and name not in only:
            continue
        path = profile_clip(
            sources / entry["file"],
            out / f"{name}.safetensors",
            encoders=entry.get("encoders", ENCODERS),
            heights=entry["heights"],
            name=name,
            licence=entry["licence"],
            origin=entry["origin"],
            longest_frames=entry.get("frames", LONGEST_FRAMES),
            fps=entry.get("fps"),
        )
        print(f"{path}: {path.stat().st_size} bytes", flush=True)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m legato_studies.codecs.collection", description=__doc__)
    parser.add_argument("sources", type=Path, help="folder of the source clips")
    parser.add_argument("--table", type=Path, default=Path("profiles/clips.toml"))
    parser.add_argument("--out", type=Path, default=Path("profiles"))
    parser.add_argument("--only", nargs="*", default=[], help="names of the table")
    arguments = parser.parse_args()
    try:
        measure_collection(arguments.table, arguments.sources, arguments.out, set(arguments.only))
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
