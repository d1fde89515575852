"""Numbers that change while training: learning rates, exploration, clip ranges.

A schedule is a number, or points ``(share of training done, value)`` joined by straight lines; two points at one share
are a step. ``((0, 3e-3), (0.28, 3e-3), (0.28, 3e-4), (1, 3e-4))`` holds 3e-3 and then 3e-4.
"""

from __future__ import annotations

from collections.abc import Sequence

Schedule = float | Sequence[tuple[float, float]]
"""A number, or points over the share of training done, 0 to 1."""


def at(schedule: Schedule, share_done: float) -> float:
    """The value once this share of training is done."""
    if isinstance(schedule, (int, float)):
        return float(schedule)
    before, after = schedule[0], schedule[-1]
    if share_done >= after[0]:
        return float(after[1])
    for point in schedule:
        if point[0] > share_done:
            after = point
            break
        before = point
    if after[0] <= before[0]:
        return float(before[1])
    between = (share_done - before[0]) / (after[0] - before[0])
    return float(before[1] + min(max(between, 0.0), 1.0) * (after[1] - before[1]))
