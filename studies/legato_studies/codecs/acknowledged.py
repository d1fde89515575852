"""H.264, VP8 and VP9 with reports, against the hybrid codec with reports: docs/concepts/hybrid-codec.md's last tables.

    python -m legato_studies.codecs.acknowledged CLIP... --out table.md [--frames 96]

Loss comes and goes every ten frames, and each frame is reported three frames later, as over a round trip of 100 ms. The
figure is the mean SSIM in dB over the frames under loss (:mod:`legato_studies.codecs.reports`). OpenH264 codes pictures
in slices, as many of eight as its rate control allows, at the bitrate that x264 spent on the clip; each slice is a
packet, and FFmpeg conceals lost ones (``guess_mvs+deblock``).

- *no reports*: the encoder hears nothing;
- *key frames*: a frame that is reported damaged is answered by a key frame, unless one is under way;
- *long-term references*: it is answered by a frame that is predicted from one that the receiver has acknowledged.

VP8 and VP9 by libvpx, where the build has it, do so with their golden and alternate references. Their frames are
cut into packets of 1200 bytes and decoded if all of them came; else the last picture stays.

Figures of each clip are kept next to the table, so an interrupted run resumes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import numpy as np

from legato import _core
from legato.profile.clip import Clip, Pictures
from legato.profile.loss import Decoder
from legato.profile.tables import quality
from legato.profile.x264 import X264
from legato.report.pages import Section
from legato_studies.codecs.hybrid import FIRST, KBPS, budget_bytes
from legato_studies.codecs.measured import Row, Values, percent, tabulate
from legato_studies.codecs.reports import LOSSES, MAX_PACKET_BYTES, REPORT_AFTER, WINDOW, Sender, reported_db

SLICES = 8
VPX = ("vp8", "vp9")
ANSWERS = ("no reports", "key frames", "long-term references")
OURS = "hybrid, 4 packets"
HYBRIDS = {OURS: Sender(4, 0), "hybrid, 8 packets, 1 copy": Sender(8, 1)}


def main(arguments: Sequence[str] | None = None) -> int:
    settings = (KBPS, LOSSES, WINDOW, FIRST, REPORT_AFTER, SLICES, ANSWERS, HYBRIDS, VPX, MAX_PACKET_BYTES)
    return tabulate("codecs.acknowledged", __doc__, settings, measure, tables, arguments)


def measure(clip: Clip, pictures: Pictures) -> Iterator[Row]:
    """All figures of a clip."""
    library = X264()
    for kbps in KBPS:
        budget = budget_bytes(library, clip, pictures, kbps)
        for answer in ANSWERS:
            for loss in LOSSES:
                found = openh264(clip, pictures, budget, answer, loss)
                name = f"openh264, {answer}"
                yield from (Row(clip.name, kbps, name, f"{figure} {loss}", value) for figure, value in found.items())
        for codec in VPX:
            for loss in LOSSES:
                found = libvpx(clip, pictures, budget, codec, loss)
                name = f"libvpx {codec}, references"
                yield from (Row(clip.name, kbps, name, f"{figure} {loss}", value) for figure, value in found.items())
        for name, sender in HYBRIDS.items():
            for loss in LOSSES:
                value = reported_db(pictures, budget, sender, "reported", loss)
                yield Row(clip.name, kbps, name, f"ssim_db {loss}", value)


def openh264(clip: Clip, pictures: Pictures, budget_bytes: float, answer: str, loss_ratio: float) -> dict[str, float]:
    """Loss in every other ten frames: the mean of lossy frames, the bitrate from the tenth frame on, and slices."""
    long_term = answer == "long-term references"
    bitrate_bps = round(budget_bytes * 8 * float(clip.fps))
    encoder = _core.ResilientH264(
        pictures.width, pictures.height, float(clip.fps), bitrate_bps, slices=SLICES, long_term=long_term
    )
    decoder, random = Decoder(pictures), np.random.default_rng(19)
    came: list[bool] = []
    fresh, lossy, shown, sizes, slices = [0], [], [], [], []
    key_wanted = False
    for index in range(len(pictures.luma)):
        if index >= REPORT_AFTER:
            number = index - REPORT_AFTER
            encoder.report(number, came[number])
            # Damaged, and no frame after it begins anew.
            key_wanted |= answer == "key frames" and not came[number] and fresh[-1] <= number
        units, keyframe, recovers = encoder.encode(pictures.planar(index), keyframe=key_wanted)
        if keyframe or recovers:
            fresh.append(index)
            key_wanted = False
        hit = index // WINDOW % 2 == 1
        kept = [not (slice and hit and random.random() < loss_ratio) for _, slice in units]
        came.append(all(kept))
        any_slice = any(whole and slice for whole, (_, slice) in zip(kept, units, strict=True))
        data = b"".join(unit for whole, (unit, _) in zip(kept, units, strict=True) if whole)
        picture = decoder.decode(data if any_slice else b"")
        if hit:
            lossy.append(index)
            shown.append(picture)
        sizes.append(sum(len(unit) for unit, _ in units))
        slices.append(sum(slice for _, slice in units))
    return {
        "ssim_db": float(quality(pictures.luma[lossy], np.stack(shown))[0].mean()),
        "kbps": float(np.mean(sizes[FIRST:]) * 8 * float(clip.fps) / 1000),
        "slices": float(np.mean(slices)),
    }


def libvpx(clip: Clip, pictures: Pictures, budget_bytes: float, codec: str, loss_ratio: float) -> dict[str, float]:
    """The same of VP8 or VP9 with references, and packets of a frame; raises where the build has no libvpx."""
    bitrate_bps = round(budget_bytes * 8 * float(clip.fps))
    encoder = _core.ResilientVpx(codec, pictures.width, pictures.height, float(clip.fps), bitrate_bps)
    decoder, random = Decoder(pictures, codec), np.random.default_rng(19)
    came: list[bool] = []
    lossy, shown, sizes, packets = [], [], [], []
    for index in range(len(pictures.luma)):
        if index >= REPORT_AFTER:
            encoder.report(index - REPORT_AFTER, came[index - REPORT_AFTER])
        frame, _, _ = encoder.encode(pictures.planar(index))
        packets.append(-(-len(frame) // MAX_PACKET_BYTES))
        hit = index // WINDOW % 2 == 1
        came.append(not (hit and (random.random(packets[-1]) < loss_ratio).any()))
        picture = decoder.decode(frame if came[-1] else b"")
        if hit:
            lossy.append(index)
            shown.append(picture)
        sizes.append(len(frame))
    return {
        "ssim_db": float(quality(pictures.luma[lossy], np.stack(shown))[0].mean()),
        "kbps": float(np.mean(sizes[FIRST:]) * 8 * float(clip.fps) / 1000),
        "packets": float(np.mean(packets[FIRST:])),
    }


def tables(values: Values) -> list[Section]:
    """All figures."""
    others = [codec for codec in values.codecs if codec not in HYBRIDS]
    columns, figures = ["codec", *percent(LOSSES)], [f"ssim_db {loss}" for loss in LOSSES]
    sections = []
    for kbps in KBPS:
        own = [[codec, *(values.cell(kbps, codec, figure) for figure in figures)] for codec in values.codecs]
        above = [
            [codec, *(values.above(kbps, (OURS, figure), (codec, figure)) for figure in figures)] for codec in others
        ]
        spent = [[codec, *(_spent(values, kbps, codec, loss) for loss in LOSSES)] for codec in others]
        sections += [
            Section(f"{kbps} kbit/s, dB", columns=columns, rows=own),
            Section(f"{kbps} kbit/s, dB of *{OURS}* above them, clip by clip", columns=columns, rows=above),
            Section(f"{kbps} kbit/s, kbit/s spent, and slices or packets of a picture", columns=columns, rows=spent),
        ]
    return sections


def _spent(values: Values, kbps: int, codec: str, loss: float) -> str:
    parts = "packets" if codec.startswith("libvpx") else "slices"
    spent, count = (np.mean(list(values.of(kbps, codec, f"{figure} {loss}").values())) for figure in ("kbps", parts))
    return f"{spent:.0f} / {count:.1f}"


if __name__ == "__main__":
    sys.exit(main())
