"""The scores of a call of [clcc] §V-C, of its packets and of its frames, and the parts of both: each is 0 to 100, and a
score weighs its three. Docs/papers/clcc.md says how the equations are read.
"""

from __future__ import annotations

LOW_PSNR_DB, HIGH_PSNR_DB = 36.0, 42.0
"""[clcc] §V-C: the range of eq. (11)."""


def rate_part(utilisation_ratio: float) -> float:
    """QoE_recv_rate."""
    # [clcc] eq. (7): QoE_recv_rate = 100 U. Utilisation above 1 is an artefact of the bins.
    return 100.0 * min(utilisation_ratio, 1.0)


def delay_part(shortest_ms: float, p95_ms: float, largest_ms: float) -> float:
    """QoE_delay of packets."""
    # [clcc] eq. (8): QoE_delay = 100 (d_max - d_95th) / (d_max - d_min)
    return 100.0 * (largest_ms - p95_ms) / (largest_ms - shortest_ms) if largest_ms > shortest_ms else 100.0


def loss_part(loss_ratio: float) -> float:
    """QoE_loss."""
    # [clcc] eq. (9): QoE_loss = 100 (1 - L)
    return 100.0 * (1.0 - loss_ratio)


def quality_part(psnr_db: float) -> float:
    """QoE_quality."""
    # [clcc] eq. (11): 100 (MSE(PSNR) - MSE_min) / (MSE_max - MSE_min), MSE(PSNR) = 10^(PSNR / 10), 36 and 42 dB. Their
    # "MSE" is the inverse and grows with quality; clipped to the range they set.
    low, high = 10.0 ** (LOW_PSNR_DB / 10.0), 10.0 ** (HIGH_PSNR_DB / 10.0)
    return float(100.0 * (10.0 ** (min(max(psnr_db, LOW_PSNR_DB), HIGH_PSNR_DB) / 10.0) - low) / (high - low))


def frame_delay_part(delay_ms: float) -> float:
    """QoE_delay of frames."""
    # Deviates from [clcc] eq. (12), 100 d_avg / 3, which would reward delay: read as 100 - d_avg / 3, 0 from 300 ms on.
    return max(100.0 - delay_ms / 3.0, 0.0)


def drop_part(drop_ratio: float) -> float:
    """QoE_drop."""
    # [clcc] eq. (13): QoE_drop = 100 (1 - D)
    return 100.0 * (1.0 - drop_ratio)


def qoe_packet(
    utilisation_ratio: float, shortest_ms: float, p95_ms: float, largest_ms: float, loss_ratio: float
) -> float:
    """The packet-level score, 0 to 70."""
    delay = delay_part(shortest_ms, p95_ms, largest_ms)
    # [clcc] eq. (10): 0.2 rate + 0.2 delay + 0.3 loss; the weights sum to 0.7, as in the challenge it is from
    return 0.2 * rate_part(utilisation_ratio) + 0.2 * delay + 0.3 * loss_part(loss_ratio)


def qoe_frame(psnr_db: float, delay_ms: float, drop_ratio: float) -> float:
    """The frame-level score, 0 to 70."""
    # [clcc] eq. (14): 0.2 quality + 0.2 delay + 0.3 drop
    return 0.2 * quality_part(psnr_db) + 0.2 * frame_delay_part(delay_ms) + 0.3 * drop_part(drop_ratio)
