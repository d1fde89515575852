"""The hybrid codec against x264: rate and quality, loss, its later damage, speed, and budgets.

    python -m legato_studies.codecs.hybrid CLIP... --out tables.md [--frames 96]

``scene`` in place of a clip is the generated scene of calls. Each clip is coded by x264 (superfast, zerolatency) at 300
and 800 kbit/s, and by the hybrid codec with as many bytes per frame as x264 used in the mean, headers included. Frames
are lost in windows of ten, the setting of loss-tolerant codecs' papers: a window follows an intact stream, and each
packet (x264: each of some eight slices) is lost by chance. Ten runs per clip, each with its own window. The figures of
each clip are kept in the folder ``tables.parts``: a run that was cut off goes on where it was.

- *concealed*: x264's slices, FFmpeg's concealment (``guess_mvs+deblock``).
- *Reed-Solomon*: x264 with 80 % of the bitrate, the rest is parity; a frame that cannot be restored freezes the picture
  until the window ends. An ideal code: any k of n packets restore a frame.
- *hybrid*: nothing is reported within the window. Senders that hear of their losses:
  ``python -m legato_studies.codecs.adaptive``.

Quality is SSIM in dB (docs/reference/metrics.md), the mean over frames; intervals are over clips.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterator, Sequence

import numpy as np

from legato import _core
from legato.profile.clip import Clip, Pictures
from legato.profile.loss import Decoder
from legato.profile.tables import fps_text, quality
from legato.profile.x264 import X264, Coded, Encoder
from legato.report.pages import Section
from legato_studies.codecs.measured import MAX_HEIGHT, Row, Values, percent, tabulate
from legato_studies.codecs.reports import KEY_WORTH, LOSSES, REPORT_AFTER, WINDOW, arrive, luma_of

KBPS = (300, 800)
RUNS = 10
"""Runs of loss per clip: each has a separate window and loses other packets."""
FIRST = 10
"""Frames of a stream's start that no figure counts: the key frame and what pays for it."""
SLICES = 8
PARITY = 0.2
SETTINGS = {"4 packets": (4, 0), "8 packets, 1 copy": (8, 1), "8 packets, 2 copies": (8, 2)}
"""Packets of a frame, and how many others' motion each repeats."""


def main(arguments: Sequence[str] | None = None) -> int:
    settings = (KBPS, LOSSES, WINDOW, RUNS, FIRST, KEY_WORTH, SLICES, PARITY, REPORT_AFTER, MAX_HEIGHT, SETTINGS)
    return tabulate("codecs.hybrid", __doc__, settings, measure, tables, arguments)


def measure(clip: Clip, pictures: Pictures) -> Iterator[Row]:
    """All figures of a clip."""
    library = X264()
    for kbps in KBPS:
        budget = yield from _x264(library, clip, pictures, kbps)
        for codec, (packets, copies) in SETTINGS.items():
            yield from _hybrid(clip, pictures, kbps, codec, budget, packets, copies)


# --- x264 ----------------------------------------------------------------------------------------


def coded_by_x264(library: X264, clip: Clip, pictures: Pictures, bps: float, *, slices: bool = False) -> list[Coded]:
    """Every picture by x264 at a bitrate, in as many as ``SLICES`` slices or whole."""
    slice_bytes = max(60, round(bps / 8 / float(clip.fps) / SLICES)) if slices else None
    encoder = Encoder(
        library,
        pictures.width,
        pictures.height,
        fps_text(clip),
        bitrate_bps=round(bps),
        vbv_ms=500,
        slice_bytes=slice_bytes,
    )
    with encoder:
        return [
            encoder.encode(pictures.luma[i], (pictures.u[i], pictures.v[i]), want_nals=True)
            for i in range(len(pictures.luma))
        ]


def budget_bytes(library: X264, clip: Clip, pictures: Pictures, kbps: int) -> float:
    """What x264 spends on a frame in the mean, after the first ones."""
    plain = coded_by_x264(library, clip, pictures, kbps * 1000)
    return float(np.mean([coded.size_bytes for coded in plain[FIRST:]]))


def _x264(library: X264, clip: Clip, pictures: Pictures, kbps: int) -> Generator[Row, None, float]:

    def row(codec: str, figure: str, value: float) -> Row:
        return Row(clip.name, kbps, codec, figure, float(value))

    plain = coded_by_x264(library, clip, pictures, kbps * 1000)
    sizes = np.array([coded.size_bytes for coded in plain[FIRST:]])
    yield row("x264", "kbps", sizes.mean() * 8 * float(clip.fps) / 1000)
    clean = quality(pictures.luma[FIRST:], np.stack([coded.luma for coded in plain[FIRST:]]))
    yield row("x264", "ssim_db", clean[0].mean())
    yield row("x264", "psnr_db", clean[1].mean())
    sliced = coded_by_x264(library, clip, pictures, kbps * 1000, slices=True)
    fec = coded_by_x264(library, clip, pictures, kbps * 1000 * (1 - PARITY), slices=True)
    random = np.random.default_rng(19)
    for loss in LOSSES:
        concealed, restored = [], []
        for first in windows(len(pictures.luma)):
            concealed.append(_concealed(pictures, sliced, first, loss, random))
            restored.append(_restored(pictures, fec, first, loss, random))
        yield row("x264, concealed", f"loss {loss}", float(np.mean(concealed)))
        yield row("x264, Reed-Solomon", f"loss {loss}", float(np.mean(restored)))
    return float(sizes.mean())


def windows(frames: int, runs: int = RUNS) -> list[int]:
    """The first frames of the lossy windows, one for each run, evenly over a clip of so many frames."""
    last = frames - WINDOW
    return [FIRST + (last - FIRST) * run // runs for run in range(1, runs + 1)]


def _concealed(pictures: Pictures, coded: list[Coded], first: int, loss: float, random: np.random.Generator) -> float:
    decoder = Decoder(pictures)
    for frame in coded[:first]:
        decoder.decode(b"".join(frame.nals))
    shown = []
    for frame in coded[first : first + WINDOW]:
        kept = [
            nal for nal, holds in zip(frame.nals, frame.slices, strict=True) if not (holds and random.random() < loss)
        ]
        any_slice = len(kept) > frame.slices.count(False)
        shown.append(decoder.decode(b"".join(kept) if any_slice else b""))
    return mean_db(pictures, first, shown)


def _restored(pictures: Pictures, coded: list[Coded], first: int, loss: float, random: np.random.Generator) -> float:
    shown: list[np.ndarray] = []
    frozen = False
    for index in range(first, first + WINDOW):
        data = sum(coded[index].slices)
        packets = round(data / (1 - PARITY))
        frozen = frozen or (random.random(packets) >= loss).sum() < data
        shown.append(shown[-1] if frozen and shown else coded[first - 1 if frozen else index].luma)
    return mean_db(pictures, first, shown)


def mean_db(pictures: Pictures, first: int, shown: list[np.ndarray]) -> float:
    """SSIM of the pictures shown from a frame on."""
    return float(quality(pictures.luma[first : first + len(shown)], np.stack(shown))[0].mean())


# --- hybrid --------------------------------------------------------------------------------------


def _hybrid(
    clip: Clip, pictures: Pictures, kbps: int, codec: str, budget: float, packets: int, copies: int
) -> Iterator[Row]:

    def row(figure: str, value: float) -> Row:
        return Row(clip.name, kbps, f"hybrid, {codec}", figure, float(value))

    encoder = _core.HybridEncoder(pictures.width, pictures.height, min_packets=packets, motion_copies=copies)
    decoder = _core.HybridDecoder()
    stream, shown, spent = [], [], np.zeros(2)
    for index in range(len(pictures.luma)):
        start = time.thread_time()
        coded = encoder.encode(pictures.planar(index), budget_bytes=round(budget * (KEY_WORTH if index == 0 else 1)))
        middle = time.thread_time()
        decoder.decode(coded[1])
        spent += (middle - start, time.thread_time() - middle)
        stream.append(coded[1])
        shown.append(luma_of(decoder, pictures))
    sizes = np.array([sum(map(len, frame)) for frame in stream[FIRST:]])
    yield row("kbps", sizes.mean() * 8 * float(clip.fps) / 1000)
    clean = quality(pictures.luma[FIRST:], np.stack(shown[FIRST:]))
    yield row("ssim_db", clean[0].mean())
    yield row("psnr_db", clean[1].mean())
    yield row("within 5 %", np.mean(np.abs(sizes - round(budget)) <= 0.05 * round(budget)))
    yield row("encode_ms", 1000 * spent[0] / len(stream))
    yield row("decode_ms", 1000 * spent[1] / len(stream))
    random = np.random.default_rng(19)
    for loss in LOSSES:
        values = [_window(pictures, stream, first, loss, random) for first in windows(len(pictures.luma))]
        yield row(f"loss {loss}", float(np.mean(values)))
    if copies == 1:
        yield from (row(figure, value) for figure, value in _after_half(pictures, budget, packets, copies, clean[0]))


def _window(
    pictures: Pictures, stream: list[list[bytes]], first: int, loss: float, random: np.random.Generator
) -> float:
    decoder = _core.HybridDecoder()
    for frame in stream[:first]:
        decoder.decode(frame)
    shown = []
    for frame in stream[first : first + WINDOW]:
        arrive(decoder, [packet for packet in frame if random.random() >= loss])
        shown.append(luma_of(decoder, pictures))
    return mean_db(pictures, first, shown)


def _after_half(
    pictures: Pictures, budget: float, packets: int, copies: int, clean_db: np.ndarray
) -> Iterator[tuple[str, float]]:
    """Half of one frame is lost: dB under the unharmed stream then and some frames later; with reports and without."""
    at = FIRST + 20
    for reported in (False, True):
        encoder = _core.HybridEncoder(pictures.width, pictures.height, min_packets=packets, motion_copies=copies)
        decoder = _core.HybridDecoder()
        reports: list[tuple[int, list[int], int]] = []
        shown, differs = [], 0
        for index in range(min(at + 31, len(pictures.luma))):
            if reported and index >= REPORT_AFTER:
                encoder.acknowledge(*reports[index - REPORT_AFTER])
            worth = KEY_WORTH if index == 0 else 1
            number, coded, _, _ = encoder.encode(pictures.planar(index), budget_bytes=round(budget * worth))
            reports.append((number, arrive(decoder, coded[::2] if index == at else coded), len(coded)))
            shown.append(luma_of(decoder, pictures))
            differs += decoder.luma() != encoder.shown()
        fallen = clean_db[at - FIRST : at - FIRST + 31] - quality(pictures.luma[at:][:31], np.stack(shown[at:]))[0]
        name = "reported half" if reported else "half"
        for later in (0, 3, 4, 10, 30):
            if later < len(fallen):
                yield f"{name} after {later}", fallen[later]
        if reported:
            yield "frames of other pixels than the sender's", differs


# --- tables --------------------------------------------------------------------------------------


def tables(values: Values) -> list[Section]:
    """All figures."""
    hybrids = [codec for codec in values.codecs if codec.startswith("hybrid")]
    every, lossy, sections = percent(LOSSES), percent(LOSSES[1:]), []
    for kbps in KBPS:
        clean = [[clip, *(_clean(values, kbps, codec, clip) for codec in ("x264", *hybrids))] for clip in values.clips]
        lost = [
            [codec, *(values.cell(kbps, codec, f"loss {loss}") for loss in LOSSES)]
            for codec in ("x264, concealed", "x264, Reed-Solomon", *hybrids)
        ]
        above = [
            [codec, other, *(values.above(kbps, (codec, figure), (f"x264, {other}", figure)) for figure in _LOSSY)]
            for codec in hybrids
            for other in ("concealed", "Reed-Solomon")
        ]
        below = [
            [codec, *(values.above(kbps, (codec, "loss 0.0"), (codec, figure)) for figure in _LOSSY)]
            for codec in hybrids
        ]
        title = f"Loss, {kbps} kbit/s"
        sections += [
            Section(f"Without loss, {kbps} kbit/s", columns=["clip", "x264", *hybrids], rows=clean),
            Section(title, columns=["codec", *every], rows=lost),
            Section(f"{title}: dB above x264 on the same clip", columns=["codec", "against", *lossy], rows=above),
            Section(f"{title}: dB below the same codec without loss", columns=["codec", *lossy], rows=below),
        ]
    others = [
        [str(kbps), codec, figure, values.cell(kbps, codec, figure)]
        for kbps, codec, figure in values
        if "loss" not in figure and figure not in ("ssim_db", "psnr_db", "kbps")
    ]
    return [*sections, Section("Other figures", columns=["kbit/s", "codec", "figure", "mean over clips"], rows=others)]


_LOSSY = [f"loss {loss}" for loss in LOSSES[1:]]


def _clean(values: Values, kbps: int, codec: str, clip: str) -> str:
    figures = (values.of(kbps, codec, figure).get(clip) for figure in ("kbps", "ssim_db", "psnr_db"))
    return " / ".join(
        "-" if figure is None else f"{figure:.{places}f}" for figure, places in zip(figures, (0, 2, 2), strict=True)
    )


if __name__ == "__main__":
    sys.exit(main())
