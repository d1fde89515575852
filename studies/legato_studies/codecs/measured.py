"""Measurements of codecs on clips, one part per clip, so an interrupted run resumes; and tables of them.

Clip, number of frames, way of measuring and codec identify a part. The codec's mark comes from the packets that it
makes of made-up pictures, and from its pictures where some are lost. So a part of another encoder or another
concealment is not taken for one of this.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from legato import _core, atomic
from legato.profile.clip import Clip, Pictures, read_clip
from legato.report.pages import Section
from legato.results.stats import grouped_mean
from legato_studies import command
from legato_studies.page import markdown

MAX_HEIGHT = 360
WIDTH, HEIGHT, PICTURES = 64, 48, 4


@dataclass(frozen=True)
class Row:
    """One figure of one clip."""

    clip: str
    kbps: int
    codec: str
    figure: str
    value: float


def open_clip(name: str, frames: int) -> tuple[Clip, Pictures]:
    """A file at up to 360 rows; ``scene``: the generated scene of calls."""
    if name != "scene":
        clip = read_clip(name, longest_frames=frames)
        return clip, clip.pictures(min(MAX_HEIGHT, 2 * (clip.source_height // 2)))
    with tempfile.TemporaryDirectory(prefix="legato-hybrid-") as folder:
        path = Path(folder) / "scene.y4m"
        _core.write_scene(path, 640, MAX_HEIGHT, 30, frames)
        clip = read_clip(path, longest_frames=frames)
        return clip, clip.pictures(MAX_HEIGHT)


def codec_mark(settings: str) -> str:
    """Twelve hexadecimal digits that change with the codec's packets, its concealment and a measurement's settings."""
    random = np.random.default_rng(7)
    noise = random.integers(0, 256, WIDTH * HEIGHT * 3 // 2, dtype=np.uint8)
    digest = hashlib.sha256(settings.encode())
    encoder, holed = _core.HybridEncoder(WIDTH, HEIGHT), _core.HybridDecoder()
    for index in range(PICTURES):
        # Two fifths of a picture stand still, the rest moves: both kinds of macroblocks are coded.
        picture = np.where(np.arange(noise.size) % WIDTH < 24, noise, np.roll(noise, 3 * index)) // 2
        _, packets, _, _ = encoder.encode(picture.astype(np.uint8).tobytes(), budget_bytes=600)
        for packet in packets:
            digest.update(packet)
        holed.decode(packets[1:] if index else packets)
        digest.update(holed.luma() or b"")
    holed.miss()
    digest.update(holed.luma() or b"")
    return digest.hexdigest()[:12]


class Parts:
    """A folder of parts, all of one codec, one way of measuring and one number of frames."""

    def __init__(self, folder: Path, frames: int, mark: str) -> None:
        self._folder, self._frames, self._mark = folder, frames, mark

    def _path(self, clip: str) -> Path:
        return self._folder / f"{clip}-{self._frames}-{self._mark}.json"

    def read(self, clip: str) -> list[dict[str, Any]] | None:
        """The figures of a clip; ``None``: not measured so far."""
        path = self._path(clip)
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def keep(self, clip: str, rows: Sequence[dict[str, Any]]) -> None:
        """Keep the figures of a clip: the file appears whole or not at all."""
        atomic.write_json(self._path(clip), list(rows))

    def measured(self, names: Sequence[str], measure: Callable[[Clip, Pictures], Iterable[Row]]) -> list[Row]:
        """The figures of all these clips: from kept parts, or measured and kept."""
        rows: list[Row] = []
        for name in names:
            stem = Path(name).stem
            found = self.read(stem)
            if found is None:
                found = [vars(row) for row in measure(*open_clip(name, self._frames))]
                self.keep(stem, found)
                print(f"{name}: {len(found)} figures", flush=True)
            rows += [Row(**figures) for figures in found]
        return rows


OPTIONS: command.Options = {
    "clips": {"nargs": "+", "help": "video files; `scene` is the generated scene of calls"},
    "--out": {"type": Path, "required": True, "help": "the tables"},
    "--frames": {"default": 96, "help": "pictures of each clip"},
}


class Values:
    """Figures of all clips, as cells of tables: means over clips, with intervals where there are clips enough."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._values: dict[tuple[int, str, str], dict[str, float]] = {}
        for row in rows:
            self._values.setdefault((row.kbps, row.codec, row.figure), {})[row.clip] = row.value
        self.clips = list(dict.fromkeys(clip for found in self._values.values() for clip in found))
        self.codecs = list(dict.fromkeys(codec for _, codec, _ in self._values))

    def __iter__(self) -> Iterator[tuple[int, str, str]]:
        return iter(self._values)

    def of(self, kbps: int, codec: str, figure: str) -> dict[str, float]:
        """A figure by clip."""
        return self._values.get((kbps, codec, figure), {})

    def cell(self, kbps: int, codec: str, figure: str) -> str:
        """A figure's mean."""
        return mean_of(self.of(kbps, codec, figure).items())

    def above(self, kbps: int, own: tuple[str, str], other: tuple[str, str]) -> str:
        """By how much one codec's figure is above another's, clip by clip; each is a codec and its figure."""
        theirs = self.of(kbps, *other)
        return mean_of((clip, value - theirs[clip]) for clip, value in self.of(kbps, *own).items() if clip in theirs)


def mean_of(values: Iterable[tuple[str, float]], unit: str = "") -> str:
    """The mean over clips with its interval; nothing of no clip."""
    found = list(values)
    if not found:
        return ""
    estimate = grouped_mean(found)
    if estimate.low is None or estimate.high is None:
        return f"{estimate.mean:.2f}{unit}"
    return f"{estimate.mean:.2f}{unit} ({estimate.low:.2f} to {estimate.high:.2f})"


def percent(loss_ratios: Iterable[float]) -> list[str]:
    """Ratios of loss as heads of columns."""
    return [f"{loss:.0%}" for loss in loss_ratios]


def tabulate(
    module: str,
    summary: str,
    settings: object,
    measure: Callable[[Clip, Pictures], Iterable[Row]],
    tables: Callable[[Values], list[Section]],
    arguments: Sequence[str] | None = None,
) -> int:
    """The command line of ``python -m legato_studies.MODULE CLIP... --out FILE``: all figures, kept or measured now, as
    Markdown. Returns the exit status."""

    def work(given: command.Given) -> str:
        parts = Parts(given.out.with_suffix(".parts"), given.frames, codec_mark(repr((module, settings))))
        rows = parts.measured(given.clips, measure)
        return str(atomic.write_text(given.out, markdown(tables(Values(rows))) + "\n"))

    return command.run(module, summary, OPTIONS, work, arguments)
