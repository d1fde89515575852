"""The plots of a case in the RFC's manner: rates over time, queue below."""

from __future__ import annotations

import itertools

import numpy as np
from markupsafe import Markup

from legato.conformance.case import Case
from legato.conformance.flows import BIN_S, Array, Session, rolling
from legato.report import chart

_WIDTH, _RATE_HEIGHT, _QUEUE_HEIGHT = 400, 120, 44
_MAX_POINTS = 200


def plot(case: Case, session: Session) -> Markup:
    """One session: each flow's rate at the receiver (1 s means) against the available capacity, and the queue in ms."""
    end_s = session.duration_s
    mbps = 1e-6
    if case.steps:
        steps = [*case.steps, (end_s, case.steps[-1][1])]
        edges = [
            point
            for (time, bps), (until, _) in itertools.pairwise(steps)
            for point in ((time, bps * mbps), (until, bps * mbps))
        ]
    else:
        edges = _points(session.calls[0].capacity_bps * mbps)
    lines = [chart.Line("available", edges)]
    traffic = [flow for flow in session.traffic if flow.kind != "udp"]
    lines += [chart.Line("other", _points(flow.receiver_bps * mbps)) for flow in traffic]
    lines += [chart.Line(flow_class(n), _points(call.receiver_bps * mbps)) for n, call in enumerate(session.calls)]
    title = f"{case.key}, {session.controller}: rates of {len(session.calls)} calls over {end_s:g} s"
    rates = chart.Axes(lines, high=_top(case, session) * mbps, height=_RATE_HEIGHT, title="rate, Mbit/s")
    return chart.draw([rates, _queue(session)], title, width=_WIDTH, x_end=end_s, unit=" s")


def flow_class(place: int) -> str:
    """The line class of a session's call, which the legend has too."""
    return f"c{place % 5}"


def _top(case: Case, session: Session) -> float:
    flows = [*session.calls, *(flow for flow in session.traffic if flow.kind != "udp")]
    seen = max((float(np.nanmax(rolling(flow.receiver_bps, 1.0))) for flow in flows), default=1e6)
    return 1.08 * max(seen, min(max((bps for _, bps in case.steps), default=0.0), 2.2e6))


def _queue(session: Session) -> chart.Axes:
    queues = [call.queue_ms for call in session.calls]
    queue = np.nanmax(np.nan_to_num(np.asarray(queues)), axis=0) if queues else np.zeros(1)
    top_ms = max(100.0, float(queue.max()))
    points = _points(queue, smooth_s=0.0, worst=True)
    filled = [(0.0, 0.0), *points, (points[-1][0], 0.0)]
    return chart.Axes(
        [chart.Line("area", filled)],
        high=top_ms,
        height=_QUEUE_HEIGHT,
        labels=((top_ms, f"{top_ms:.0f}"), (0.0, "0")),
        title="queue, ms",
    )


def _points(values: Array, smooth_s: float = 1.0, worst: bool = False) -> list[chart.Point]:
    """At most ``_MAX_POINTS``: means of 1 s, or the largest of each stretch; NaN without values."""
    if smooth_s:
        values = rolling(np.nan_to_num(values, nan=0.0), smooth_s) + values * 0
    stride = max(1, int(np.ceil(values.size / _MAX_POINTS)))
    points = []
    for at in range(0, values.size, stride):
        part = values[at : at + stride]
        part = part[~np.isnan(part)]
        value = float("nan") if part.size == 0 else float(part.max() if worst else part.mean())
        points.append(((at + stride / 2) * BIN_S, value))
    return points
