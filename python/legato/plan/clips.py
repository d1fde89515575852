"""Turns a clip as a user names it (a video file, a profile, a shipped name) into the profile that a plan needs.

Profiling a video takes tens of seconds, so profiles are cached under a hash of the video's content: the same
bytes are profiled once, under whatever name.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from legato import _core
from legato.errors import ProfileError, did_you_mean, warn_of_left_out
from legato.plan import shipped, specs

PROFILE_SUFFIX = ".safetensors"

ProgressCallback = Callable[[str, float], None]
"""Called with the current step and its progress, from 0 to 1."""


@dataclass(frozen=True)
class Clip:
    """A chosen clip: the path of its profile, and of the video that was measured unless a profile was named."""

    profile: str
    video: str | None = None


def chosen(
    given: Iterable[str | Path], on_progress: ProgressCallback | None = None, *, strict: bool = False
) -> list[Clip]:
    """The clips that ``given`` names: profiles, video files, globs of both, shipped names.

    Args:
        given: what was typed.
        on_progress: called while a video is measured.
        strict: refuse a file of a folder or glob that is no clip; otherwise it is left out with a warning.
    """
    found: list[Path] = []
    shipped_names = {path.stem: path for path in shipped.profiles()}
    for pattern in specs.names(given, "clips", ProfileError):
        if pattern in shipped_names and not Path(pattern).exists():
            found.append(shipped_names[pattern])
        else:
            found += _clips(pattern, shipped_names)
    specs.once(((clip.resolve(), str(clip)) for clip in found), "clips", ProfileError)
    made = _measured(found, on_progress, strict=strict or len(found) == 1)
    specs.once(((profile.resolve(), str(clip)) for clip, profile in made), "clips", ProfileError)
    return [Clip(specs.from_here(profile), None if profile == clip else str(clip)) for clip, profile in made]


def profiles(
    given: Iterable[str | Path], on_progress: ProgressCallback | None = None, *, strict: bool = False
) -> list[str]:
    """Paths of the profiles of :func:`chosen` clips."""
    return [clip.profile for clip in chosen(given, on_progress, strict=strict)]


def _clips(pattern: str, shipped_names: Iterable[str]) -> list[Path]:
    try:
        return specs.files(pattern, ProfileError, "clip")
    except ProfileError as error:
        names = ", ".join(shipped_names)
        error.hint = error.hint or did_you_mean(pattern, shipped_names, f"by name: {names}")
        raise


def _measured(given: Sequence[Path], on_progress: ProgressCallback | None, *, strict: bool) -> list[tuple[Path, Path]]:
    """Clips and their profiles; of several, unreadable ones are left out with a warning."""
    if any(clip.suffix != PROFILE_SUFFIX for clip in given):
        profiler()  # a missing extra is no fault of a clip
    made: list[tuple[Path, Path]] = []
    unreadable: list[ProfileError] = []
    for clip in given:
        try:
            profile = profile_of(clip, on_progress)
            _core.profile_heights(str(profile))
            made.append((clip, profile))
        except ProfileError as error:
            if strict:
                raise
            unreadable.append(error)
    if unreadable and not made:
        raise unreadable[0]
    warn_of_left_out(unreadable)
    return made


def profile_of(clip: Path, on_progress: ProgressCallback | None = None) -> Path:
    """The profile of one clip: the clip itself if it is a profile, else from the cache, else measured now."""
    if clip.suffix == PROFILE_SUFFIX:
        return clip
    content = _content_hash(clip)
    kept = next(cache_folder().glob(f"*-{content}{PROFILE_SUFFIX}"), None)
    if kept is None:
        kept = cache_folder() / f"{clip.stem}-{content}{PROFILE_SUFFIX}"
        profiler().profile_clip(clip, kept, on_progress=on_progress)
    else:
        profiler().warn_of_profile(kept)
    return kept


def profiler() -> ModuleType:
    """The module that measures clips; its dependencies are the extra ``profile`` of the package."""
    if not hasattr(_core, "picture_quality"):
        raise ProfileError(
            "measuring a clip needs the encoders, and this build of Legato has none",
            hint="install a C++ compiler (apt-get install g++), then: make clean build",
        )
    try:
        from legato import profile
    except ModuleNotFoundError as error:
        raise ProfileError(
            f"measuring a clip needs {error.name}, which is not installed", hint="pip install 'legato-rtc[profile]'"
        ) from None
    return profile


def cache_folder() -> Path:
    """The folder of cached profiles: ``$LEGATO_CACHE/profiles``, else below ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    own = os.environ.get("LEGATO_CACHE")
    if own:
        return Path(own) / "profiles"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "legato" / "profiles"


def _content_hash(clip: Path) -> str:
    digest = hashlib.sha256(f"profile format {profiler().FORMAT}, heights up to the source's\n".encode())
    try:
        with clip.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise ProfileError(f"{clip}: {error.strerror}") from None
    return digest.hexdigest()[:16]
