"""The figures of a leaderboard, under its titles."""

from __future__ import annotations

from legato.results.figures import METRICS

ON_TIME = METRICS["on_time_150ms_ratio"].named("on time, 150 ms, %", digits=1)
P95 = METRICS["viewed_delay_p95_ms"].named("p95 delay, ms", digits=0)
P98 = METRICS["viewed_delay_p98_ms"].named("p98 delay, ms", digits=0)
STALLED = METRICS["stall_ratio"].named("stalled, %")
PICTURE = METRICS["viewed_ssim_db_mean"].named("SSIM as viewed, dB")
GOODPUT = METRICS["goodput_bps"].named("goodput, kbit/s", unit="kbit/s", digits=0)
FLOOR = METRICS["stall_floor_ratio"].named("stall floor, %")
UTILISATION = METRICS["utilisation_ratio"].named("utilisation, %", digits=0)
LOST = METRICS["loss_ratio"].named("lost, %")
PADDING = METRICS["padding_ratio"].named("padding, %", digits=1)

TIMELY = (P95, P98, ON_TIME, STALLED)
HEADROOM = (PICTURE, *TIMELY)
"""Of all captured frames: by these a ceiling cannot be passed by showing fewer."""
JUDGED = (ON_TIME, P95, P98, STALLED, PICTURE, GOODPUT, LOST)
"""Of which one controller can be better than another."""
MEASURES = (ON_TIME, P95, P98, STALLED, PICTURE, GOODPUT, UTILISATION, LOST, PADDING)
