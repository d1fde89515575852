"""What can go wrong, one class a kind.

Every error Legato raises on purpose derives from :class:`Error`. Its text names the file, the key and
the value at fault; ``hint``, where there is one, says what to do about it. The command line prints the
two as an ``error:`` and a ``hint:`` line and exits with status 2; the native module raises the same
classes.
"""

from __future__ import annotations


class Error(Exception):
    """Anything a user can put right: a bad file, a bad key, a bad argument.

    Args:
        message: one line naming file, key and value.
        hint: one line saying what to do, or ``None``.
    """

    hint: str | None

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class ScenarioError(Error):
    """A scenario file: not TOML, an unknown key, a value out of range."""


class TraceError(Error):
    """A trace of capacity: unreadable, empty, not in a known format."""


class ProfileError(Error):
    """A clip or the profile made of it: not a video, not a profile, damaged."""


class CallError(Error):
    """A real call: no browser, no connection, an encoder or a clip that fails."""


class ControllerError(Error):
    """A controller: no such name, an unknown or impossible parameter."""


class PolicyError(Error):
    """A trained policy: an unknown key, another layout, weights that do not fit or are no numbers."""


class RunFolderError(Error):
    """A run folder: missing, incomplete, written by another format or for another plan."""


class TrainingError(Error):
    """A training: no such recipe, settings that cannot be, a reward that is no number, a damaged checkpoint."""


__all__ = [
    "CallError",
    "ControllerError",
    "Error",
    "PolicyError",
    "ProfileError",
    "RunFolderError",
    "ScenarioError",
    "TraceError",
    "TrainingError",
]
