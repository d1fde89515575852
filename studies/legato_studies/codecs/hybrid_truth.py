"""The hybrid codec against its model, over the same losses: how true the sizes and the pictures of the simulator are.

    python -m legato_studies.codecs.hybrid_truth --clips bird.mkv foreman.mp4 --height 180 --out truth/

The real codec codes each clip along a random schedule of bitrates. Its packets are lost by chance, each frame is
reported three frames later, and the receiver's picture is compared with the clip. The model of the clip's profile plays
the same schedule and loses as many packets of the same frames. Only tables are measured on the clip; the constants of
the model (``crates/media/src/encoder/hybrid.rs``) were fitted on other clips.

The model knows how many packets of each frame are lost, not which. So the codec too plays each schedule several times
with as many packets of each frame lost, others each time: what then differs between its pictures no such model can
know (``Chance``).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from legato import _core
from legato.profile.clip import Clip, Pictures, read_clip
from legato.profile.hybrid_tables import Frame, Receiver, Stream
from legato.profile.tables import quality
from legato_studies import command
from legato_studies.codecs.measured import mean_of
from legato_studies.codecs.truth import contents, measured_profile, schedule, write_verdicts
from legato_studies.page import markdown
from legato_studies.page import table as columns

LOSSES = (0.0, 0.05, 0.2, 0.5)
REPORT_AFTER = 3
"""A round trip of 100 ms at 30 frames a second."""
BPP = (0.02, 0.32)
"""The range of a schedule, in bits per pixel."""
FRAMES = 150
DRAWS = 8
"""Plays of the codec that differ in which packets are lost."""

Choice = Callable[[int, int], list[int]]
"""Which packets come, of a frame by its number and of so many."""


@dataclass(frozen=True)
class Chance:
    """What depends on which packets are lost, over one schedule without its first second: SSIM in dB per frame.

    The smallest mean absolute error of a model that knows all but that is the mean absolute deviation from the median
    over all draws. A few draws give bounds of its expectation: from their own median they deviate less, each from the
    median of the others more.
    """

    low_db: float
    """From the median of the draws, itself among them."""
    high_db: float
    """Of each draw from the median of the others."""
    pair_db: float
    """Of two draws from each other: between once and twice the deviation from the median."""


@dataclass(frozen=True)
class Verdict:
    """Model against codec over one schedule, without its first second.

    `size_error_ratio`: mean of |model - real| / real bytes per frame; `ssim_mae_db`: mean absolute difference per
    frame; `mean_error_db`: of the means over frames, model minus real; `floor_*_db`, `pair_db`: see `Chance`.
    """

    clip: str
    seed: int
    loss_ratio: float
    size_error_ratio: float
    ssim_mae_db: float
    mean_error_db: float
    real_ssim_db: float
    floor_low_db: float
    floor_high_db: float
    pair_db: float


@dataclass(frozen=True)
class Play:
    """The codec along one schedule under loss: the bitrate of each frame, its bytes, how many of its packets came, and
    SSIM in dB of the picture shown (draws, frames). The draws differ in which packets are lost.
    """

    seed: int
    loss_ratio: float
    targets: np.ndarray
    size_bytes: np.ndarray
    came: list[int]
    ssim_db: np.ndarray


def schedules(clip: Clip, pictures: Pictures, seed: int, frames: int) -> np.ndarray:
    """A bitrate for each frame."""
    fps = float(clip.fps)
    low, high = (bpp * pictures.width * pictures.height * fps for bpp in BPP)
    return schedule(np.random.default_rng(seed), frames, fps, low, high)


def by_chance(loss_ratio: float, seed: int) -> Choice:
    """Each packet is lost by itself."""
    random = np.random.default_rng([seed, round(1000 * loss_ratio)])
    return lambda _, count: [packet for packet in range(count) if random.random() >= loss_ratio]


def as_many(came: list[int], seed: tuple[int, ...]) -> Choice:
    """Of each frame as many packets come as these, which ones is drawn anew."""
    random = np.random.default_rng(seed)
    return lambda at, count: sorted(random.choice(count, came[at], replace=False).tolist())


def real(
    clip: Clip, pictures: Pictures, targets: np.ndarray, choice: Choice
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Bytes of each frame, SSIM in dB of the picture shown, and how many of its packets came."""
    stream, receiver = Stream(pictures), Receiver(pictures)
    order = contents(clip, len(targets))
    sizes, shown = [], []
    sent: list[tuple[Frame, list[int]]] = []
    for at, (index, target) in enumerate(zip(order, targets, strict=True)):
        if at >= REPORT_AFTER:
            stream.report(*sent[at - REPORT_AFTER])
        frame = stream.encode(index, target / 8 / float(clip.fps))
        kept = choice(at, len(frame.packets))
        kept = kept if at else list(range(len(frame.packets)))  # a call that begins without a picture asks for another
        luma = receiver.show(frame, kept)
        assert luma is not None  # the first frame comes whole
        shown.append(luma)
        sent.append((frame, kept))
        sizes.append(frame.size_bytes)
    ssim_db, _ = quality(pictures.luma[order], np.stack(shown))
    return np.array(sizes), ssim_db, [len(kept) for _, kept in sent]


def modelled(
    profile: Path, height: int, targets: np.ndarray, came: list[int], *, later_ratio: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Bytes of the model's frames, and SSIM in dB of the picture shown if so many packets of each come.

    `later_ratio` is the share that `hybrid_fit` fits.
    """
    model = _core.HybridModel(str(profile), height, later_ratio=later_ratio)
    sizes, shown = [], []
    for at, target in enumerate(targets):
        if at >= REPORT_AFTER:
            model.report(at - REPORT_AFTER, came[at - REPORT_AFTER])
        sizes.append(model.encode(int(target))[0])
        shown.append(model.decode(at, came[at]))
    return np.array(sizes, float), np.array(shown, float)


def chance(draws: np.ndarray) -> Chance:
    """What differs between draws (two or more, frames)."""
    count = len(draws)
    others = [np.median(np.delete(draws, i, axis=0), axis=0) for i in range(count)]
    pairs = np.abs(draws[:, None] - draws).sum(axis=(0, 1)) / (count * (count - 1))
    return Chance(
        float(np.mean(np.abs(draws - np.median(draws, axis=0)))),
        float(np.mean(np.abs(draws - others))),
        float(np.mean(pairs)),
    )


def plays(clip: Clip, pictures: Pictures, *, seeds: int, frames: int) -> Iterator[Play]:
    """Each schedule under each loss."""
    for seed in range(1, seeds + 1):
        targets = schedules(clip, pictures, seed, 2 * frames)
        for loss in LOSSES:
            sizes, ssim_db, came = real(clip, pictures, targets, by_chance(loss, seed))
            draws = [ssim_db] * DRAWS  # without loss all are the same
            for draw in range(1, DRAWS if loss > 0 else 1):
                again = as_many(came, (seed, round(1000 * loss), draw))
                draws[draw] = real(clip, pictures, targets, again)[1]
            yield Play(seed, loss, targets, sizes, came, np.stack(draws))


def verdicts(path: Path, profile: Path, *, height: int, seeds: int, frames: int) -> list[Verdict]:
    """All comparisons of one clip."""
    clip = read_clip(path, longest_frames=frames)
    skip, found = round(float(clip.fps)), []
    for play in plays(clip, clip.pictures(height), seeds=seeds, frames=frames):
        floor = chance(play.ssim_db[:, skip:])
        model_sizes, model_db = modelled(profile, height, play.targets, play.came)
        error = (model_db - play.ssim_db[0])[skip:]
        size_error = np.mean((np.abs(model_sizes - play.size_bytes) / play.size_bytes)[skip:])
        found.append(
            Verdict(
                clip.name,
                play.seed,
                play.loss_ratio,
                float(size_error),
                float(np.mean(np.abs(error))),
                float(np.mean(error)),
                float(np.mean(play.ssim_db[0, skip:])),
                floor.low_db,
                floor.high_db,
                floor.pair_db,
            )
        )
    return found


def measured(path: Path, folder: Path, *, height: int, frames: int) -> Path:
    """The profile of a clip in a folder; measured unless it is there."""
    return measured_profile(path, folder, heights=[height], encoders=["hybrid"], longest_frames=frames)


def table(found: Sequence[Verdict]) -> str:
    """Markdown: per loss, means and intervals over clips; then every comparison."""

    def mean(figure: str) -> Callable[[list[Verdict]], str]:
        return lambda rows: mean_of((row.clip, getattr(row, figure)) for row in rows)

    of_loss = {
        "loss": lambda rows: f"{rows[0].loss_ratio:.0%}",
        "size error": lambda rows: mean_of(((row.clip, 100 * row.size_error_ratio) for row in rows), " %"),
        "SSIM error per frame, dB": mean("ssim_mae_db"),
        "floor, at least": mean("floor_low_db"),
        "floor, at most": mean("floor_high_db"),
        "two plays of the codec": mean("pair_db"),
        "error of the mean, dB": mean("mean_error_db"),
        "real SSIM, dB": mean("real_ssim_db"),
    }
    of_play = {
        "clip": lambda row: row.clip,
        "seed": lambda row: str(row.seed),
        "loss": lambda row: f"{row.loss_ratio:.0%}",
        "size error": lambda row: f"{row.size_error_ratio:.1%}",
        "SSIM error per frame, dB": lambda row: f"{row.ssim_mae_db:.2f}",
        "floor, dB": lambda row: f"{row.floor_low_db:.2f} to {row.floor_high_db:.2f}",
        "error of the mean, dB": lambda row: f"{row.mean_error_db:+.2f}",
    }
    by_loss: dict[float, list[Verdict]] = {}
    for verdict in found:
        by_loss.setdefault(verdict.loss_ratio, []).append(verdict)
    return markdown([columns(of_loss, by_loss.values()), columns(of_play, found)]) + "\n"


OPTIONS: command.Options = {
    **command.CLIPS,
    "--height": {"default": 180, "help": "rows to compare at"},
    "--seeds": {"default": 1, "help": "schedules per clip"},
    "--frames": {"default": FRAMES, "help": "pictures of each clip"},
    "--out": {"type": Path, "help": "folder for profiles, verdicts.csv and tables.md"},
}


def main(arguments: Sequence[str] | None = None) -> int:
    return command.run("codecs.hybrid_truth", __doc__, OPTIONS, _run, arguments)


def _run(given: command.Given) -> str:
    found: list[Verdict] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.out or Path(scratch)
        for path in given.clips:
            profile = measured(path, folder, height=given.height, frames=given.frames)
            found += verdicts(path, profile, height=given.height, seeds=given.seeds, frames=given.frames)
            print(f"{path.name}: {len(found)} comparisons", flush=True)
        if given.out:
            write_verdicts(found, folder)
            (folder / "tables.md").write_text(table(found), encoding="utf-8")
    return table(found)


if __name__ == "__main__":
    sys.exit(main())
