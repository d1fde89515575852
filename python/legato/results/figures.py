"""The registry of figures: of each column of a summary its label, unit, digits, direction and a short definition.

The definitions are those of docs/reference/run-folder.md, shortened; a test holds the two lists of names together.
Columns keep their unit in the name (`_bps _ms _ratio _db`); a report shows bit/s as Mbit/s and ratios as
per cent, which is all `scale` is for. A table that shows a figure under another title, in kbit/s or with other digits
asks for it by :meth:`Metric.named`; nothing else states a unit or a direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from legato.results.stats import Estimate

Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Metric:
    """One column of `summary`; a shown figure is the column times `scale`, with `digits` after the point."""

    column: str
    label: str
    unit: str
    scale: float
    digits: int
    better: Better
    definition: str
    most: float = inf
    """The largest value that can be: 1.0 of shares of a whole."""

    def shown(self, value: float | None) -> str:
        """`value` in the unit of display, without the unit; an absent figure is a dash."""
        return "–" if value is None else f"{value * self.scale:.{self.digits}f}".replace("-", "−")

    def named(self, title: str, *, unit: str = "", digits: int | None = None) -> Shown:
        """The figure under a table's own title, and in its own unit and digits where they are given."""
        digits = self.digits if digits is None else digits
        return Shown(self, title, unit or self.unit, _SCALES.get(unit, self.scale), digits)


_SCALES = {"Mbit/s": 1e-6, "kbit/s": 1e-3}


@dataclass(frozen=True)
class Shown:
    """A figure as one table shows it: the column times ``scale``, with ``digits`` after the point."""

    figure: Metric
    title: str
    unit: str
    scale: float
    digits: int

    @property
    def column(self) -> str:
        """Of the summary."""
        return self.figure.column

    @property
    def more_is_better(self) -> bool | None:
        """None: neither is."""
        return {"higher": True, "lower": False, "neither": None}[self.figure.better]

    def text(self, value: float | None, sign: bool = False) -> str:
        """With its digits; a dash where there is none."""
        return "–" if value is None else f"{value * self.scale:{'+' if sign else ''}.{self.digits}f}"

    def interval(self, found: Estimate, sign: bool = False) -> str:
        """The mean, and its interval where there are networks enough; nothing where there is no figure."""
        if found.mean is None:
            return ""
        text = self.text(found.mean, sign)
        return (
            text
            if found.low is None or found.high is None
            else f"{text} ({self.text(found.low)} to {self.text(found.high)})"
        )


def _rate(column: str, label: str, definition: str, better: Better = "neither") -> Metric:
    return Metric(column, label, "Mbit/s", 1e-6, 3, better, definition)


def _share(column: str, label: str, definition: str, better: Better = "lower", *, most: float = 1.0) -> Metric:
    return Metric(column, label, "%", 100.0, 2, better, definition, most)


def _delay(column: str, label: str, definition: str) -> Metric:
    return Metric(column, label, "ms", 1.0, 1, "lower", definition)


def _count(column: str, label: str, definition: str, better: Better = "neither") -> Metric:
    return Metric(column, label, "", 1.0, 1, better, definition)


def _delays(stem: str, label: str, definition: str, kinds: str) -> list[Metric]:
    names = {
        "mean": "mean",
        "std": "standard deviation",
        "p50": "median",
        "p95": "95th percentile",
        "p98": "98th percentile",
    }
    return [
        _delay(f"{stem}_{kind}_ms", f"{label} {kind}", f"{definition}; {names[kind]} of the call.")
        for kind in kinds.split()
    ]


# fmt: off
METRICS: dict[str, Metric] = {
    metric.column: metric
    for metric in [
        Metric("ssim_db_mean", "SSIM", "dB", 1.0, 2, "higher",
               "Mean over rendered frames of −10 log₁₀(1 − SSIM) of what was shown against the source at the top "
               "resolution (gaussian SSIM, luma)."),
        Metric("viewed_ssim_db_mean", "SSIM as viewed", "dB", 1.0, 2, "higher",
               "The same over captured frames: a frozen picture is scored against what it should have shown."),
        Metric("psnr_db_mean", "PSNR", "dB", 1.0, 2, "higher", "Luma PSNR, mean over rendered frames."),
        Metric("viewed_psnr_db_mean", "PSNR as viewed", "dB", 1.0, 2, "higher",
               "The same over captured frames: a frozen picture is scored against what it should have shown."),
        Metric("viewed_vmaf_mean", "VMAF as viewed", "", 1.0, 1, "higher",
               "VMAF (vmaf_v0.6.1, 0 to 100) of what was on screen, mean over captured frames; of real calls with "
               "--vmaf.", 100.0),
        Metric("coded_psnr_db_mean", "PSNR as coded", "dB", 1.0, 2, "higher",
               "Luma PSNR before the network, at the coded size, mean over encoded frames."),
        *_delays("frame_delay", "Frame delay", "Encoded to decodable, frames that became decodable",
                 "p98 mean p50 p95"),
        *_delays("viewed_delay", "Frame delay as viewed",
                 "Captured until something as new (the frame or a later one) was rendered, captured frames",
                 "p95 mean p50 p98"),
        _share("on_time_150ms_ratio", "On time, 150 ms",
               "Frames rendered within 150 ms of their capture, over frames captured.", "higher"),
        _share("on_time_400ms_ratio", "On time, 400 ms",
               "Frames rendered within 400 ms of their capture, over frames captured.", "higher"),
        *_delays("render_delay", "Render delay", "Captured to rendered, rendered frames", "mean p95 p98"),
        _share("utilisation_ratio", "Utilisation", "Receiver rate over the mean capacity of the bottleneck.", "higher",
               most=inf),
        _share("loss_ratio", "Packet loss", "Packets of the forward path that never arrived, over packets sent."),
        _share("residual_loss_ratio", "Residual loss",
               "Video packets missing after retransmission and FEC, over video packets sent."),
        _share("ce_ratio", "CE marks",
               "Packets that arrived marked (ECN: congestion experienced), over packets received."),
        _share("stall_ratio", "Time stalled",
               "Time in gaps between rendered frames above 200 ms, over the call's length."),
        _share("stall_floor_ratio", "Stall floor",
               "The time stalled that no sender could avoid, because the link passed nothing.", "neither"),
        Metric("dead_link_s", "Dead link", "s", 1.0, 1, "neither",
               "Time in seconds whose mean capacity is below 50 kbit/s; a link without any is live."),
        Metric("stalls_per_s", "Stalls", "1/s", 1.0, 3, "lower", "Gaps between rendered frames above 200 ms."),
        _share("freeze_ratio", "Time frozen",
               "Time in freezes by libwebrtc's rule (a gap above max(3 × mean gap, mean gap + 150 ms), mean over the "
               "last 30 gaps), over the call's length."),
        _count("freezes", "Freezes", "Number of freezes by libwebrtc's rule.", "lower"),
        *_delays("one_way_delay", "One-way delay", "Departure from the pacer to arrival, a packet",
                 "p95 mean std p50 p98"),
        *_delays("queue_delay", "Queue delay", "One-way delay minus the smallest of the call", "mean p95"),
        *_delays("rtt", "RTT", "One-way delay of a packet and of the feedback that reported it", "mean p50 p95 p98"),
        *_delays("pacer_delay", "Pacer delay", "Enqueued to departed, media packets", "mean p95"),
        Metric("rendered_fps", "Rendered", "fps", 1.0, 2, "higher", "Frames rendered over the call's length."),
        _share("frame_drop_ratio", "Frames dropped", "Frames captured and never rendered, over captured."),
        _rate("goodput_bps", "Goodput", "Coded bytes of rendered frames; no headers, RTX, FEC or padding.", "higher"),
        _rate("receiver_rate_bps", "Receiver rate", "All bytes that arrived."),
        _rate("sending_rate_bps", "Sending rate", "All bytes that left the pacer, IP and UDP headers included."),
        _rate("target_bitrate_mean_bps", "Target bitrate", "Time mean of the controller's target."),
        _rate("capacity_mean_bps", "Capacity", "Mean capacity of the forward bottleneck."),
        _rate("feedback_rate_bps", "Feedback rate", "Bytes of RTCP from the receiver."),
        _share("padding_ratio", "Padding", "Share of the bytes sent.", "neither"),
        _share("rtx_ratio", "Retransmission", "Share of the bytes sent.", "neither"),
        _share("fec_ratio", "FEC", "Share of the bytes sent.", "neither"),
        _share("target_bitrate_change_ratio", "Target change",
               "Mean of |target − target 1 s before| over the mean target.", most=inf),
        Metric("qp_mean", "QP", "", 1.0, 1, "neither", "Quantiser, mean over encoded frames."),
        Metric("height_mean", "Height", "px", 1.0, 0, "neither", "Picture height, mean over encoded frames."),
        _count("keyframes", "Key frames", "As encoded, the first included."),
        _count("resolution_switches", "Resolution switches", "As encoded.", "lower"),
        _count("nacks", "NACKs", "Packets asked for again."),
        _count("plis", "PLIs", "Key frames asked for.", "lower"),
        _count("probe_clusters", "Probe clusters", "Started by the controller."),
        _count("packets_sent", "Packets sent", "On the forward path."),
        _count("packets_received", "Packets received", "On the forward path."),
        _count("frames_captured", "Frames captured", "Pictures taken."),
        _count("frames_encoded", "Frames encoded", "Pictures coded; the encoder may skip."),
        _count("frames_rendered", "Frames rendered", "Pictures shown."),
        Metric("mmsys21_score", "MMSys'21 score", "", 1.0, 1, "higher",
               "0 to 100, ACM MMSys 2021 challenge, network part as published.", 100.0),
        Metric("qoe_p", "QoE_p", "", 1.0, 3, "higher", "Concerto's QoE_p, over mean frame delay and mean SSIM dB."),
        Metric("qoe_d", "QoE_d", "", 1.0, 3, "higher", "Concerto's QoE_d, over mean frame delay and mean SSIM dB."),
        Metric("viewed_qoe_p", "QoE_p as viewed", "", 1.0, 3, "higher",
               "Concerto's QoE_p, over mean frame delay and mean SSIM dB as viewed: frames never shown count."),
        Metric("viewed_qoe_d", "QoE_d as viewed", "", 1.0, 3, "higher",
               "Concerto's QoE_d, over mean frame delay and mean SSIM dB as viewed: frames never shown count."),
    ]
}
# fmt: on
"""Every figure of a summary row, by column, in the order a table shows them."""

KEY_METRICS: tuple[str, ...] = (
    "viewed_ssim_db_mean", "viewed_delay_p95_ms", "on_time_150ms_ratio", "on_time_400ms_ratio", "stall_ratio",
    "stall_floor_ratio", "utilisation_ratio", "goodput_bps", "ssim_db_mean", "frame_delay_p98_ms",
    "queue_delay_mean_ms", "loss_ratio",
)  # fmt: skip
"""What a table shows before one asks for everything."""

CDF_METRICS: tuple[str, ...] = (
    "viewed_ssim_db_mean", "viewed_delay_p95_ms", "on_time_150ms_ratio", "utilisation_ratio", "loss_ratio",
    "stall_ratio",
)  # fmt: skip
"""What the distributions over calls are drawn of."""

TRADE_OFF_METRICS: tuple[str, ...] = (
    "viewed_delay_p95_ms", "viewed_ssim_db_mean", "on_time_150ms_ratio", "on_time_400ms_ratio", "viewed_delay_p98_ms",
    "frame_delay_p98_ms", "ssim_db_mean", "psnr_db_mean", "frame_delay_mean_ms",
    "render_delay_p98_ms", "one_way_delay_p95_ms", "queue_delay_mean_ms", "utilisation_ratio", "goodput_bps",
    "loss_ratio", "stall_ratio", "rendered_fps",
)  # fmt: skip
"""What the trade-off plot can put on an axis; the first two are what it opens with."""
