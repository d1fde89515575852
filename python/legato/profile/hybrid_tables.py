"""What the hybrid codec makes of a clip: each picture at constant budgets, and what a loss does to it and to the next.

Frames are coded as calls code them (``crates/codec/src/hybrid/live.rs``): a budget per frame, packets of its size. A
level is therefore a budget, not a quantiser. Damage is the rise of 1 - SSIM and of the squared luma error against the
same stream without loss; it adds up from frame to frame, as x264's does (:mod:`legato.profile.loss`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from legato import _core
from legato.profile.clip import Clip, Pictures
from legato.profile.tables import LEAD_IN_FRAMES, enlarge, quality, ssim_psnr, ssim_to_db

NAME = "hybrid"
LEVELS = 7
BPP_RANGE = (0.01, 0.64)
"""Lowest and highest level: bits per pixel of a frame's share of the bitrate, without packet headers."""
MIN_SHARE_BYTES = 110
"""Of less, headers leave nothing: small pictures begin here."""
KEY_SHARES = 4
"""A key frame may take so many shares, in calls as here."""
KEY_STRIDE = 16
RATIOS = (0.25, 0.5, 0.75, 1.0)
"""Shares of a frame's packets that are lost; of the last nothing arrives."""
STRIDE = 1
"""Pictures between damaged ones: every one is damaged. A burst of motion lasts a few frames, and a loss in it costs
many times more than before and after.
"""
DRAWS = 3
EVENT_STRIDE = 15
"""Pictures between those whose damage is followed."""
REPORT_AFTER = 3
FOLLOWED = 9
"""Frames after a damaged one, or after the report of it, in which its damage is followed."""
RUN = 8
RUN_RATIOS = (0.1, 0.3, 0.5)
"""Runs of lossy frames, and the shares of their packets that are lost."""
DISTANCES = (1, 2, 4, 8, 12)
"""From so many frames before a frame is predicted; more than one where feedback was lost."""
SEED = 19


@dataclass(frozen=True)
class Frame:
    """A coded frame: its packets, and luma as the receiver shows it if nothing is lost."""

    number: int
    packets: list[bytes]
    luma: np.ndarray
    score: np.ndarray
    """SSIM and squared error of luma against the clip's picture."""

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.packets))


class Stream:
    """The encoder at a share of the bitrate per frame, as calls run it."""

    def __init__(self, pictures: Pictures, encoder: _core.HybridEncoder | None = None) -> None:
        self._pictures = pictures
        self._encoder = encoder or _core.HybridEncoder(pictures.width, pictures.height, motion_copies=0)
        self._started = encoder is not None
        self.from_reported = False
        """Predict from the last frame that was reported."""

    def encode(self, index: int, share_bytes: float, *, keyframe: bool = False) -> Frame:
        """Picture `index` of the clip within a share of the bitrate; key frames take `KEY_SHARES`."""
        key = keyframe or not self._started
        self._started = True
        packets, budget_bytes = _core.hybrid_cut(round(share_bytes * (KEY_SHARES if key else 1)))
        self._encoder.configure(packets, from_reported=self.from_reported)
        picture = self._pictures.planar(index)
        number, coded, _, _ = self._encoder.encode(picture, budget_bytes=budget_bytes, keyframe=keyframe)
        luma = _plane(self._encoder.shown(), self._pictures)
        return Frame(number, coded, luma, _score(self._pictures, index, luma))

    def report(self, frame: Frame, received: list[int] | None = None) -> None:
        """The receiver has these packets of a frame; all of them, if none are named."""
        count = len(frame.packets)
        self._encoder.acknowledge(frame.number, list(range(count)) if received is None else received, count)

    def copy(self) -> Stream:
        return Stream(self._pictures, self._encoder.copy())


class Receiver:
    """The decoder, and luma as it shows it."""

    def __init__(self, pictures: Pictures, decoder: _core.HybridDecoder | None = None) -> None:
        self._pictures = pictures
        self._decoder = decoder or _core.HybridDecoder()

    def show(self, frame: Frame, received: list[int] | None = None) -> np.ndarray | None:
        """Decodes the received packets of a frame, all of them if none is named; `None` before the first picture."""
        packets = frame.packets if received is None else [frame.packets[packet] for packet in received]
        if packets:
            self._decoder.decode(packets)
        else:
            self._decoder.miss()
        luma = self._decoder.luma()
        return None if luma is None else _plane(luma, self._pictures)

    def copy(self) -> Receiver:
        return Receiver(self._pictures, self._decoder.copy())


def _plane(luma: bytes | None, pictures: Pictures) -> np.ndarray:
    assert luma is not None, "a frame was coded"
    return np.frombuffer(luma, np.uint8).reshape(pictures.height, pictures.width)


def _score(pictures: Pictures, index: int, luma: np.ndarray) -> np.ndarray:
    ssim, psnr = ssim_psnr(pictures.luma[index][np.newaxis], luma[np.newaxis])
    return np.array([ssim[0], 255 * 255 / 10 ** (psnr[0] / 10)])


def shares_bytes(pictures: Pictures) -> list[float]:
    """A frame's share of the bitrate at each level, in even steps of its logarithm."""
    low, high = (bpp * pictures.width * pictures.height / 8 for bpp in BPP_RANGE)
    low = max(low, MIN_SHARE_BYTES)
    return [float(share) for share in np.geomspace(low, max(high, 8 * low), LEVELS)]


def measure_hybrid(clip: Clip, pictures: Pictures, full: Pictures, level: int) -> dict[str, np.ndarray]:
    """All arrays of one level (docs/reference/profile-format.md), without the axis of levels."""
    share = shares_bytes(pictures)[level]
    random = np.random.default_rng([SEED, level])
    stream, receiver = Stream(pictures), Receiver(pictures)
    for index in clip.lead_in(3 * LEAD_IN_FRAMES):
        frame = stream.encode(index, share)
        receiver.show(frame)
        stream.report(frame)
    frames, hits, events = [], [], []
    count = len(pictures.luma)
    for index in range(count):
        before = receiver.copy()
        frame = stream.encode(index, share)
        hits.append(_hits(pictures, frame, index, before, random))
        if index % EVENT_STRIDE == EVENT_STRIDE - 1:
            events.append((index, before, stream.copy()))
        receiver.show(frame)
        stream.report(frame)
        frames.append(frame)
    drift, lossy = _without_reports(pictures, frames, events, np.mean(hits, axis=0), random)
    first, later = _reported(pictures, share, frames, events, random)
    fallen_db = _from_further_back(pictures, share, frames, events)
    arrays = _cells(frames, pictures, full, range(count), "")
    arrays |= _keys(pictures, full, share, random)
    return arrays | {
        "budget_bytes": np.array(_core.hybrid_cut(round(share))[1], np.uint32),
        "key_budget_bytes": np.array(_core.hybrid_cut(round(share * KEY_SHARES))[1], np.uint32),
        "distance_db": fallen_db,
        "loss_dissimilarity": np.array([hit[0] for hit in hits]),
        "loss_mse": np.array([hit[1] for hit in hits]),
        "persistence": np.array([lossy, drift, first, later]),
    }


def _cells(frames: list[Frame], pictures: Pictures, full: Pictures, which: range, prefix: str) -> dict[str, np.ndarray]:
    scores = np.array([frame.score for frame in frames])
    own = ssim_to_db(scores[:, 0]), np.minimum(10 * np.log10(255 * 255 / np.maximum(scores[:, 1], 1e-3)), 60.0)
    shown = own
    if pictures.height != full.height:
        shown = quality(full.luma[np.array(which)], np.stack([enlarge(frame.luma, full) for frame in frames]))
    return {
        f"{prefix}size_bytes": np.array([frame.size_bytes for frame in frames], np.uint32),
        f"{prefix}psnr_db": own[1],
        f"{prefix}shown_ssim_db": shown[0],
        f"{prefix}shown_psnr_db": shown[1],
    }


def _keys(pictures: Pictures, full: Pictures, share: float, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Key frames, and the cost if the first picture of a call arrives in part."""
    which = range(0, len(pictures.luma), KEY_STRIDE)
    frames, damage = [], []
    for index in which:
        frame = Stream(pictures).encode(index, share)
        frames.append(frame)
        rows = []
        for ratio in RATIOS[:-1]:
            shown = Receiver(pictures).show(frame, _kept(frame, ratio, random))
            rows.append(np.zeros(2) if shown is None else _damage(pictures, index, frame, shown))
        damage.append(rows)
    mean = np.maximum.accumulate(np.maximum(np.mean(damage, axis=0), 0.0), axis=0)
    arrays = _cells(frames, pictures, full, which, "key_")
    return arrays | {"key_loss_dissimilarity": mean[:, 0], "key_loss_mse": mean[:, 1]}


def _kept(frame: Frame, ratio: float, random: np.random.Generator) -> list[int]:
    """Packets that are left if this share of them is lost; a fraction of a packet is lost by chance."""
    count = len(frame.packets)
    lost = min(int(ratio * count + random.random()), count if ratio == 1.0 else count - 1)
    gone = set(random.choice(count, lost, replace=False).tolist())
    return [packet for packet in range(count) if packet not in gone]


def _damage(pictures: Pictures, index: int, frame: Frame, shown: np.ndarray) -> np.ndarray:
    """The rise of 1 - SSIM and of the squared error."""
    ssim, error = _score(pictures, index, shown) - frame.score
    return np.array([-ssim, error])


def _hits(
    pictures: Pictures, frame: Frame, index: int, before: Receiver, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Damage of one lossy frame after intact ones, by share lost; more loss is not taken to do less."""
    means = []
    for ratio in RATIOS:
        draws = 1 if ratio == 1.0 else DRAWS
        kept = [_kept(frame, ratio, random) for _ in range(draws)]
        shown = [luma for some in kept if (luma := before.copy().show(frame, some)) is not None]
        means.append(np.mean([_damage(pictures, index, frame, luma) for luma in shown], axis=0))
    damage = np.maximum.accumulate(np.maximum(means, 0.0), axis=0)
    return damage[:, 0], damage[:, 1]


def _without_reports(
    pictures: Pictures, frames: list[Frame], events: list[Any], mean_hit: np.ndarray, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The share of the damage that the next frame inherits without a report: if it is whole, and if it is hit itself.

    By least squares: D_t = rho D_(t-1) after one hit, and D_t = rho D_(t-1) + hit within a run of lossy frames.
    """
    carried, inherited = np.full((2, 2), 1e-12), np.zeros((2, 2))
    for index, before, _ in events:
        for ratio in (0.25, 0.5):
            receiver, last = before.copy(), None
            for frame_index in range(index, min(index + FOLLOWED, len(frames))):
                frame = frames[frame_index]
                kept = _kept(frame, ratio, random) if last is None else None
                now = _damage(pictures, frame_index, frame, receiver.show(frame, kept))
                if last is not None:
                    carried[0] += last * last
                    inherited[0] += now * last
                last = now
        for ratio in RUN_RATIOS:
            receiver, last = before.copy(), None
            for frame_index in range(index, min(index + RUN, len(frames))):
                frame = frames[frame_index]
                kept = [packet for packet in range(len(frame.packets)) if random.random() >= ratio]
                lost = 1 - len(kept) / len(frame.packets)
                now = _damage(pictures, frame_index, frame, receiver.show(frame, kept))
                if last is not None and lost > 0:
                    hit = np.array([np.interp(lost, (0.0, *RATIOS), (0.0, *column)) for column in mean_hit])
                    carried[1] += last * last
                    inherited[1] += (now - hit) * last
                last = now
    drift, lossy = np.clip(inherited / carried, 0.0, 1.0)
    return drift, lossy


def _reported(
    pictures: Pictures, share: float, frames: list[Frame], events: list[Any], random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The share of the damage that is left in the first frame coded after its report, and from each frame to the next
    from then on. The encoder has the same budget, and corrects the reported damage with it.
    """
    carried, inherited = np.full((2, 2), 1e-12), np.zeros((2, 2))
    for index, before, stream in events:
        if index + REPORT_AFTER + FOLLOWED > len(frames):
            continue
        sent = [stream.encode(index + later, share) for later in range(1, REPORT_AFTER)]
        for ratio in (0.25, 0.5):
            kept = _kept(frames[index], ratio, random)
            receiver = before.copy()
            last = _damage(pictures, index, frames[index], receiver.show(frames[index], kept))
            for later, frame in enumerate(sent, 1):
                last = _damage(pictures, index + later, frame, receiver.show(frame))
            after = stream.copy()
            after.report(frames[index], kept)
            for later in range(REPORT_AFTER, REPORT_AFTER + FOLLOWED):
                frame = after.encode(index + later, share)
                now = _damage(pictures, index + later, frames[index + later], frame.luma)
                which = min(later - REPORT_AFTER, 1)
                carried[which] += last * last
                inherited[which] += now * last
                last = now
    first, later = np.clip(inherited / carried, 0.0, 1.0)
    return first, later


def _from_further_back(pictures: Pictures, share: float, frames: list[Frame], events: list[Any]) -> np.ndarray:
    """By how many dB of SSIM a frame is worse that is predicted from `DISTANCES` frames before, at the same budget."""
    fallen = []
    for index, _, stream in events:
        if index + DISTANCES[-1] > len(frames):
            continue
        late = stream.copy()
        late.from_reported = True  # the last report is that of the frame before `index`
        shown = [frames[index], *(late.encode(index + later, share) for later in range(1, DISTANCES[-1]))]
        which = [distance - 1 for distance in DISTANCES]
        clean, worse = (
            ssim_to_db(np.array([some.score[0] for some in of]))
            for of in ([frames[index + i] for i in which], [shown[i] for i in which])
        )
        fallen.append(clean - worse)
    return np.maximum.accumulate(np.maximum(np.mean(fallen, axis=0), 0.0)) if fallen else np.zeros(len(DISTANCES))


def stacked(levels: list[dict[str, np.ndarray]], height: int) -> dict[str, np.ndarray]:
    """The arrays of the file, from those of each level."""
    rows_first = {"size_bytes", "psnr_db", "shown_ssim_db", "shown_psnr_db"}
    rows_first |= {f"key_{name}" for name in rows_first} | {"loss_dissimilarity", "loss_mse"}
    found = {name: np.stack([level[name] for level in levels], axis=name in rows_first) for name in levels[0]}
    for name in ("key_loss_dissimilarity", "key_loss_mse"):
        # Where nothing of a key frame arrives, nothing is shown.
        found[name] = np.concatenate([found[name], found[name][:, -1:]], axis=1)[np.newaxis]
    found["distance_levels"] = _in_levels(found.pop("distance_db"), found["shown_ssim_db"].mean(axis=0))
    return {f"{height}/{NAME}/{name}": array.astype(_type(name)) for name, array in found.items()}


def _in_levels(fallen_db: np.ndarray, mean_ssim_db: np.ndarray) -> np.ndarray:
    """How many levels (4 to a step of the ladder, as the axis counts them) lower a steady frame would look the same."""
    axis, rising = (
        4.0 * np.arange(len(mean_ssim_db)),
        np.maximum.accumulate(mean_ssim_db + 1e-6 * np.arange(len(mean_ssim_db))),
    )
    low = axis[0] - (axis[1] - axis[0]) * (rising[0] - 0.0) / max(rising[1] - rising[0], 0.1)
    same = np.interp(rising[:, None] - fallen_db, np.concatenate([[0.0], rising]), np.concatenate([[low], axis]))
    worse: np.ndarray = np.clip(axis[:, None] - same, 0.0, 64.0)
    return worse


def _type(name: str) -> str:
    if name.endswith("_bytes"):
        return "<u4"
    return "<f4" if name in ("persistence", "distance_levels", "key_loss_mse", "loss_mse") else "<f2"


def about() -> dict[str, Any]:
    """The part of the file's JSON text that describes the arrays."""
    return {
        "version": "bitstream 1",
        "settings": "packets and budgets as in calls, no copies of motion",
        "levels": LEVELS,
        "bpp_range": list(BPP_RANGE),
        "key_stride": KEY_STRIDE,
        "key_shares": KEY_SHARES,
        "loss_ratios": list(RATIOS),
        "loss_stride": STRIDE,
        "distances": list(DISTANCES),
    }
