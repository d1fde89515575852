"""The errors that Legato raises, one class per kind.

Every deliberate error derives from :class:`Error`. Its message names the file, the key and the value at
fault; ``hint``, if present, says what to do. The command line prints them as an ``error:`` and a ``hint:``
line and exits with status 2. The native module raises the same classes.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Sequence

WARNINGS = 5
"""Of one kind; more are counted."""


class Error(Exception):
    """An error that the user can fix: an invalid file, key or argument.

    Args:
        message: one line that names file, key and value.
        hint: one line that says what to do, or ``None``.
    """

    hint: str | None

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class DataWarning(UserWarning):
    """Something among the user's data that is left out or looks wrong, and does not stop the rest."""


def did_you_mean(name: str, known: Iterable[str], otherwise: str | None = None) -> str | None:
    """A hint: the names nearest to ``name``, else ``otherwise``, else all valid ones."""
    known = {one.casefold(): one for one in known}
    alike = difflib.get_close_matches(name.casefold(), known, cutoff=0.65)
    if alike:
        return f"did you mean {' or '.join(known[one] for one in alike)}?"
    return otherwise or f"there are: {', '.join(known.values())}"


def warn_of_left_out(why: Sequence[object]) -> None:
    """Warn of things that are left out: the first few by what is wrong with each, the others by their number."""
    for one in why[:WARNINGS]:
        warnings.warn(f"{one}; left out", DataWarning, stacklevel=3)
    if len(why) > WARNINGS:
        warnings.warn(f"{len(why) - WARNINGS:,} more were left out", DataWarning, stacklevel=3)


class ScenarioError(Error):
    """An invalid scenario: not TOML, an unknown key, a value out of range."""


class TraceError(Error):
    """An invalid capacity trace: unreadable, empty, or in no known format."""


class ProfileError(Error):
    """An invalid clip or profile: not a video, not a profile, or damaged."""


class CallError(Error):
    """A real call that failed: no browser, no connection, or a failing encoder or clip."""


class ControllerError(Error):
    """An unknown controller, or an unknown or invalid parameter of one."""


class PolicyError(Error):
    """An invalid policy: an unknown key, another observation layout, weights of the wrong shape or NaN."""


class RunFolderError(Error):
    """An invalid run folder: absent, incomplete, of another format version or for another plan."""


class TrainingError(Error):
    """A failed training: an unknown recipe, invalid settings, a NaN reward, or a damaged checkpoint."""
