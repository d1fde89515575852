"""The five path shapes of the only behaviour table published for an open WebRTC stack, and Legato's figures.

webrtc-rs (rtc-interceptor, August 2026) publishes the behaviour of its GCC on them. This page uses its definitions.
Settled is the last 30 % of the run, utilisation the rate delivered in it over the capacity, converged the time from
which the 2 s mean stays within 35 % of the capacity. Its source is a constant stream and Legato's a video call, so the
comparison is an orientation, not a race.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from legato.conformance.flows import BIN_S, Session, read, window

SETTLED_SHARE = 0.3
CONVERGED_BAND = 0.35


@dataclass(frozen=True)
class Shape:
    """One shape and what webrtc-rs publishes of it."""

    key: str
    """The scenario below scenarios/shapes."""
    title: str
    capacity_bps: float
    """Of the settled part."""
    from_s: float
    """Convergence counts from the run's start; the capacity is that of the settled part from here on."""
    published: str


SHAPES = (
    Shape("steady", "steady 3 Mbit/s", 3e6, 0.0, "73 %, 25.3 s"),
    Shape("overload", "four times too much, 0.3 Mbit/s", 0.3e6, 0.0, "79.6 %, loss 19.8 %, never"),
    Shape("loss_1_in_5", "every 5th packet lost, 3 Mbit/s", 3e6, 0.0, "2.7 %, never"),
    Shape("loss_1_in_20", "every 20th packet lost, 3 Mbit/s", 3e6, 0.0, "42.3 %"),
    Shape("step", "0.6 to 3 Mbit/s", 3e6, 20.0, "59.9 %, 37.7 s"),
)


@dataclass(frozen=True)
class Figures:
    """What a controller did on a shape."""

    utilisation_ratio: float
    converged_s: float
    """inf: never."""
    loss_ratio: float

    @property
    def text(self) -> str:
        """As the published table has it."""
        converged = "never" if np.isinf(self.converged_s) else f"{self.converged_s:.1f} s"
        return f"{100 * self.utilisation_ratio:.1f} %, loss {100 * self.loss_ratio:.1f} %, {converged}"


def figures(shape: Shape, session: Session) -> Figures:
    """A session's figures by the published definitions."""
    (call,) = session.calls
    end_s = session.duration_s
    settled_bps = call.mean_bps(end_s * (1 - SETTLED_SHARE), end_s)
    rate = window(call.smoothed(2.0), shape.from_s, end_s)
    near = np.abs(rate / shape.capacity_bps - 1) <= CONVERGED_BAND
    away = np.flatnonzero(~near)
    first = 0 if away.size == 0 else int(away[-1]) + 1
    converged_s = shape.from_s + first * BIN_S if first < near.size else float("inf")
    return Figures(settled_bps / shape.capacity_bps, converged_s, float(call.figures["loss_ratio"] or 0.0))


def read_all(runs: Path) -> dict[tuple[str, str], Figures]:
    """Figures by controller and shape, of the first seed."""
    found: dict[tuple[str, str], Figures] = {}
    for shape in SHAPES:
        for session in read(runs / f"shape-{shape.key}"):
            found.setdefault((session.controller, shape.key), figures(shape, session))
    return found
