"""Turns a clip as a user names it (a video file, a profile, a shipped name) into the profile that a plan needs.

Profiling a video takes tens of seconds, so profiles are cached under a hash of the video's content: the same
bytes are profiled once, under whatever name.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

from legato import _core, plan, shipped
from legato.errors import ProfileError

PROFILE_SUFFIX = ".safetensors"

ProgressCallback = Callable[[str, float], None]
"""Called with the current step and its progress, from 0 to 1."""


def profiles(specs: Iterable[str | Path], on_progress: ProgressCallback | None = None) -> list[str]:
    """Paths of the profiles of the clips that ``specs`` name: profiles, video files, globs of both, shipped names."""
    chosen: list[str] = []
    shipped_names = {path.stem: path for path in shipped.profiles()}
    for spec in map(str, specs):
        patterns = [spec] if Path(spec).is_file() else [part.strip() for part in spec.split(",")]
        for pattern in filter(None, patterns):
            if pattern in shipped_names and not Path(pattern).exists():
                chosen.append(plan.from_here(shipped_names[pattern]))
            else:
                chosen += [str(profile_of(path, on_progress)) for path in plan.expand(pattern, ProfileError, "clip")]
    return chosen


def profile_of(clip: Path, on_progress: ProgressCallback | None = None) -> Path:
    """The profile of one clip: the clip itself if it is a profile, else from the cache, else measured now."""
    if clip.suffix == PROFILE_SUFFIX:
        return clip
    content = _content_hash(clip)
    kept = next(cache_folder().glob(f"*-{content}{PROFILE_SUFFIX}"), None)
    if kept is None:
        kept = cache_folder() / f"{clip.stem}-{content}{PROFILE_SUFFIX}"
        profiler().profile_clip(clip, kept, on_progress=on_progress)
    return kept


def profiler() -> ModuleType:
    """The module that measures clips; its dependencies are the extra ``profile`` of the package."""
    if not hasattr(_core, "picture_quality"):
        raise ProfileError(
            "measuring a clip needs the encoders, and this build of Legato has none",
            hint="install a C++ compiler (apt-get install g++), then: make clean build",
        )
    try:
        return importlib.import_module("legato.profile")
    except ModuleNotFoundError as error:
        raise ProfileError(
            f"measuring a clip needs {error.name}, which is not installed", hint="pip install 'legato-rtc[profile]'"
        ) from None


def cache_folder() -> Path:
    """The folder of cached profiles: ``$LEGATO_CACHE/profiles``, else below ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    own = os.environ.get("LEGATO_CACHE")
    if own:
        return Path(own) / "profiles"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "legato" / "profiles"


def _content_hash(clip: Path) -> str:
    digest = hashlib.sha256(f"profile format {profiler().FORMAT}\n".encode())
    try:
        with clip.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise ProfileError(f"{clip}: {error.strerror}") from None
    return digest.hexdigest()[:16]
