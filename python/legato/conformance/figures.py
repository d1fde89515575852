"""The figures that RFC 8868 wants of every flow and of all together: shown next to the verdicts, not judged.

Rates and their swings come from the time series, delays and losses from the summary, which has them packet by packet.
Missing: the distribution of delay between the percentiles (a run with ``log = "packets"`` holds every delay), and
packets discarded by the de-jitter buffer: ours waits for late frames instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from legato.conformance.flows import BIN_S, Array, Flow, Session, jain, mean, rolling

# [rfc8868] §3: rates are reported over 200 ms.
RATE_WINDOW_S = 0.2
# [rfc8868] §3: fairness is the ratio of mean rates over windows of these lengths.
FAIRNESS_WINDOWS_S = (1.0, 5.0, 20.0)
# [rfc8868] §3: no flow has more than this times the rate of another of the same kind.
FAIR_RATIO = 3.0
FAIR_AFTER_S = 10.0
"""Fairness counts from this long after a flow began or resumed: convergence before that is judged elsewhere."""
JOIN_WINDOW_S = 10.0
"""How a round trip grew as a flow joined: means over this long before and after. Ours, no RFC has it."""
# [rfc8868] §3: its example are watermarks 4 apart, 500 kbit/s and 2 Mbit/s, and 500 ms. Deviates: ours are a half and
# twice the mean sending rate of the 10 s around, or calls that never have 2 Mbit/s would never swing.
WATERMARKS = (0.5, 2.0)
SWING_S = 0.5
LEVEL_WINDOW_S = 10.0
NEAR_WATERMARKS = (0.5**0.5, 2.0**0.5)
"""A factor of 2 apart, and more time for it: what a viewer sees as pumping."""
NEAR_SWING_S = 5.0


Statistics = Mapping[str, float]
"""How a figure is distributed over a flow's life: ``minimum``, ``maximum``, ``mean``, ``std`` and ``variance``."""
# [rfc8868] §3: minimum, maximum, mean, standard deviation and variance of each.
_STATISTICS: dict[str, Callable[[Array], Any]] = {
    "minimum": np.min, "maximum": np.max, "mean": np.mean, "std": np.std, "variance": np.var,
}  # fmt: skip


@dataclass(frozen=True)
class FlowFigures:
    """One flow over its life; None where a figure does not apply."""

    name: str
    kind: str
    sending_bps: float
    receiver_bps: float
    goodput_bps: float
    loss_ratio: float | None
    residual_loss_ratio: float | None
    """After retransmission and repair."""
    delay_mean_ms: float | None
    delay_std_ms: float | None
    delay_p95_ms: float | None
    feedback_bps: float | None
    swings: int | None
    """Passages of a call's sending rate between watermarks 4 apart within 0.5 s."""
    near_swings: int | None
    """Between watermarks 2 apart within 5 s."""
    utilisation_ratio: float | None
    """Of the link's capacity."""
    sending: Statistics | None
    """Of the sending rate in bit/s over 200 ms, one after the other."""
    receiving: Statistics | None
    """The same of the receiver rate."""
    delay: Statistics | None
    """Of the one-way delay in ms: mean, deviation and variance of packets, extremes of means over 100 ms."""


@dataclass(frozen=True)
class Fairness:
    """How flows of one session share, over windows of one length."""

    window_s: float
    windows: int
    """Their number; one begins every second."""
    worst_ratio: float | None
    """The largest ratio of two calls' rates in any window; None for a single call."""
    within_ratio: float | None
    """The share of windows in which no two calls were further apart than ``FAIR_RATIO``."""
    jain_mean_ratio: float | None
    jain_least_ratio: float | None
    against_tcp_ratio: float | None
    """The median over windows of a call's mean rate over that of a long TCP flow; None without one."""


def flow_figures(flow: Flow) -> FlowFigures:
    """A flow's figures."""
    row = flow.figures
    is_call = flow.kind == "call"
    sent = row["packets_sent"]
    loss = row["loss_ratio"] if is_call else row["packets_lost"] / sent if sent else None
    level = _level(flow.sending_bps)
    relative = rolling(flow.sending_bps, RATE_WINDOW_S) / np.where(level > 0, level, np.nan)
    return FlowFigures(
        name=flow.name,
        kind=flow.kind,
        sending_bps=row["sending_rate_bps"],
        receiver_bps=row["receiver_rate_bps"],
        goodput_bps=row["goodput_bps"],
        loss_ratio=loss,
        residual_loss_ratio=row.get("residual_loss_ratio"),
        delay_mean_ms=row.get("one_way_delay_mean_ms"),
        delay_std_ms=row.get("one_way_delay_std_ms"),
        delay_p95_ms=row.get("one_way_delay_p95_ms"),
        feedback_bps=row.get("feedback_rate_bps"),
        swings=passages(relative, *WATERMARKS, SWING_S) if is_call else None,
        near_swings=passages(relative, *NEAR_WATERMARKS, NEAR_SWING_S) if is_call else None,
        utilisation_ratio=row.get("utilisation_ratio"),
        sending=statistics(_over_200_ms(flow.sending_bps)),
        receiving=statistics(_over_200_ms(flow.receiver_bps)),
        delay=_delay(flow),
    )


def statistics(values: Array) -> Statistics | None:
    """Of the recorded values; None without any."""
    known = values[~np.isnan(values)]
    if not known.size:
        return None
    return {name: float(of(known)) for name, of in _STATISTICS.items()}


def _over_200_ms(rates: Array) -> Array:
    """Mean rates of a flow's life, 200 ms after 200 ms."""
    alive = rates[~np.isnan(rates)]
    width = round(RATE_WINDOW_S / BIN_S)
    means: Array = alive[: alive.size // width * width].reshape(-1, width).mean(axis=1)
    return means


def _delay(flow: Flow) -> Statistics | None:
    over_time = statistics(flow.delay_ms)
    mean_ms, std_ms = flow.figures.get("one_way_delay_mean_ms"), flow.figures.get("one_way_delay_std_ms")
    if over_time is None or mean_ms is None or std_ms is None:
        return over_time
    return {**over_time, "mean": mean_ms, "std": std_ms, "variance": std_ms**2}


def passages(values: Array, low: float, high: float, within_s: float) -> int:
    """How often a series goes from the low watermark to the high one, or back, within a time."""
    count, last, left_at = 0, 0, 0
    for at, value in enumerate(values):
        side = 1 if value >= high else -1 if value <= low else 0
        if side == 0:
            continue
        if side == -last and (at - left_at) * BIN_S <= within_s + 1e-9:
            count += 1
        last, left_at = side, at
    return count


def fairness(session: Session) -> list[Fairness]:
    """How flows share, by the length of windows; empty for a call that shares with no other flow."""
    calls = session.calls
    tcp = [flow for flow in session.traffic if flow.kind.startswith("tcp") and _is_long(flow)]
    if len(calls) + len(tcp) < 2:
        return []
    from_s = max(flow.start_s for flow in (*calls, *tcp)) + FAIR_AFTER_S
    to_s = min(flow.stop_s for flow in (*calls, *tcp))
    pauses = np.any([_pausing(call.sending_bps) for call in calls], axis=0)
    found = []
    for window_s in FAIRNESS_WINDOWS_S:
        live = _windows(pauses.astype(np.float64), from_s, to_s, window_s) == 0
        if not live.any():
            continue
        shares = np.asarray([_windows(call.receiver_bps, from_s, to_s, window_s)[live] for call in calls])
        against = None
        if tcp:
            beside = np.mean([_windows(flow.receiver_bps, from_s, to_s, window_s)[live] for flow in tcp], axis=0)
            against = float(np.median(shares.mean(axis=0) / np.maximum(beside, 1.0)))
        among = None
        if len(calls) > 1:
            furthest = np.max([_ratio(one, other) for one, other in combinations(shares, 2)], axis=0)
            jains = [jain(list(column)) for column in shares.T]
            among = (furthest.max(), (furthest <= FAIR_RATIO).mean(), np.mean(jains), np.min(jains))
        worst, within, typical, least = (None,) * 4 if among is None else (float(value) for value in among)
        found.append(Fairness(window_s, int(live.sum()), worst, within, typical, least, against))
    return found


def _pausing(sending_bps: Array) -> NDArray[np.bool_]:
    """Where a call sends nothing for half a second, and as long after it resumes as after it began: a call that
    pauses leaves its share to others by choice."""
    silent = rolling(np.nan_to_num(sending_bps), 0.5) <= 0
    behind = round(FAIR_AFTER_S / BIN_S)
    return np.convolve(silent, np.ones(behind), mode="full")[: silent.size] > 0


def _ratio(one: Array, other: Array) -> Array:
    return np.maximum(one, other) / np.maximum(np.minimum(one, other), 1.0)


def _is_long(flow: Flow) -> bool:
    """A flow that sends in nearly every second is one without pauses."""
    alive = flow.sending_bps[~np.isnan(flow.sending_bps)]
    seconds = alive[: alive.size // 10 * 10].reshape(-1, 10).sum(axis=1)
    return bool(seconds.size and (seconds > 0).mean() > 0.95)


def _windows(values: Array, from_s: float, to_s: float, window_s: float) -> Array:
    """Means over windows that begin each second."""
    starts = np.arange(from_s, to_s - window_s + 1e-9, 1.0)
    width = round(window_s / BIN_S)
    known = np.concatenate([[0.0], np.cumsum(np.nan_to_num(values))])
    first = np.round(starts / BIN_S).astype(int)
    means: Array = (known[first + width] - known[first]) / width
    return means


def _level(values: Array) -> Array:
    """The mean of the recorded values of the 10 s around each bin; NaN without any."""
    half = round(LEVEL_WINDOW_S / BIN_S / 2)
    sums = np.concatenate([[0.0], np.cumsum(np.nan_to_num(values))])
    counts = np.concatenate([[0], np.cumsum(~np.isnan(values))])
    at = np.arange(values.size)
    first, behind = np.maximum(at - half, 0), np.minimum(at + half, values.size)
    count = counts[behind] - counts[first]
    return np.where(count > 0, (sums[behind] - sums[first]) / np.maximum(count, 1), np.nan)


@dataclass(frozen=True)
class SessionFigures:
    """All figures of one session."""

    flows: tuple[FlowFigures, ...]
    """Calls first, then the cross traffic."""
    fairness: tuple[Fairness, ...]
    rtt_growth_ratio: float | None
    """The largest growth of a call's round trip as another flow joined; None where none did."""


def session_figures(session: Session) -> SessionFigures:
    """A session's figures."""
    flows = tuple(flow_figures(flow) for flow in (*session.calls, *session.traffic))
    return SessionFigures(flows, tuple(fairness(session)), rtt_growth(session))


def rtt_growth(session: Session) -> float | None:
    """The largest factor by which the mean round trip of a call grew as another flow joined."""
    grown = []
    for joined_s in {flow.start_s for flow in (*session.calls, *session.traffic) if flow.start_s > 0}:
        for call in session.calls:
            if call.start_s + JOIN_WINDOW_S <= joined_s and joined_s + JOIN_WINDOW_S <= call.stop_s:
                before = mean(call.rtt_ms, joined_s - JOIN_WINDOW_S, joined_s)
                grown.append(mean(call.rtt_ms, joined_s, joined_s + JOIN_WINDOW_S) / before)
    known = [ratio for ratio in grown if np.isfinite(ratio)]
    return max(known, default=None)
