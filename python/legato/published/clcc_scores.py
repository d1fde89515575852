"""CLCC's two scores of a call ([clcc] §V-C): of its packets and of its frames; readings in docs/papers/clcc.md."""

from __future__ import annotations


def qoe_packet(utilisation_ratio: float, least_ms: float, p95_ms: float, largest_ms: float, loss_ratio: float) -> float:
    """The packet-level score, 0 to 70."""
    # [clcc] eq. (7): QoE_recv_rate = 100 U. More than all of the capacity is a matter of bins.
    rate = 100.0 * min(utilisation_ratio, 1.0)
    # [clcc] eq. (8): QoE_delay = 100 (d_max - d_95th) / (d_max - d_min)
    delay = 100.0 * (largest_ms - p95_ms) / (largest_ms - least_ms) if largest_ms > least_ms else 100.0
    # [clcc] eq. (9): QoE_loss = 100 (1 - L)
    kept = 100.0 * (1.0 - loss_ratio)
    # [clcc] eq. (10): 0.2 rate + 0.2 delay + 0.3 loss; the weights sum to 0.7, as in the challenge it is from
    return 0.2 * rate + 0.2 * delay + 0.3 * kept


def qoe_frame(psnr_db: float, delay_ms: float, drop_ratio: float) -> float:
    """The frame-level score, 0 to 70."""
    # [clcc] eq. (11): 100 (MSE(PSNR) - MSE_min) / (MSE_max - MSE_min), MSE(PSNR) = 10^(PSNR / 10), 36 and 42 dB.
    # What they call MSE is its inverse and grows with quality; clipped to the range they set.
    least, most = 10.0**3.6, 10.0**4.2
    quality = 100.0 * (10.0 ** (min(max(psnr_db, 36.0), 42.0) / 10.0) - least) / (most - least)
    # Deviates from [clcc] eq. (12), 100 d_avg / 3, which would reward delay: read as 100 - d_avg / 3, 0 from 300 ms on.
    delay = max(100.0 - delay_ms / 3.0, 0.0)
    # [clcc] eq. (13): QoE_drop = 100 (1 - D)
    shown = 100.0 * (1.0 - drop_ratio)
    # [clcc] eq. (14): 0.2 quality + 0.2 delay + 0.3 drop
    return 0.2 * quality + 0.2 * delay + 0.3 * shown
