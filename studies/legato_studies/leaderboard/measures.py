"""The figures of a leaderboard, and how each is shown."""

from __future__ import annotations

from dataclasses import dataclass

from legato.results.stats import Estimate


@dataclass(frozen=True)
class Measure:
    """A figure of the summary, and how it is shown: the column times ``scale`` with ``digits`` after the point."""

    column: str
    title: str
    scale: float
    digits: int
    larger_is_better: bool | None
    """None: neither."""

    def text(self, value: float, sign: bool = False) -> str:
        """With its digits."""
        return f"{value * self.scale:{'+' if sign else ''}.{self.digits}f}"

    def interval(self, found: Estimate, sign: bool = False) -> str:
        """The mean, and its interval where there are networks enough; nothing where there is no figure."""
        if found.mean is None:
            return ""
        text = self.text(found.mean, sign)
        return text if found.low is None else f"{text} ({self.text(found.low)} to {self.text(found.high)})"


ON_TIME = Measure("on_time_150ms_ratio", "on time, 150 ms, %", 100, 1, True)
P95 = Measure("viewed_delay_p95_ms", "p95 delay, ms", 1, 0, False)
P98 = Measure("viewed_delay_p98_ms", "p98 delay, ms", 1, 0, False)
STALLED = Measure("stall_ratio", "stalled, %", 100, 2, False)
PICTURE = Measure("viewed_ssim_db_mean", "SSIM as viewed, dB", 1, 2, True)
GOODPUT = Measure("goodput_bps", "goodput, kbit/s", 1e-3, 0, True)
FLOOR = Measure("stall_floor_ratio", "stall floor, %", 100, 2, None)

TIMELY = (P95, P98, ON_TIME, STALLED)
HEADROOM = (PICTURE, *TIMELY)
"""Of all captured frames: by these a ceiling cannot be passed by showing fewer."""
MEASURES = (
    ON_TIME,
    P95,
    P98,
    STALLED,
    PICTURE,
    GOODPUT,
    Measure("utilisation_ratio", "utilisation, %", 100, 0, None),
    Measure("loss_ratio", "lost, %", 100, 2, False),
    Measure("padding_ratio", "padding, %", 100, 1, None),
)
