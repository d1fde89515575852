"""Model against encoder: how true the codec model is, on schedules of targets it never saw.

    python -m legato_studies.codecs.truth --clips data/clips/*.mp4 --seeds 2 --out truth/

Codes each clip with the real x264 (and OpenH264) along a random schedule of targets, lets the model
of the clip's profile do the same, and prints how they compare. Only the tables of a profile are
measured on its clip; the coefficients of the models are constants of the code.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from legato import _core
from legato.profile.clip import Clip, Pictures, read_clip
from legato.profile.measure import profile_clip
from legato.profile.tables import fps_text, quality
from legato.profile.x264 import X264, Encoder
from legato_studies import command

VBV_MS = (100, 200, 500, 1000)
LEAST_BPS = 60_000
"""The lowest target of a schedule: a still talking head would need less, but no call sends so little."""


@dataclass(frozen=True)
class Track:
    """What one encoder, real or modelled, made of a schedule; one entry per frame."""

    size_bytes: np.ndarray
    qp: np.ndarray
    ssim_db: np.ndarray


@dataclass(frozen=True)
class Verdict:
    """How a model compares with its encoder over one schedule.

    `rate_error_ratio`: mean over whole seconds of |model - real| / real bits.
    `overshoot_corr_*`: correlation of bits over target in windows of 1 s and of 200 ms.
    `overshoot_p95_*_ratio`: 95th percentile of bits over target, 1 s windows.
    `qp_mae`, `ssim_mae_db`: mean absolute difference per frame; `ssim_bias_db`: mean difference.
    """

    clip: str
    encoder: str
    height: int
    vbv_ms: int
    seed: int
    rate_error_ratio: float
    overshoot_corr_1s: float
    overshoot_corr_200ms: float
    overshoot_p95_real_ratio: float
    overshoot_p95_model_ratio: float
    qp_mae: float
    ssim_mae_db: float
    ssim_bias_db: float


def schedule(rng: np.random.Generator, frames: int, fps: float, low_bps: float, high_bps: float) -> np.ndarray:
    """A target per frame: log-uniform steps of 1 to 4 s, and in a third of them a ramp in place of a step."""
    targets: list[float] = []
    last = float(np.sqrt(low_bps * high_bps))
    while len(targets) < frames:
        length = int(rng.uniform(1.0, 4.0) * fps)
        goal = float(np.exp(rng.uniform(np.log(low_bps), np.log(high_bps))))
        ramp = rng.random() < 1 / 3
        targets += list(np.geomspace(last, goal, length)) if ramp else [goal] * length
        last = goal
    return np.array(targets[:frames]).round(-3)


def contents(clip: Clip, frames: int) -> list[int]:
    """The play order of a clip, as the simulator's source has it."""
    count = len(clip.order)
    if clip.playback == "loop" or count == 1:
        return [i % count for i in range(frames)]
    period = 2 * (count - 1)
    return [min(i % period, period - i % period) for i in range(frames)]


def real_x264(
    library: X264, clip: Clip, pictures: Pictures, targets: np.ndarray, vbv_ms: int, preset: str = "superfast"
) -> Track:
    """x264 along the schedule, live."""
    bitrate = int(targets[0])
    encoder = Encoder(
        library, pictures.width, pictures.height, fps_text(clip), bitrate_bps=bitrate, vbv_ms=vbv_ms, preset=preset
    )
    sizes, shown = [], []
    order = contents(clip, len(targets))
    for index, target in zip(order, targets, strict=True):
        if int(target) != bitrate:
            bitrate = int(target)
            encoder.set_bitrate(bitrate)
        coded = encoder.encode(pictures.luma[index], (pictures.u[index], pictures.v[index]))
        sizes.append(coded.size_bytes)
        shown.append(coded.luma)
    qp = encoder.close()
    ssim_db, _ = quality(pictures.luma[order], np.stack(shown))
    return Track(np.array(sizes), np.array(qp), ssim_db)


def real_openh264(clip: Clip, pictures: Pictures, targets: np.ndarray) -> Track:
    """OpenH264 along the schedule, live."""
    bitrate = int(targets[0])
    stream = _core.OpenH264Stream(pictures.width, pictures.height, float(clip.fps), bitrate_bps=bitrate)
    sizes, qps, shown = [], [], []
    order = contents(clip, len(targets))
    for index, target in zip(order, targets, strict=True):
        if int(target) != bitrate:
            bitrate = int(target)
            stream.set_bitrate(bitrate)
        coded, _, qp, luma = stream.encode(pictures.planar(index))
        sizes.append(len(coded))
        qps.append(qp)
        shown.append(np.frombuffer(luma, np.uint8).reshape(pictures.height, pictures.width))
    ssim_db, _ = quality(pictures.luma[order], np.stack(shown))
    return Track(np.array(sizes), np.array(qps, float), ssim_db)


def modelled(profile: Path, encoder: str, height: int, targets: np.ndarray, vbv_ms: int) -> Track:
    """The model along the schedule."""
    model = _core.EncoderModel(str(profile), encoder, height, vbv_ms=vbv_ms)
    rows = [model.encode(int(target)) for target in targets]
    return Track(*(np.array([row[i] for row in rows], float) for i in range(3)))


def compare(real: Track, model: Track, targets: np.ndarray, fps: float) -> dict[str, float]:
    """The figures of a `Verdict`, the first second (both encoders start up) left out."""
    skip = round(fps)

    def ratios(track: Track, window: int) -> tuple[np.ndarray, np.ndarray]:
        count = (len(targets) - skip) // window
        cut = slice(skip, skip + count * window)
        bits = 8 * track.size_bytes[cut].reshape(count, window).sum(axis=1)
        return bits, bits / (targets[cut].reshape(count, window).sum(axis=1) / fps)

    second, fifth = round(fps), max(1, round(fps / 5))
    real_bits, real_over = ratios(real, second)
    model_bits, model_over = ratios(model, second)
    return {
        "rate_error_ratio": float(np.mean(np.abs(model_bits - real_bits) / real_bits)),
        "overshoot_corr_1s": float(np.corrcoef(real_over, model_over)[0, 1]),
        "overshoot_corr_200ms": float(np.corrcoef(ratios(real, fifth)[1], ratios(model, fifth)[1])[0, 1]),
        "overshoot_p95_real_ratio": float(np.quantile(real_over, 0.95)),
        "overshoot_p95_model_ratio": float(np.quantile(model_over, 0.95)),
        "qp_mae": float(np.mean(np.abs(real.qp - model.qp)[skip:])),
        "ssim_mae_db": float(np.mean(np.abs(real.ssim_db - model.ssim_db)[skip:])),
        "ssim_bias_db": float(np.mean((model.ssim_db - real.ssim_db)[skip:])),
    }


def rate_range(profile: Path, encoder: str, height: int, fps: float) -> tuple[float, float]:
    """From the rate the clip needs at QP 38 to that at QP 22, within the limits of a call."""
    low, high = (_core.profile_mean_size(str(profile), encoder, height, qp) * 8 * fps for qp in (38, 22))
    low = max(low, LEAST_BPS)
    return low, max(high, 3 * low)


def verdicts(
    clip_path: Path,
    profile: Path,
    *,
    height: int,
    seeds: Iterable[int],
    vbv_ms: Sequence[int] = VBV_MS,
    encoders: Sequence[str] = ("x264", "openh264"),
    seconds: int = 30,
    on_verdict: Callable[[Verdict, np.ndarray, Track, Track], None] | None = None,
) -> list[Verdict]:
    """All comparisons of one clip at the largest height of its profile.

    `on_verdict` is called with each verdict, its targets, and both tracks as they come.
    """
    clip = read_clip(clip_path)
    pictures = clip.pictures(height)
    fps = float(clip.fps)
    library = X264()
    found = []
    for seed in seeds:
        for encoder in encoders:
            low, high = rate_range(profile, encoder, height, fps)
            targets = schedule(np.random.default_rng(seed), round(seconds * fps), fps, low, high)
            for vbv in vbv_ms if encoder == "x264" else (0,):
                if encoder == "x264":
                    real = real_x264(library, clip, pictures, targets, vbv)
                else:
                    real = real_openh264(clip, pictures, targets)
                model = modelled(profile, encoder, height, targets, vbv)
                verdict = Verdict(clip.name, encoder, height, vbv, seed, **compare(real, model, targets, fps))
                found.append(verdict)
                if on_verdict is not None:
                    on_verdict(verdict, targets, real, model)
    return found


def table(found: Sequence[Verdict]) -> str:
    """The verdicts as an aligned text table."""
    head = (
        "clip                 encoder   vbv ms  seed  rate error  overshoot corr 1 s, 200 ms  "
        "p95 real, model  QP MAE  SSIM MAE, bias dB"
    )
    rows = [
        f"{v.clip:<20.20} {v.encoder:<8} {v.vbv_ms or '-':>7} {v.seed:>5} {v.rate_error_ratio:>10.1%} "
        f"{v.overshoot_corr_1s:>15.3f} {v.overshoot_corr_200ms:>10.3f} "
        f"{v.overshoot_p95_real_ratio:>12.2f} {v.overshoot_p95_model_ratio:>6.2f} {v.qp_mae:>9.2f} "
        f"{v.ssim_mae_db:>8.2f} {v.ssim_bias_db:>+7.2f}"
        for v in found
    ]
    return "\n".join([head, *rows])


OPTIONS: command.Options = {
    **command.CLIPS,
    "--height": {"type": int, "help": "rows to compare at [default: half the clip's]"},
    "--seeds": {"default": 2, "help": "schedules a clip"},
    "--seconds": {"default": 30, "help": "length of a schedule"},
    "--vbv-ms": {"type": int, "nargs": "+", "default": list(VBV_MS), "help": "x264's rate buffers"},
    "--out": {"type": Path, "help": "folder for profiles, verdicts.csv and one CSV of bits a schedule"},
}


def main(arguments: Sequence[str] | None = None) -> int:
    return command.run("codecs.truth", __doc__, OPTIONS, lambda given: table(_run(given)), arguments)


def _run(given: command.Given) -> list[Verdict]:
    found: list[Verdict] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.out or Path(scratch)
        for path in given.clips:
            height = given.height or 2 * (read_clip(path).source_height // 4)
            profile = measured_profile(path, folder, heights=[height])
            found += verdicts(
                path,
                profile,
                height=height,
                seeds=range(1, given.seeds + 1),
                vbv_ms=given.vbv_ms,
                seconds=given.seconds,
                on_verdict=_series_writer(folder) if given.out else None,
            )
        if given.out:
            write_verdicts(found, folder)
    return found


def measured_profile(path: Path, folder: Path, *, heights: Sequence[int], **how: Any) -> Path:
    """The profile of a clip in a folder; measured unless it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    profile = folder / f"{path.stem}-{heights[0]}.safetensors"
    return profile if profile.exists() else profile_clip(path, profile, heights=heights, **how)


def write_verdicts(found: Sequence[Any], folder: Path) -> None:
    """Verdicts, dataclasses of one kind, as verdicts.csv."""
    with (folder / "verdicts.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=[field.name for field in fields(found[0])])
        writer.writeheader()
        writer.writerows(asdict(verdict) for verdict in found)


def _series_writer(folder: Path) -> Callable[[Verdict, np.ndarray, Track, Track], None]:
    def write(verdict: Verdict, targets: np.ndarray, real: Track, model: Track) -> None:
        name = f"{verdict.clip}-{verdict.encoder}-{verdict.vbv_ms}ms-{verdict.seed}.csv"
        columns = [targets, real.size_bytes, model.size_bytes, real.qp, model.qp, real.ssim_db, model.ssim_db]
        head = "target_bps,real_bytes,model_bytes,real_qp,model_qp,real_ssim_db,model_ssim_db"
        np.savetxt(folder / name, np.stack(columns, axis=1), delimiter=",", header=head, comments="", fmt="%.3f")

    return write


if __name__ == "__main__":
    sys.exit(main())
