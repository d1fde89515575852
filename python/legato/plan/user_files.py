"""The user's files that a run depends on: hashes of their content, and whether they still are as they were."""

from __future__ import annotations

import hashlib
from pathlib import Path

from legato.errors import Error

_BLOCK_BYTES = 1 << 20


def sha256(path: Path) -> str:
    """Of a file's content; of a folder, of its files' one after the other, sorted by name.

    Raises:
        Error: it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        for file in sorted(one for one in path.iterdir() if one.is_file()) if path.is_dir() else [path]:
            with file.open("rb") as content:
                while block := content.read(_BLOCK_BYTES):
                    digest.update(block)
    except OSError as error:
        raise Error(f"{error.filename or path}: {error.strerror}") from None
    return digest.hexdigest()


def changed(sha256_then: str, place: str | None) -> str | None:
    """The file that has changed; ``None``: none has."""
    if place is None:
        return "its place was not recorded"
    try:
        same = sha256(Path(place)) == sha256_then
    except Error:
        return "it is no longer there, or cannot be read"
    return None if same else "it has changed since"
