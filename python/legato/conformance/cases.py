"""The cases: the scenario that each runs, its question, and the figures that answer it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from legato.conformance import criteria, rfc8869
from legato.conformance.case import MAX_BPS, MIN_BPS, Case, Judge, Sessions
from legato.conformance.flows import Flow, Session, jain, rolling, window
from legato.conformance.judge import (
    Check,
    Segment,
    above_minimum,
    at_least,
    at_most,
    never_starved,
    path_checks,
    ratios,
    reached_s,
    segments,
    variable_capacity,
    within,
)

_Y51 = ((0.0, 1e6), (40.0, 2.5e6), (60.0, 0.6e6), (80.0, 1e6))
_Y52 = ((0.0, 4e6), (25.0, 2e6), (50.0, 3.5e6), (75.0, 1e6), (100.0, 2e6))
_Y53 = ((0.0, 2e6), (20.0, 1e6), (40.0, 0.5e6), (60.0, 2e6))
_B53 = ((0.0, 2e6), (35.0, 0.8e6), (70.0, 2e6))


def _one_flow(session: Session, _others: Sessions) -> list[Check]:
    (call,) = session.calls
    return variable_capacity(call, segments(_Y51, call.stop_s, 1, MAX_BPS))


def _two_flows(session: Session, _others: Sessions) -> list[Check]:
    parts = segments(_Y52, session.duration_s, 2, MAX_BPS)
    checks: list[Check] = []
    for call in session.calls:
        checks += variable_capacity(call, parts, call.name)
        checks.append(never_starved(call, MIN_BPS, 5.0, call.name))
    return [*checks, ratios(session.calls, criteria.SETTLE_AFTER_RISE_S, session.duration_s, criteria.RATIO_BAND)]


def _feedback(session: Session, others: Sessions) -> list[Check]:
    forward, reverse = session.calls
    ((reference,),) = (other.calls for other in others.values())

    def share(from_s: float, to_s: float) -> float:
        return forward.mean_bps(from_s, to_s) / max(reference.mean_bps(from_s, to_s), 1.0)

    free = (share(5, 35) * 30 + share(70, 99) * 29) / 59
    return [
        at_least("rate against free feedback, 5–35 and 70–99 s", free, criteria.FEEDBACK_GOODPUT),
        at_least("the same while feedback is congested, 35–70 s", share(35, 70), criteria.FEEDBACK_GOODPUT_CONGESTED),
        never_starved(forward, MIN_BPS, 5.0, "forward"),
        never_starved(reverse, MIN_BPS, 5.0, "reverse"),
    ]


def _three(session: Session, _others: Sessions) -> list[Check]:
    fair = 3.5e6 / 3
    third = session.calls[2]
    joined = reached_s(third, criteria.LATE_JOINER_SHARE * fair, 40.0, 40.0 + criteria.LATE_JOINER_S)
    rates = [call.mean_bps(80, 119) for call in session.calls]
    use = sum(rates) / 3.5e6
    return [
        at_most("third flow has half its share after (s)", joined, criteria.LATE_JOINER_S, 1),
        at_least("use of the link, 80–119 s", use, criteria.MIN_UTILISATION),
        ratios(session.calls, 80.0, 119.0, criteria.RATIO_BAND_LATE),
        at_least("Jain's index, 80–119 s", jain(rates), criteria.JAIN_SAME_RTT),
        *path_checks(third, [Segment(0.0, 119.0, fair, falls=False)]),
    ]


def _round_trips(session: Session, _others: Sessions) -> list[Check]:
    rates = [call.mean_bps(200, 299) for call in session.calls]
    return [
        at_least("Jain's index, 200–299 s", jain(rates), criteria.JAIN_RTT),
        at_most("largest rate over smallest, 200–299 s", max(rates) / max(min(rates), 1.0), criteria.MAX_RATIO_RTT, 1),
        at_least("use of the link, 200–299 s", sum(rates) / 4e6, criteria.MIN_UTILISATION),
        *path_checks(session.calls[4], [Segment(0.0, 299.0, 0.8e6, falls=False)]),
    ]


def _long_tcp(session: Session, _others: Sessions) -> list[Check]:
    (call,), (tcp,) = session.calls, session.traffic
    return [
        above_minimum(call, MIN_BPS, 10.0, "beside TCP"),
        at_least("TCP's share of the link", tcp.mean_bps(10, 119) / 2e6, criteria.TCP_SHARE),
        at_least("the call's rate (Mbit/s)", call.mean_bps(20, 119) / 1e6, MIN_BPS / 1e6),
    ]


def _short_tcp(session: Session, _others: Sessions) -> list[Check]:
    checks: list[Check] = []
    burst = _bursts(session)
    for call in session.calls:
        checks.append(above_minimum(call, MIN_BPS, 10.0, call.name))
        checks.append(
            at_most(f"back to 0.8 after bursts {call.name} (s)", _recovery_s(call, burst), criteria.RECOVERY_S, 1)
        )
    return [*checks, ratios(session.calls, 30.0, 299.0, criteria.RATIO_BAND)]


def _bursts(session: Session) -> list[tuple[float, float]]:
    """When the short flows together took more than a quarter of the link, as 1 s means, after the first half minute."""
    together = np.sum([np.nan_to_num(flow.receiver_bps) for flow in session.traffic], axis=0)
    busy = np.nan_to_num(rolling(together, 1.0)) > 0.5e6
    found: list[tuple[float, float]] = []
    for at in np.flatnonzero(busy):
        time = at * 0.1
        if time < 30.0:
            continue
        if found and time - found[-1][1] <= 2.0:
            found[-1] = (found[-1][0], time)
        else:
            found.append((time, time))
    return found


def _recovery_s(call: Flow, bursts: Sequence[tuple[float, float]]) -> float:
    """The longest that a flow took back to 0.8 of its rate before a burst, counted from the burst's end."""
    longest = 0.0
    for n, (begin, end) in enumerate(bursts):
        before = call.mean_bps(begin - 6.0, begin - 1.0)
        until = bursts[n + 1][0] if n + 1 < len(bursts) else call.stop_s
        until = min(until, end + criteria.RECOVERY_S + 5.0)
        took = reached_s(call, criteria.RECOVERY_SHARE * before, end, until)
        # The next burst came first: unknown whether the rate would have recovered.
        if np.isinf(took) and until - end < criteria.RECOVERY_S:
            continue
        longest = max(longest, took)
    return longest


def _pause(session: Session, _others: Sessions) -> list[Check]:
    first, second, third = session.calls
    share = criteria.PAUSE_REACH_SHARE * min(1.75e6, MAX_BPS)
    alone = [reached_s(call, share, 40.0, 60.0) for call in (first, third)]
    rates = [call.mean_bps(90, 119) for call in session.calls]
    paused = window(second.sending_bps, 42.0, 60.0)
    resumed = reached_s(second, 0.5 * 3.5e6 / 3, 60.0, 60.0 + criteria.RESUME_FAIR_S)
    return [
        at_most("first flow at 0.9 of its maximum after (s)", alone[0], criteria.PAUSE_REACH_S, 1),
        at_most("third flow at 0.9 of its maximum after (s)", alone[1], criteria.PAUSE_REACH_S, 1),
        at_most("sent while paused (kbit/s)", float(np.nanmean(paused)) / 1e3, 20.0, 1),
        at_most("second flow has half its share again after (s)", resumed, criteria.RESUME_FAIR_S, 1),
        at_least("Jain's index, 90–119 s", jain(rates), criteria.JAIN_SAME_RTT),
    ]


def _priority(session: Session, _others: Sessions) -> list[Check]:
    first, *others = (call.mean_bps(80, 119) for call in session.calls)
    ratio = first / max(sum(others) / len(others), 1.0)
    return [
        within("first flow's rate over the others' mean, 80–119 s", ratio, criteria.PRIORITY_RATIO),
        at_least("use of the link, 80–119 s", (first + sum(others)) / 3.5e6, criteria.MIN_UTILISATION),
    ]


def _two_bottlenecks(session: Session, _others: Sessions) -> list[Check]:
    long, first, second = session.calls
    both = [(long.mean_bps(60, 299) + other.mean_bps(60, 299)) for other in (first, second)]
    return [
        at_least("use of A-B, 60–299 s", both[0] / 2e6, criteria.BOTTLENECK_UTILISATION),
        at_least("use of C-D, 60–299 s", both[1] / 1.5e6, criteria.BOTTLENECK_UTILISATION),
        *(never_starved(call, MIN_BPS, 10.0, call.name) for call in session.calls),
    ]


def _case(key: str, title: str, asks: str, judge: Judge, bps: float) -> Case:
    """A case whose scenario has the name of its section, over links of one capacity."""
    return Case(key, title, asks, f"rfc8867/{key.replace('.', '_')}", judge, ((0.0, bps),))


def _with_free_feedback(way: str) -> tuple[Case, Case]:
    """Section 5.3, and the run with an unimpaired feedback path it is compared with."""
    reference = Case(
        f"5.3{way}-reference",
        f"Free feedback path (what 5.3{way} is compared with)",
        "Nothing by itself: the rate with an unimpaired feedback path.",
        f"rfc8867/5_3_{way}_reference",
        lambda session, _others: [
            at_least("rate (Mbit/s)", session.calls[0].mean_bps(5, 99) / 1e6, MIN_BPS / 1e6),
        ],
        _Y53,
        link_is_known=way == "a",
    )
    congested = Case(
        f"5.3{way}",
        "Congested feedback, media both ways",
        "Cope with feedback that is late or lost behind the other's media.",
        f"rfc8867/5_3_{way}",
        _feedback,
        _Y53,
        link_is_known=way == "a",
        needs=(reference.key,),
    )
    return reference, congested


_FINDS = "Detect the capacity, converge to it, no unwanted oscillation near it."
_BASIC: tuple[Case, ...] = (
    *(
        Case(
            f"5.1{way}-{delay}",
            f"Variable capacity, one flow, {delay} ms forward",
            _FINDS,
            f"rfc8867/5_1_{way}_{delay}ms",
            _one_flow,
            _Y51,
            link_is_known=way == "a",
        )
        for way in "ab"
        for delay in (50, 100)
    ),
    *(
        Case(
            f"5.2{way}{delay and f'-{delay}'}",
            f"Variable capacity, two flows, {delay or 50} ms forward",
            "Near the maximum when there is plenty; fall with the capacity, rise with it again, share it.",
            f"rfc8867/5_2_{way}{delay and f'_{delay}ms'}",
            _two_flows,
            _Y52,
        )
        for way in "ab"
        for delay in ("", "100")
    ),
    *(case for way in "ab" for case in _with_free_feedback(way)),
    _case(
        "5.4",
        "Three flows of one kind",
        "Converge to equal shares with the lowest delay and loss.",
        _three,
        3.5e6,
    ),
    _case("5.5", "Round-trip fairness", "Converge fast and fairly whatever the round trip.", _round_trips, 4e6),
    *(
        Case(
            f"5.6-{queue}",
            f"A long TCP flow, queue of {queue} ms",
            "No collapse; at worst the minimum media rate, and TCP lives too.",
            f"rfc8867/5_6_{queue}ms",
            _long_tcp,
            ((0.0, 2e6),),
        )
        for queue in (300, 1000)
    ),
    _case(
        "5.7",
        "Ten short TCP flows",
        "Never below the minimum; back to the earlier rate after a burst.",
        _short_tcp,
        2e6,
    ),
    _case(
        "5.8", "Media pauses and resumes", "The others take what is free; all return to equal shares.", _pause, 3.5e6
    ),
)

_ECN_QUEUE = {"forward.queue.kind": "codel", "reverse.queue.kind": "codel"}
_ECN = {**_ECN_QUEUE, "sender.ecn": "ect0", "receiver.feedback": "ccfb"}

_WITH_ECN = ("5.1a-50", "5.2a", "5.3a", "5.4", "5.5", "5.6-300", "5.7", "5.8")
"""Each basic case once, in its first way of being run."""


def _with_ecn(case: Case) -> tuple[Case, Case]:
    """Section 6.2: a basic case behind a queue that marks, and behind the same queue without ECN."""
    number = case.key
    plain = Case(
        f"6.2-{number}-plain",
        f"{case.title}, CoDel without ECN (what 6.2-{number} is compared with)",
        "Nothing by itself: the same queue, which drops.",
        case.scenario,
        lambda session, _others: [
            at_least("rate of the first flow (Mbit/s)", session.calls[0].mean_bps(5, 60) / 1e6, 0.0),
        ],
        case.steps,
        options=_ECN_QUEUE,
    )
    marked = Case(
        f"6.2-{number}",
        f"{case.title}, with ECN",
        "Must not fail, and be no worse than without ECN.",
        case.scenario,
        _no_worse(plain.key, number == "5.8"),
        case.steps,
        options=_ECN,
        needs=(plain.key,),
    )
    return plain, marked


def _no_worse(plain: str, pauses: bool) -> Judge:
    def judge(session: Session, others: Sessions) -> list[Check]:
        def queue(of: Session) -> float:
            return float(np.nanmean([np.nanmean(call.queue_ms) for call in of.calls]))

        def total(of: Session) -> float:
            return sum(call.mean_bps(call.start_s + 5, call.stop_s) for call in of.calls)

        more_ms = queue(session) - queue(others[plain])
        share = total(session) / max(total(others[plain]), 1.0)
        return [
            at_most("mean queue more than without ECN (ms)", more_ms, criteria.ECN_QUEUE_SLACK_MS, 1),
            at_least("rate against that without ECN", share, criteria.ECN_RATE_SHARE),
            # A call that pauses starves by choice.
            *(
                never_starved(call, MIN_BPS, call.start_s + 5, call.name)
                for call in session.calls
                if not (pauses and call is session.calls[1])
            ),
        ]

    return judge


CASES: tuple[Case, ...] = (
    *_BASIC,
    _case("6.1", "Priorities", "The first flow has about twice the others' rate.", _priority, 3.5e6),
    *(pair for case in _BASIC if case.key in _WITH_ECN for pair in _with_ecn(case)),
    _case("6.3", "Two bottlenecks in a row", "Both full, no call starved.", _two_bottlenecks, 1.5e6),
    *rfc8869.CASES,
)
"""Every case, in the order of the RFCs; each after the cases it refers to."""
