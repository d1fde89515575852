"""The plots of a case in the RFC's manner, as SVG without script: rates over time, queue below."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from .case import Case
from .flows import BIN_S, Array, Session, rolling

_WIDTH, _RATE_HEIGHT, _QUEUE_HEIGHT = 380, 120, 44
_LEFT, _RIGHT, _GAP, _BOTTOM = 34, 6, 12, 18
_MAX_POINTS = 200


def plot(case: Case, session: Session) -> str:
    """One session: each flow's rate at the receiver (1 s means) against what is available, and the queue in ms."""
    plain = _WIDTH - _LEFT - _RIGHT
    end_s = session.duration_s
    top_bps = _top(case, session)

    def x(time_s: float) -> float:
        return _LEFT + plain * time_s / end_s

    def y(bps: float) -> float:
        return 6 + (_RATE_HEIGHT - 6) * (1 - min(bps / top_bps, 1.0))

    parts = [_grid(x, y, top_bps, end_s)]
    steps = [*case.steps, (end_s, case.steps[-1][1])] if case.steps else []
    line = "".join(
        f"M{x(time):.0f},{y(bps):.0f}" if n == 0 else f"H{x(time):.0f}V{y(bps):.0f}"
        for n, (time, bps) in enumerate(steps)
    )
    if case.steps:
        parts.append(f'<path class="capacity" d="{line}"/>')
    else:
        parts.append(f'<path class="capacity" d="{_path(session.calls[0].capacity_bps, x, y)}"/>')
    for flow in session.traffic:
        if flow.kind == "udp":
            continue
        parts.append(f'<path class="tcp" d="{_path(flow.receiver_bps, x, y)}"/>')
    for n, call in enumerate(session.calls):
        parts.append(f'<path class="flow f{n % 5}" d="{_path(call.receiver_bps, x, y)}"/>')
    parts.append(_queue(session, x))
    height = _RATE_HEIGHT + _GAP + _QUEUE_HEIGHT + _BOTTOM
    label = escape(f"{case.key}, {session.controller}: rates of {len(session.calls)} calls over {end_s:g} s")
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _top(case: Case, session: Session) -> float:
    flows = [*session.calls, *(flow for flow in session.traffic if flow.kind != "udp")]
    seen = max((float(np.nanmax(rolling(flow.receiver_bps, 1.0))) for flow in flows), default=1e6)
    return 1.08 * max(seen, min(max((bps for _, bps in case.steps), default=0.0), 2.2e6))


def _grid(x, y, top_bps: float, end_s: float) -> str:
    step = next(step for step in (0.25e6, 0.5e6, 1e6, 2e6, 5e6, 1e9) if top_bps / step <= 4.5)
    rates = np.arange(0.0, top_bps, step)
    lines = "".join(
        f'<path class="rule" d="M{_LEFT},{y(rate):.0f}H{_WIDTH - _RIGHT}"/>'
        f'<text x="{_LEFT - 4}" y="{y(rate) + 3:.0f}" text-anchor="end">{rate / 1e6:g}</text>'
        for rate in rates
    )
    seconds = next(step for step in (20, 25, 50, 100, 500) if end_s / step <= 6.5)
    bottom = _RATE_HEIGHT + _GAP + _QUEUE_HEIGHT + 13
    times = "".join(
        f'<text x="{x(time):.0f}" y="{bottom}" text-anchor="middle">{time:g}</text>'
        for time in np.arange(0.0, end_s + 0.1, seconds)
    )
    return lines + times


def _queue(session: Session, x) -> str:
    queues = [call.queue_ms for call in session.calls]
    queue = np.nanmax(np.nan_to_num(np.asarray(queues)), axis=0) if queues else np.zeros(1)
    top_ms = max(100.0, float(queue.max()))
    base = _RATE_HEIGHT + _GAP + _QUEUE_HEIGHT

    def y(ms: float) -> float:
        return base - _QUEUE_HEIGHT * ms / top_ms

    path = _path(queue, x, y, smooth_s=0.0, worst=True)
    return (
        f'<path class="queue" d="{path}V{base}H{_LEFT}Z"/><path class="rule" d="M{_LEFT},{base}H{_WIDTH - _RIGHT}"/>'
        f'<text x="{_LEFT - 4}" y="{base - _QUEUE_HEIGHT + 8}" text-anchor="end">{top_ms:.0f}</text>'
        f'<text x="{_LEFT - 4}" y="{base}" text-anchor="end">ms</text>'
    )


def _path(values: Array, x, y, smooth_s: float = 1.0, worst: bool = False) -> str:
    """A polyline of at most ``_MAX_POINTS``: means of 1 s, or the largest of each stretch."""
    if smooth_s:
        values = rolling(np.nan_to_num(values, nan=0.0), smooth_s) + values * 0
    stride = max(1, int(np.ceil(values.size / _MAX_POINTS)))
    points: list[str] = []
    pen_up = True
    for at in range(0, values.size, stride):
        part = values[at : at + stride]
        part = part[~np.isnan(part)]
        if part.size == 0:
            pen_up = True
            continue
        value = float(part.max() if worst else part.mean())
        points.append(f"{'M' if pen_up else 'L'}{x((at + stride / 2) * BIN_S):.0f},{y(value):.0f}")
        pen_up = False
    return "".join(points)


def legend(names: Sequence[str]) -> str:
    """Which colour is which flow."""
    return "".join(f'<span class="f{n % 5}">{escape(name)}</span>' for n, name in enumerate(names))
