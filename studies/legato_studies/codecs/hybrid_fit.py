"""Fits the one constant of the hybrid codec's loss model: how fast the encoder corrects damage of which it knows.

    python -m legato_studies.codecs.hybrid_fit --clips yes.mkv lrwp9a.mpg night.mkv --height 180 --seeds 2 --frames 60

gives ``LATER`` of ``crates/media/src/decoder/hybrid.rs``, the share of that damage which a whole frame leaves. Codec
and model play the schedules of :mod:`legato_studies.codecs.hybrid_truth` under its losses. The best share has the
smallest mean absolute difference of SSIM between the model and the median of the codec's plays. It is fitted again
without each of the clips, which shows how much it depends on that one.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from legato.profile.clip import read_clip
from legato_studies import command
from legato_studies.codecs.hybrid_truth import FRAMES, measured, modelled, plays

SHARES = np.round(np.arange(0.4, 1.0001, 0.01), 2)
"""The candidates."""


def errors_db(path: Path, profile: Path, *, height: int, seeds: int, frames: int) -> np.ndarray:
    """Mean absolute difference of SSIM at each of `SHARES`: means over frames after the first second, and over all
    schedules under loss."""
    clip = read_clip(path, longest_frames=frames)
    skip, rows = round(float(clip.fps)), []
    for play in plays(clip, clip.pictures(height), seeds=seeds, frames=frames):
        if play.loss_ratio == 0.0:
            continue
        median = np.median(play.ssim_db, axis=0)
        models = [modelled(profile, height, play.targets, play.came, later_ratio=float(share))[1] for share in SHARES]
        rows.append(np.mean(np.abs(np.stack(models) - median)[:, skip:], axis=1))
    return np.asarray(np.mean(rows, axis=0))


def report(errors: dict[str, np.ndarray]) -> str:
    """The best share for all clips, and for all but each."""

    def best(names: list[str]) -> tuple[float, float]:
        mean = np.mean([errors[name] for name in names], axis=0)
        return float(SHARES[mean.argmin()]), float(mean.min())

    lines = ["LATER = {:.2f}: {:.3f} dB".format(*best(list(errors)))]
    for left_out in errors if len(errors) > 1 else ():
        share, error = best([name for name in errors if name != left_out])
        lines.append(f"without {left_out}: {share:.2f}, {error:.3f} dB")
    return "\n".join(lines)


OPTIONS: command.Options = {
    **command.CLIPS,
    "--height": {"default": 180, "help": "rows to compare at"},
    "--seeds": {"default": 2, "help": "schedules per clip"},
    "--frames": {"default": FRAMES, "help": "pictures of each clip"},
}


def main(arguments: Sequence[str] | None = None) -> int:
    return command.run("codecs.hybrid_fit", __doc__, OPTIONS, _run, arguments)


def _run(given: command.Given) -> str:
    errors = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in given.clips:
            how = {"height": given.height, "frames": given.frames}
            errors[path.stem] = errors_db(path, measured(path, Path(folder), **how), seeds=given.seeds, **how)
    return report(errors)


if __name__ == "__main__":
    sys.exit(main())
