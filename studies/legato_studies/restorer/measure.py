"""The learned stage on clips that it was not trained on: without loss, with loss, and its time.

    python -m legato_studies.restorer.measure CLIP... --out tables.md [--network FILE] [--frames 80] [--runs 10]

Clips, bitrates, budgets, windows of loss and quality are those of ``legato_studies.codecs.hybrid``: ``scene`` in place
of a clip is the generated scene of calls. Each frame has as many bytes as x264 (superfast, zerolatency) spends in the
mean. A window of ten lossy frames follows an intact stream, and nothing is reported. The restorer runs from the
stream's first frame on. Each clip's figures are kept next to the tables as they are found, so an interrupted run
resumes.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from legato import _core, atomic
from legato.profile.clip import Clip, Pictures
from legato.profile.x264 import X264
from legato.report.pages import Section
from legato_studies import command
from legato_studies.codecs.hybrid import FIRST, KBPS, coded_by_x264, mean_db, windows
from legato_studies.codecs.measured import OPTIONS as CLIP_OPTIONS
from legato_studies.codecs.measured import Parts, Row, Values, codec_mark, percent
from legato_studies.codecs.reports import KEY_WORTH, WINDOW, arrive
from legato_studies.page import markdown
from legato_studies.restorer import frames, weights
from legato_studies.restorer.stage import Restorer

LOSSES = (0.05, 0.1, 0.2, 0.3, 0.5)
SETTINGS = {"4 packets": (4, 0), "8 packets, 1 copy": (8, 1)}
"""Packets of a frame, and how many others' motion each repeats."""


OPTIONS: command.Options = {
    **CLIP_OPTIONS,
    "--network": {"type": Path, "default": weights.SHIPPED, "help": "a file of weights"},
    "--frames": {"default": 80, "help": "pictures of each clip"},
    "--runs": {"default": 10, "help": "windows of loss per clip"},
}


def main(arguments: Sequence[str] | None = None) -> int:
    return command.run("restorer.measure", __doc__, OPTIONS, _run, arguments)


def _run(given: command.Given) -> str:
    network = hashlib.sha256(given.network.read_bytes()).hexdigest() if given.network.is_file() else ""
    settings = repr(("restorer", network, given.runs, KBPS, LOSSES, WINDOW, FIRST, KEY_WORTH, SETTINGS))
    parts = Parts(given.out.with_suffix(".parts"), given.frames, codec_mark(settings))
    rows = parts.measured(given.clips, lambda clip, pictures: measure(clip, pictures, given.network, given.runs))
    return str(atomic.write_text(given.out, markdown(tables(Values(rows))) + "\n"))


def measure(clip: Clip, pictures: Pictures, network: Path, runs: int) -> Iterator[Row]:
    """All figures of a clip."""
    library = X264()
    for kbps in KBPS:
        coded = coded_by_x264(library, clip, pictures, kbps * 1000)[FIRST:]
        budget = float(np.mean([one.size_bytes for one in coded]))
        yield Row(clip.name, kbps, "x264", "ssim_db", mean_db(pictures, FIRST, [one.luma for one in coded]))
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
    yield "decoder 0.0", mean_db(pictures, FIRST, plain[FIRST:])
    yield "restored 0.0", mean_db(pictures, FIRST, restored[FIRST:])
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
                arrive(decoder, [packet for packet in frame if random.random() >= loss])
                shown = frames.shown(decoder, pictures.width, pictures.height)
                plain.append(_cut(shown.luma, pictures))
                restored.append(_cut(restorer.restored(shown), pictures))
            values.append((mean_db(pictures, first, plain), mean_db(pictures, first, restored)))
        yield f"decoder {loss}", float(np.mean([value[0] for value in values]))
        yield f"restored {loss}", float(np.mean([value[1] for value in values]))


def _cut(luma: np.ndarray, pictures: Pictures) -> np.ndarray:
    return luma[: pictures.height, : pictures.width]


def tables(values: Values) -> list[Section]:
    """All figures."""
    kinds = [(kbps, codec) for kbps in KBPS for codec in SETTINGS]
    losses = (0.0, *LOSSES)
    clean, lossy, below = [], [], []
    for kbps, codec in kinds:
        x264, own, better = (
            values.of(kbps, *which) for which in (("x264", "ssim_db"), (codec, "decoder 0.0"), (codec, "restored 0.0"))
        )
        cells = [f"{x264[clip]:.2f} / {own[clip]:.2f} / {better[clip]:.2f}" for clip in values.clips]
        gain = values.above(kbps, (codec, "restored 0.0"), (codec, "decoder 0.0"))
        ahead = values.above(kbps, (codec, "restored 0.0"), ("x264", "ssim_db"))
        clean.append([str(kbps), codec, *cells, gain, ahead])
        lossy.append([str(kbps), codec, "decoder", *(values.cell(kbps, codec, f"decoder {loss}") for loss in losses)])
        gains = (values.above(kbps, (codec, f"restored {loss}"), (codec, f"decoder {loss}")) for loss in losses)
        lossy.append([str(kbps), codec, "gain", *gains])
        for which in ("decoder", "restored"):
            fall = (values.above(kbps, (codec, f"{which} 0.0"), (codec, f"{which} {loss}")) for loss in LOSSES)
            below.append([str(kbps), codec, which, *fall])
    times = [ms for kbps, codec in kinds for ms in values.of(kbps, codec, "restore_ms").values()]
    time_ms = (
        f"Time of the stage per picture of 640x360, processor time: {np.median(times):.1f} ms in the middle,\n"
        f"{min(times):.1f} to {max(times):.1f} over clips, bitrates and settings (each a median over frames)."
    )
    of = ["kbit/s", "codec"]
    ends = ["gain", "restored above x264"]
    return [
        Section("SSIM without loss, in dB: x264 / decoder / restored", "", [*of, *values.clips, *ends], clean),
        Section(
            "SSIM with loss: the decoder's, and dB that the learned stage adds", "", [*of, "", *percent(losses)], lossy
        ),
        Section("SSIM below no loss, in dB", "", [*of, "", *percent(LOSSES)], below),
        Section("", time_ms),
    ]


if __name__ == "__main__":
    sys.exit(main())
