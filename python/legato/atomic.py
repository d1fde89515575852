"""Files that appear whole or not at all: written next to their place, then moved there."""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from legato.errors import Error


def write_text(path: str | Path, text: str) -> Path:
    """Write UTF-8 text; see :func:`write_bytes`."""
    return write_bytes(path, text.encode())


def write_json(path: str | Path, document: Any) -> Path:
    """Write a document, indented by one space. Values that are not finite, which JSON cannot hold, become ``null``."""
    return write_text(path, json.dumps(_finite(document), indent=1, allow_nan=False) + "\n")


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write a file, and its folder where that is absent.

    A link stays a link: its target is written. A device or a FIFO is written to, not replaced by a file.

    Raises:
        Error: it cannot be written; the old content stays.
    """
    path = Path(path)
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            path.write_bytes(content)
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial:
            partial.write_bytes(content)
    except OSError as error:
        raise Error(f"{path}: cannot be written: {error.strerror}") from error
    return path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to, which is moved to ``path`` in the end, and removed if writing fails."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
    path = path.resolve()
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
