"""CLCC's reward ([clcc] eq. (2) to (4)): packets and frames together, with memory.

While the picture is smaller than its full size, the bitrate counts; at full size, the encoder's PSNR does. The two are
made continuous where the size changes: the rate and the PSNR at that moment are stored for each call.

Our reading of the paper: delays are above the call's minimum, in seconds. The delay of an interval without a frame is
the time since the last one, and no delay counts more than a second (a queue of Table III can hold fourteen). The full
size is the largest so far, which the call's first frames have unless it grows, or as given. The burst loss ratio is the
longest run of lost packets over all packets of the interval. An interval does not state the latter: the loss ratio is
an upper bound, and equal to it wherever there was one run, as in nearly all intervals.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from legato.envs.intervals import Intervals

Array = NDArray[np.float32]

MAX_DELAY_S = 1.0
"""Longer delays count as this: otherwise one full queue would outweigh minutes of a call."""
_PACKET_BYTES = 1250.0
"""Of a full video packet on the wire: an interval has at least as many packets as its bytes fill."""


class ClccReward:
    """[clcc] eq. (4): one number per call and interval, of the magnitude of the bitrate in Mbit/s.

    Args:
        full_height: rows of the original picture, where all calls have the same; 0: the largest shown so far.
    """

    def __init__(self, full_height: int = 0) -> None:
        self._full_height = float(full_height)
        self._begin(0)

    def _begin(self, calls: int) -> None:
        self._calls = calls
        self._full = np.zeros(calls, np.bool_)
        self._height, self._largest = np.zeros(calls, np.float32), np.full(calls, self._full_height, np.float32)
        self._psnr_db, self._psnr_then_db = np.zeros(calls, np.float32), np.zeros(calls, np.float32)
        self._rate_then = np.zeros(calls, np.float32)

    def reset(self, begun: NDArray[np.bool_]) -> None:
        """Forget the calls that have ended.

        Args:
            begun: ``(N,)``, where another call has started.
        """
        if len(begun) != self._calls:
            self._begin(len(begun))
            return
        for remembered, nothing in self._remembered():
            remembered[begun] = nothing
        self._largest[begun] = self._full_height

    def __call__(self, intervals: Intervals) -> Array:
        if len(intervals) != self._calls:
            self._begin(len(intervals))
        came = intervals["frame_height"] > 0
        rate = intervals.mbps("receiver_rate")
        self._psnr_db = np.where(came, np.nan_to_num(intervals["frame_psnr_db"]), self._psnr_db)
        height = np.where(came, intervals["frame_height"], self._height)
        grown = height > self._largest
        self._largest = np.maximum(self._largest, height)
        self._height = height
        full = (height == self._largest) & (height > 0)
        # [clcc] eq. (3): rate_pkt_r and PSNR_enc_r are the values when r_frame turns to 1.
        turned = full & (~self._full | grown)
        self._rate_then = np.where(turned, rate, self._rate_then)
        self._psnr_then_db = np.where(turned, self._psnr_db, self._psnr_then_db)
        self._full = full
        # Without a frame, the time since the last one is the only measure of the delay.
        frame_delay_s = np.where(
            np.isnan(intervals["frame_delay_ms"]),
            intervals.seconds("true_since_frame"),
            intervals.seconds("frame_delay"),
        )
        gained = np.where(full, self._rate_then + 4.0 / 15.0 * (self._psnr_db - self._psnr_then_db), rate)
        # [clcc] eq. (2): rate_pkt - 16 d_pkt - 6 l_pkt, r_frame < 1; -16 d_pkt - 6 l_pkt, r_frame = 1
        delay_s = np.minimum(intervals.seconds("delay"), MAX_DELAY_S)
        packets = -16.0 * delay_s - 6.0 * burst_loss_ratio(intervals)
        # [clcc] eq. (3): -10 d_frame; 4/15 PSNR_enc - 10 d_frame + rate_pkt_r - 4/15 PSNR_enc_r
        frames = gained - 10.0 * np.minimum(frame_delay_s, MAX_DELAY_S)
        # [clcc] eq. (4): Reward = R_pkt + R_frame
        return (packets + frames).astype(np.float32)

    def _remembered(self) -> list[tuple[NDArray[np.generic], float]]:
        numbers = (self._height, self._psnr_db, self._psnr_then_db, self._rate_then)
        return [(self._full, False), *((numbers_of, 0.0) for numbers_of in numbers)]


def burst_loss_ratio(intervals: Intervals) -> Array:
    """l_pkt of [clcc] Table I, as closely as an interval's figures allow."""
    longest = intervals["longest_loss_packets"]
    arrived = intervals["receiver_rate_bps"] * intervals["interval_s"] / (8.0 * _PACKET_BYTES)
    ratio = longest / np.maximum(longest + arrived, 1.0)
    return np.minimum(ratio, intervals["loss_ratio"]).astype(np.float32)
