"""What a controller did in a case, held against the marks of ``criteria.py``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from legato.conformance import criteria
from legato.conformance.flows import BIN_S, Array, Flow, rolling, window


@dataclass(frozen=True)
class Check:
    """One figure and its mark."""

    name: str
    value: float
    mark: str
    """The required value, as text: ``>= 0.75``."""
    passed: bool
    digits: int = 2

    @property
    def shown(self) -> str:
        """The figure as a reader sees it."""
        if np.isinf(self.value):
            return "never"
        return "—" if np.isnan(self.value) else f"{self.value:.{self.digits}f}"


@dataclass(frozen=True)
class Verdict:
    """Every figure of one controller in one case, over all seeds; the worst seed counts."""

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The figures that miss their mark."""
        return tuple(check for check in self.checks if not check.passed)


def at_least(name: str, value: float, low: float, digits: int = 2) -> Check:
    """NaN fails: an event without an observation did not happen."""
    return Check(name, value, f">= {low:g}", bool(value >= low), digits)


def at_most(name: str, value: float, most: float, digits: int = 2) -> Check:
    return Check(name, value, f"<= {most:g}", bool(value <= most), digits)


def within(name: str, value: float, band: tuple[float, float], digits: int = 2) -> Check:
    low, high = band
    return Check(name, value, f"{low:.3g} … {high:.3g}", bool(low <= value <= high), digits)


@dataclass(frozen=True)
class Segment:
    """A part of a session in which what each flow should get does not change."""

    from_s: float
    to_s: float
    fair_bps: float
    falls: bool
    """The fair share fell at its beginning."""

    @property
    def label(self) -> str:
        return f"{self.from_s:g}–{self.to_s:g} s"


def segments(steps: Sequence[tuple[float, float]], end_s: float, flows: int, max_bps: float) -> list[Segment]:
    """Of a capacity that steps, shared by ``flows`` calls, none of which takes more than ``max_bps``."""
    found: list[Segment] = []
    before = 0.0
    for (from_s, bps), to_s in zip(steps, [*(time for time, _ in steps[1:]), end_s], strict=True):
        fair = min(bps / flows, max_bps)
        found.append(Segment(from_s, to_s, fair, falls=fair < before))
        before = fair
    return found


def settle_s(flow: Flow, segment: Segment) -> float:
    """Seconds into a segment until the flow's rate is steady for the rest of it; inf where it never is."""
    rate = window(flow.smoothed(criteria.STEADY_WINDOW_S), segment.from_s, segment.to_s) / segment.fair_bps
    good = (rate >= criteria.STEADY_BAND[0]) & (rate <= criteria.STEADY_BAND[1])
    left = np.arange(good.size, 0, -1)
    share = np.cumsum(good[::-1])[::-1] / left
    steady = np.flatnonzero(good & (share >= criteria.STEADY_HOLD))
    return float(steady[0] * BIN_S) if steady.size else float("inf")


def swings(rate: Array, fair_bps: float) -> int:
    """Turns of a smoothed rate by more than ``SWING_RATIO`` of the fair share."""
    threshold = criteria.SWING_RATIO * fair_bps
    turns, direction = 0, 0
    low = high = rate[0] if rate.size else 0.0
    for value in rate:
        if np.isnan(value):
            continue
        low, high = min(low, value), max(high, value)
        if direction >= 0 and high - value > threshold:
            turns, direction, low, high = turns + (direction > 0), -1, value, value
        elif direction <= 0 and value - low > threshold:
            turns, direction, low, high = turns + (direction < 0), 1, value, value
    return turns


def outside_drops(array: Array, parts: Sequence[Segment], start_s: float) -> Array:
    """The bins outside the grace period after a fall of the capacity, and after the flow began."""
    keep = np.ones(array.size, dtype=bool)
    keep[: round(start_s / BIN_S)] = False
    for part in parts:
        if part.falls:
            keep[round(part.from_s / BIN_S) : round((part.from_s + criteria.DROP_GRACE_S) / BIN_S)] = False
    return array[keep]


def variable_capacity(flow: Flow, parts: Sequence[Segment], name: str = "") -> list[Check]:
    """Case 5.1's figures for one flow: it finds each capacity, uses it, and stays there with a short queue."""
    of = f" {name}" if name else ""
    checks = []
    for part in parts:
        stop_s = min(part.to_s, flow.stop_s)
        use = flow.mean_bps(stop_s - criteria.UTILISATION_WINDOW_S, stop_s) / part.fair_bps
        checks.append(at_least(f"use of the share{of}, end of {part.label}", use, criteria.MIN_UTILISATION))
        limit = criteria.SETTLE_AFTER_DROP_S if part.falls else criteria.SETTLE_AFTER_RISE_S
        live = Segment(max(part.from_s, flow.start_s), stop_s, part.fair_bps, part.falls)
        checks.append(at_most(f"settled{of} in {part.label} (s)", settle_s(flow, live), limit, 1))
    turns = 0
    for part in parts:
        settled = part.from_s + (criteria.SETTLE_AFTER_DROP_S if part.falls else criteria.SETTLE_AFTER_RISE_S)
        if settled < part.to_s:
            turns += swings(window(flow.smoothed(criteria.STEADY_WINDOW_S), settled, part.to_s), part.fair_bps)
    checks.append(at_most(f"swings{of} while steady", turns, criteria.MAX_SWINGS - 1, 0))
    return [*checks, *path_checks(flow, parts, name)]


def path_checks(flow: Flow, parts: Sequence[Segment], name: str = "") -> list[Check]:
    """Queue and loss outside of falls."""
    of = f" {name}" if name else ""
    queue = outside_drops(flow.queue_ms, parts, flow.start_s)
    queue = queue[~np.isnan(queue)]
    lost = outside_drops(np.nan_to_num(flow.loss_ratio) * np.nan_to_num(flow.sending_bps), parts, flow.start_s)
    sent = outside_drops(np.nan_to_num(flow.sending_bps), parts, flow.start_s)
    p95 = float(np.percentile(queue, 95)) if queue.size else float("nan")
    return [
        at_most(f"queue p95{of} outside falls (ms)", p95, criteria.MAX_QUEUE_P95_MS, 0),
        at_most(f"loss{of} outside falls", float(lost.sum() / max(sent.sum(), 1.0)), criteria.MAX_LOSS_RATIO, 3),
    ]


def ratios(calls: Sequence[Flow], from_s: float, to_s: float, band: tuple[float, float]) -> Check:
    """The largest ratio of two flows' rates, over windows of 20 s."""
    furthest = 1.0
    starts = np.arange(from_s, max(to_s - criteria.RATIO_WINDOW_S, from_s) + 1e-9, 1.0)
    for start in starts:
        rates = [call.mean_bps(start, min(start + criteria.RATIO_WINDOW_S, to_s)) for call in calls]
        for one, other in combinations(rates, 2):
            ratio = max(one, other) / max(min(one, other), 1.0)
            furthest = max(furthest, ratio)
    return at_most(f"ratio of rates over {criteria.RATIO_WINDOW_S:g} s, {from_s:g}–{to_s:g} s", furthest, band[1])


def never_starved(call: Flow, min_bps: float, from_s: float, name: str) -> Check:
    """The longest time a flow is below its minimum, as 1 s means."""
    rate = window(rolling(call.receiver_bps, 1.0), from_s, call.stop_s)
    longest = current = 0
    for below in rate < criteria.MINIMUM_SHARE * min_bps:
        current = current + 1 if below else 0
        longest = max(longest, current)
    return at_most(f"longest below the minimum {name} (s)", longest * BIN_S, criteria.STARVED_S, 1)


def above_minimum(call: Flow, min_bps: float, from_s: float, name: str) -> Check:
    """Share of the seconds in which a flow has its minimum."""
    rate = window(call.receiver_bps, from_s, call.stop_s)
    seconds = rate[: rate.size // 10 * 10].reshape(-1, 10).mean(axis=1)
    return at_least(
        f"seconds with the minimum rate {name}",
        float((seconds >= criteria.MINIMUM_SHARE * min_bps).mean()),
        criteria.ABOVE_MINIMUM_TIME,
    )


def reached_s(call: Flow, share_bps: float, from_s: float, to_s: float) -> float:
    """Seconds from ``from_s`` until the 2 s mean reaches a rate; inf where it does not."""
    rate = window(call.smoothed(criteria.STEADY_WINDOW_S), from_s, to_s)
    there = np.flatnonzero(rate >= share_bps)
    return float(there[0] * BIN_S) if there.size else float("inf")


def worst(per_seed: Sequence[Sequence[Check]]) -> Verdict:
    """One verdict of several seeds: of each figure the worst."""
    chosen = []
    for same in zip(*per_seed, strict=True):
        failing = [check for check in same if not check.passed]
        pool = failing or list(same)
        has_minimum = pool[0].mark.startswith(">=")
        chosen.append((min if has_minimum else max)(pool, key=lambda check: check.value))
    return Verdict(tuple(chosen))
