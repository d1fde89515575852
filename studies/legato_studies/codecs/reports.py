"""The hybrid codec's picture under loss if the sender hears of each frame three frames later, as over a round trip of
100 ms, and predicts from frames that the receiver has.

Loss *comes and goes* every ten frames, of which the lossy ones count; or it *lasts* from the tenth frame on, and frames
from the twentieth on count. Senders that cut frames into as many packets meet the same losses. The *adaptive* one has
four packets, and as many copies of motion as calls have after the same reports (``crates/hybrid/src/resilience.rs``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from legato import _core
from legato.profile.clip import Pictures
from legato.profile.tables import quality

REPORT_AFTER = 3
WINDOW = 10
KEY_WORTH = 8
"""The first frame has the budget of so many; x264's rate control decides for itself."""
LOSSES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8)
KINDS = {"reported": "comes and goes", "lasting": "lasts"}
"""How loss is spread over time: a name, and what tables say."""
MAX_PACKET_BYTES = 1_200


def luma_of(decoder: _core.HybridDecoder, pictures: Pictures) -> np.ndarray:
    """The decoder's picture."""
    luma = decoder.luma()
    assert luma is not None, "a frame was decoded"
    return np.frombuffer(luma, np.uint8).reshape(pictures.height, pictures.width)


def arrive(decoder: _core.HybridDecoder, packets: list[bytes]) -> list[int]:
    """Decodes the received packets of a frame; returns which of its packets came."""
    if packets:
        return decoder.decode(packets)[1]
    decoder.miss()
    return []


@dataclass(frozen=True)
class Sender:
    """How a sender cuts frames; ``None`` copies: as many as calls have."""

    packets: int
    copies: int | None


def reported_db(pictures: Pictures, budget_bytes: float, sender: Sender, kind: str, loss_ratio: float) -> float:
    """Mean SSIM of the frames that count, in dB."""
    encoder = _core.HybridEncoder(pictures.width, pictures.height, min_packets=sender.packets, motion_copies=0)
    resilience = _core.HybridResilience(pictures.width, pictures.height)
    decoder, random = _core.HybridDecoder(), np.random.default_rng(19)
    reports: list[tuple[int, list[int], int]] = []
    counted, shown = [], []
    for index in range(len(pictures.luma)):
        if index >= REPORT_AFTER:
            number, received, count = reports[index - REPORT_AFTER]
            encoder.acknowledge(number, received, count)
            resilience.take(count, len(received))
        copies = resilience.motion_copies(round(budget_bytes)) if sender.copies is None else sender.copies
        encoder.configure(sender.packets, motion_copies=copies, max_packet_bytes=MAX_PACKET_BYTES)
        worth = KEY_WORTH if index == 0 else 1
        number, coded, _, _ = encoder.encode(pictures.planar(index), budget_bytes=round(budget_bytes * worth))
        is_lossy = index >= WINDOW and (kind == "lasting" or index // WINDOW % 2 == 1)
        received = arrive(decoder, [packet for packet in coded if not (is_lossy and random.random() < loss_ratio)])
        reports.append((number, received, len(coded)))
        if is_lossy and (kind == "reported" or index >= 2 * WINDOW):
            counted.append(index)
            shown.append(luma_of(decoder, pictures))
    return float(quality(pictures.luma[counted], np.stack(shown))[0].mean())


def choices() -> list[int]:
    """Copies that calls choose after a while at each ratio of loss, in small frames and in large ones: parts of one
    rule do not serve for another.
    """
    chosen = []
    for frame_bytes in (1_250, 3_333):
        for loss in LOSSES:
            resilience = _core.HybridResilience(640, 360)
            for _ in range(200):
                resilience.take(20, round(20 * (1 - loss)))
            chosen.append(resilience.motion_copies(frame_bytes))
    return chosen
