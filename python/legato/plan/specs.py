"""Lists as people type them: controllers, traces, clips and seeds.

``a,b`` in one option and the option given twice mean the same. ``name@key=value`` sets options of an item. A list that
names nothing is refused, and so is an item that is named twice: it would count double in every mean.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from legato.errors import Error, warn_of_left_out
from legato.plan import spec_text

MOST_SEEDS = 1_000_000
"""Each is a call at least."""
Item = tuple[str, dict[str, Any]]
"""A name and its options."""


def items(specs: Iterable[str | Path], what: str, error: type[Error] = Error) -> list[Item]:
    """``a,b@x=1,y=2,c`` is ``a``, ``b`` with two options, and ``c``: options follow the name they belong to.

    Args:
        specs: what was typed.
        what: names the list in errors: ``"traces"``.
        error: the class of what is raised.
    """
    parts: list[Item] = []
    for spec in listed(specs):
        before = len(parts)
        if os.path.lexists(spec):  # whatever its name holds
            parts.append((spec, {}))
            continue
        parts += spec_text.read(spec)
        if len(parts) == before:
            raise error(f"{what} = {spec!r}: names none")
    return parts


def names(specs: Iterable[str | Path], what: str, error: type[Error] = Error) -> list[str]:
    """Items that take no options, which may therefore hold any ``@`` and ``=``."""
    found: list[str] = []
    for spec in listed(specs):
        parts = [spec] if os.path.lexists(spec) else [part.strip() for part in spec.split(",") if part.strip()]
        if not parts:
            raise error(f"{what} = {spec!r}: names none")
        found += parts
    return found


def listed(specs: Iterable[str | Path] | str | Path) -> list[str]:
    """A single item as a list of one, so that ``controllers="gcc,nada"`` is not read letter by letter."""
    return [str(specs)] if isinstance(specs, str | Path) else [str(spec) for spec in specs]


def once(found: Iterable[tuple[Any, str]], what: str, error: type[Error] = Error) -> None:
    """Refuse an item that is named twice.

    Args:
        found: what makes an item the same as another, and how it is shown.
        what: names the list in errors.
        error: the class of what is raised.
    """
    seen: set[Any] = set()
    for same, shown in found:
        if same in seen:
            raise error(f"{what}: {shown} is named twice", "each item of a list counts once in every mean")
        seen.add(same)


def files(pattern: str, error: type[Error], what: str) -> list[Path]:
    """The files that a pattern names: a file, a folder with all below it, or a glob (``**`` is recursive).

    Sorted, so that a plan does not depend on the order of a directory. Licences, manifests and the like in the data's
    folder are skipped unless the pattern names them. A file of a folder whose name is not UTF-8 is left out with a
    warning: a plan is JSON, which cannot hold it.
    """
    path = Path(pattern).expanduser()
    file, mark, _ = str(path).rpartition("#")
    if path.is_file() or (mark and Path(file).is_file()):  # file#part: one of several traces in a file
        if not is_text(path):
            raise error(not_text(path), "rename it: run folders and pages record paths as text")
        return [path]
    hits = [path] if path.is_dir() else [Path(hit) for hit in glob.glob(str(path), recursive=True)]  # noqa: PTH207
    found = {file for hit in hits for file in (hit.rglob("*") if hit.is_dir() else [hit]) if _is_data(file)}
    named = sorted(file for file in found if is_text(file))
    warn_of_left_out([not_text(odd) for odd in sorted(found - set(named))])
    if not named:
        is_pattern = any(mark in pattern for mark in "*?[")
        nothing = f"{pattern}: matches no file" if is_pattern else f"{pattern}: no such {what} file"
        raise error(f"{pattern}: a folder without a {what} file" if path.is_dir() else nothing)
    return named


def from_here(path: str | Path) -> str:
    """A path below the working folder as a relative one, so that run folders do not depend on where they were made."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _is_data(path: Path) -> bool:
    beside = path.name.startswith((".", "COPYING", "COPYRIGHT", "LICENSE", "MANIFEST", "NOTICE", "README"))
    return path.is_file() and not beside and path.suffix != ".md"


def is_text(path: str | Path) -> bool:
    """Whether a path is UTF-8; Linux allows any bytes in a name."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def not_text(path: str | Path) -> str:
    """The fault of a path that is not :func:`is_text`, with its bytes shown as escapes."""
    return f"{readable(path)}: the name is not UTF-8"


def readable(text: str | Path) -> str:
    """Text that any terminal can show: bytes of a name that are not UTF-8 as ``\\xe9``."""
    return str(text).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def seeds(count_or_list: int | Sequence[int]) -> list[int]:
    """``[1, 2, 3]`` for ``3``; a list unchanged."""
    if isinstance(count_or_list, int) and count_or_list > MOST_SEEDS:
        raise Error(f"seeds = {count_or_list:,}: more than {MOST_SEEDS:,}")
    chosen = list(range(1, count_or_list + 1)) if isinstance(count_or_list, int) else list(count_or_list)
    if not chosen:
        raise Error(f"seeds = {count_or_list}: at least one seed is needed")
    for seed in chosen:
        if not 0 <= seed < 2**64:
            raise Error(f"seed = {seed}: a seed is an integer from 0 to 2^64 - 1")
    once(((seed, f"seed {seed}") for seed in chosen), "seeds")
    return chosen
