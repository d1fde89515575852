"""The learned stage on clips that it was not trained on: without loss, with loss, and its time.

    python -m legato_studies.restorer.measure CLIP... --out tables.md [--network FILE] [--frames 80] [--runs 10]

Clips, bitrates, budgets, windows of loss and quality are those of ``legato_studies.codecs.hybrid``: ``scene`` in place
of a clip is the generated scene of calls; each frame has as many bytes as x264 (superfast, zerolatency) spends in the
mean; a window of ten lossy frames follows an intact stream, and nothing is reported. The restorer runs from the
stream's first frame on. Each clip's figures are kept beside the tables as they are found, so that a run that was cut
off goes on.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from legato import _core, atomic
from legato.errors import Error
from legato.profile.clip import Clip, Pictures
from legato.profile.tables import fps_text, quality
from legato.profile.x264 import X264, Encoder
from legato.results.stats import grouped_mean
from legato_studies.codecs.hybrid import FIRST, KBPS, KEY_WORTH, WINDOW
from legato_studies.codecs.hybrid_parts import Parts, Row, codec_mark
from legato_studies.restorer import frames, weights
from legato_studies.restorer.stage import Restorer

LOSSES = (0.05, 0.1, 0.2, 0.3, 0.5)
SETTINGS = {"4 packets": (4, 0), "8 packets, 1 copy": (8, 1)}
"""Packets of a frame, and how many others' motion each repeats."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m legato_studies.restorer.measure", description=__doc__.split("\n")[0]
    )
    parser.add_argument("clips", nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--network", type=Path, default=weights.SHIPPED)
    parser.add_argument("--frames", type=int, default=80)
    parser.add_argument("--runs", type=int, default=10, help="windows of loss per clip")
    options = parser.parse_args(arguments)
    network = hashlib.sha256(options.network.read_bytes()).hexdigest() if options.network.is_file() else ""
    settings = repr(("restorer", network, options.runs, KBPS, LOSSES, WINDOW, FIRST, KEY_WORTH, SETTINGS))
    parts = Parts(options.out.with_suffix(".parts"), options.frames, codec_mark(settings))
    try:
        rows = parts.measured(options.clips, lambda *clip: measure(*clip, options.network, options.runs))
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    atomic.write_text(options.out, tables(rows))
    return 0


def measure(clip: Clip, pictures: Pictures, network: Path, runs: int) -> Iterator[Row]:
    """All figures of a clip."""
    library = X264()
    for kbps in KBPS:
        encoder = Encoder(library, pictures.width, pictures.height, fps_text(clip), bitrate_bps=kbps * 1000, vbv_ms=500)
        with encoder:
            coded = [
                encoder.encode(pictures.luma[i], (pictures.u[i], pictures.v[i])) for i in range(len(pictures.luma))
            ]
        budget = float(np.mean([one.size_bytes for one in coded[FIRST:]]))
        yield Row(clip.name, kbps, "x264", "ssim_db", _db(pictures, FIRST, [one.luma for one in coded[FIRST:]]))
        for codec, (packets, copies) in SETTINGS.items():
            for figure, value in figures(pictures, budget, packets, copies, network, runs):
                yield Row(clip.name, kbps, codec, figure, value)


def figures(
    pictures: Pictures, budget_bytes: float, packets: int, copies: int, network: Path, runs: int
) -> Iterator[tuple[str, float]]:
    """Figures of one setting: the decoder's picture and the restored one, intact and in windows of loss."""
    encoder = _core.HybridEncoder(pictures.width, pictures.height, min_packets=packets, motion_copies=copies)
    stream = [
        encoder.encode(pictures.planar(i), budget_bytes=round(budget_bytes * (KEY_WORTH if i == 0 else 1)))[1]
        for i in range(len(pictures.luma))
    ]
    firsts = windows(len(stream), runs)
    decoder, restorer, before = _core.HybridDecoder(), Restorer(network), {}
    plain, restored, spent = [], [], []
    for index, frame in enumerate(stream):
        if index in firsts:
            before[index] = restorer.memory
        decoder.decode(frame)
        shown = frames.shown(decoder, pictures.width, pictures.height)
        start = time.thread_time()
        restored.append(_cut(restorer.restored(shown), pictures))
        spent.append(1000 * (time.thread_time() - start))
        plain.append(_cut(shown.luma, pictures))
    yield "decoder 0.0", _db(pictures, FIRST, plain[FIRST:])
    yield "restored 0.0", _db(pictures, FIRST, restored[FIRST:])
    scale = 640 * 360 / (pictures.width * pictures.height)
    yield "restore_ms", float(np.median(spent)) * scale
    for loss in LOSSES:
        random = np.random.default_rng(19)
        values = []
        for first in firsts:
            decoder = _core.HybridDecoder()
            for frame in stream[:first]:
                decoder.decode(frame)
            restorer.memory, plain, restored = before[first], [], []
            for frame in stream[first : first + WINDOW]:
                came = [packet for packet in frame if random.random() >= loss]
                if came:
                    decoder.decode(came)
                else:
                    decoder.miss()
                shown = frames.shown(decoder, pictures.width, pictures.height)
                plain.append(_cut(shown.luma, pictures))
                restored.append(_cut(restorer.restored(shown), pictures))
            values.append((_db(pictures, first, plain), _db(pictures, first, restored)))
        yield f"decoder {loss}", float(np.mean([value[0] for value in values]))
        yield f"restored {loss}", float(np.mean([value[1] for value in values]))


def windows(length: int, runs: int) -> list[int]:
    """The first frames of the lossy windows, evenly over the clip."""
    last = length - WINDOW
    return [FIRST + (last - FIRST) * run // runs for run in range(1, runs + 1)]


def _cut(luma: np.ndarray, pictures: Pictures) -> np.ndarray:
    return luma[: pictures.height, : pictures.width]


def _db(pictures: Pictures, first: int, shown: list[np.ndarray]) -> float:
    return float(quality(pictures.luma[first : first + len(shown)], np.stack(shown))[0].mean())


def tables(rows: list[Row]) -> str:
    """All figures as Markdown."""
    values: dict[tuple[int, str, str], dict[str, float]] = defaultdict(dict)
    for row in rows:
        values[row.kbps, row.codec, row.figure][row.clip] = row.value
    clips = list(dict.fromkeys(row.clip for row in rows))
    lines = ["### SSIM without loss, in dB: x264 / decoder / restored", ""]
    lines.append(_header(["kbit/s", "codec", *clips, "gain", "restored above x264"]))
    for kbps in KBPS:
        x264 = values[kbps, "x264", "ssim_db"]
        for codec in SETTINGS:
            own, better = values[kbps, codec, "decoder 0.0"], values[kbps, codec, "restored 0.0"]
            cells = [f"{x264[clip]:.2f} / {own[clip]:.2f} / {better[clip]:.2f}" for clip in clips]
            cells += [_difference(better, own), _difference(better, x264)]
            lines.append(f"| {kbps} | {codec} | " + " | ".join(cells) + " |")
    losses = [f"{loss:.0%}" for loss in (0.0, *LOSSES)]
    lines += ["", "### SSIM with loss: the decoder's, and dB that the learned stage adds", ""]
    lines.append(_header(["kbit/s", "codec", "", *losses]))
    for kbps in KBPS:
        for codec in SETTINGS:
            pairs = [
                (values[kbps, codec, f"decoder {loss}"], values[kbps, codec, f"restored {loss}"])
                for loss in (0.0, *LOSSES)
            ]
            lines.append(f"| {kbps} | {codec} | decoder | " + " | ".join(_mean(own) for own, _ in pairs) + " |")
            cells = [_difference(better, own) for own, better in pairs]
            lines.append(f"| {kbps} | {codec} | gain | " + " | ".join(cells) + " |")
    lines += ["", "### SSIM below no loss, in dB", ""]
    lines.append(_header(["kbit/s", "codec", "", *losses[1:]]))
    for kbps in KBPS:
        for codec in SETTINGS:
            for which in ("decoder", "restored"):
                clean = values[kbps, codec, f"{which} 0.0"]
                cells = [_difference(clean, values[kbps, codec, f"{which} {loss}"]) for loss in LOSSES]
                lines.append(f"| {kbps} | {codec} | {which} | " + " | ".join(cells) + " |")
    times = [value for (_, _, figure), found in values.items() if figure == "restore_ms" for value in found.values()]
    lines += ["", f"Time of the stage per picture of 640x360, processor time: {np.median(times):.1f} ms in the middle,"]
    lines.append(f"{min(times):.1f} to {max(times):.1f} over clips, bitrates and settings (each a median over frames).")
    return "\n".join(lines) + "\n"


def _header(names: list[str]) -> str:
    return "| " + " | ".join(names) + " |\n|" + "---|" * len(names)


def _difference(one: dict[str, float], other: dict[str, float]) -> str:
    return _mean({clip: value - other[clip] for clip, value in one.items() if clip in other})


def _mean(found: dict[str, float]) -> str:
    estimate = grouped_mean(list(found.items()))
    if estimate.low is None or estimate.high is None:
        return f"{estimate.mean:.2f}"
    return f"{estimate.mean:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


if __name__ == "__main__":
    sys.exit(main())
