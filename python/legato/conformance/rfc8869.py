"""RFC 8869's cases, as far as a simulator without a radio can have them: approximations, and named so.

Wi-Fi (section 3): stations share the airtime of one queue. Cellular (section 2): a bearer of its own in a recorded
LTE cell, with the load of other users at that time.
"""

from __future__ import annotations

import numpy as np

from legato.conformance import criteria
from legato.conformance.case import MAX_BPS, MIN_BPS, Case, Judge, Sessions
from legato.conformance.flows import Session, jain
from legato.conformance.judge import Check, at_least, at_most, never_starved

AIR_BPS = 20e6
WIRED_BPS = 1e6
UDP_BPS = 0.3e6


def _wired(parts: list[tuple[float, float, float]]) -> Judge:
    """(from s, to s, what is left for the first call): the wired link is the bottleneck, one each way."""

    def judge(session: Session, _others: Sessions) -> list[Check]:
        first, *others = session.calls
        checks = []
        for from_s, to_s, bps in parts:
            use = first.mean_bps(from_s, to_s) / bps
            checks.append(at_least(f"use of what is left, {from_s:g}–{to_s:g} s", use, criteria.MIN_UTILISATION))
        for call in others:
            use = call.mean_bps(30, 119) / WIRED_BPS
            checks.append(at_least(f"use the other way {call.name}", use, criteria.MIN_UTILISATION))
        return [*checks, *(never_starved(call, MIN_BPS, 10.0, call.name) for call in session.calls)]

    return judge


def _beside_tcp(session: Session, _others: Sessions) -> list[Check]:
    (call,), (tcp,) = session.calls, session.traffic
    return [
        never_starved(call, MIN_BPS, 10.0, call.name),
        at_least("TCP's share of the link", tcp.mean_bps(10, 119) / WIRED_BPS, criteria.TCP_SHARE),
    ]


def _air(parts: list[tuple[float, float, float]]) -> Judge:
    """(from s, to s, what is left for calls): sixteen calls share the air."""

    def judge(session: Session, _others: Sessions) -> list[Check]:
        checks = []
        for from_s, to_s, bps in parts:
            rates = [call.mean_bps(from_s, to_s) for call in session.calls]
            use = sum(rates) / min(bps, len(rates) * 1.5e6)
            checks.append(at_least(f"use of what is left, {from_s:g}–{to_s:g} s", use, criteria.WIRELESS_UTILISATION))
            checks.append(at_least(f"Jain's index, {from_s:g}–{to_s:g} s", jain(rates), criteria.JAIN_RTT))
        starved = max(never_starved(call, MIN_BPS, 20.0, "").value for call in session.calls)
        checks.append(at_most("longest below the minimum of any (s)", starved, criteria.STARVED_S, 1))
        return checks

    return judge


def _cell(session: Session, _others: Sessions) -> list[Check]:
    (call,) = session.calls
    capacity = np.minimum(call.capacity_bps, 1.5e6)
    live = slice(round(35 / 0.1), round(60 / 0.1))
    available = float(np.nanmean(capacity[live]))
    delay_ms = call.figures["frame_delay_p95_ms"] or np.inf
    return [
        at_least("use of the cell, 35–60 s", call.mean_bps(35, 60) / available, criteria.CELL_UTILISATION),
        at_most("frame delay p95, encoded to decodable (ms)", delay_ms, criteria.CELL_FRAME_DELAY_MS, 0),
        at_most("packet loss", call.figures["loss_ratio"] or 0.0, criteria.CELL_LOSS_RATIO, 3),
    ]


def _wifi(key: str, what: str, judge: Judge, available: float) -> Case:
    return Case(
        f"8869-{key}",
        f"Wi-Fi, approximated: {what}",
        "A fair share each; react to what comes and goes.",
        f"rfc8869/{key[:3].replace('.', '_')}_{key[3:].replace('-', '_')}",
        judge,
        ((0.0, available),),
    )


_LEFT_EARLY = [(20.0, 60.0, WIRED_BPS - UDP_BPS), (80.0, 119.0, WIRED_BPS)]
_LEFT_LATE = [(20.0, 60.0, WIRED_BPS), (80.0, 119.0, WIRED_BPS - UDP_BPS)]
_FIVE_UDP = 10e6

CASES: tuple[Case, ...] = (
    *(
        Case(
            f"8869-{section}-{rtt}",
            f"Cellular, approximated: {what}, RTT {rtt} ms",
            "A usable call in a cell whose rate moves.",
            f"rfc8869/{section.replace('.', '_')}_{rtt}ms",
            _cell,
            (),
            link_is_known=True,
        )
        for section, what in (("2.1", "varying load"), ("2.2", "bad coverage"))
        for rtt in (40, 150)
    ),
    _wifi("3.1a", "one call up", _wired([(30.0, 119.0, WIRED_BPS)]), WIRED_BPS),
    _wifi("3.1b", "one up, one down", _wired([(30.0, 119.0, WIRED_BPS)]), WIRED_BPS),
    _wifi("3.1c", "UDP until 60 s", _wired(_LEFT_EARLY), WIRED_BPS),
    _wifi("3.1d", "UDP from 60 s", _wired(_LEFT_LATE), WIRED_BPS),
    _wifi("3.1e", "a long TCP flow", _beside_tcp, WIRED_BPS),
    _wifi("3.2a", "sixteen down", _air([(40.0, 119.0, AIR_BPS)]), AIR_BPS / 16),
    _wifi("3.2b", "sixteen up", _air([(40.0, 119.0, AIR_BPS)]), AIR_BPS / 16),
    _wifi("3.2c", "eight each way", _air([(40.0, 119.0, AIR_BPS)]), AIR_BPS / 16),
    _wifi("3.2d", "UDP until 60 s", _air([(30.0, 60.0, AIR_BPS - _FIVE_UDP), (85.0, 119.0, AIR_BPS)]), AIR_BPS / 16),
    _wifi("3.2e", "UDP from 60 s", _air([(30.0, 60.0, AIR_BPS), (85.0, 119.0, AIR_BPS - _FIVE_UDP)]), AIR_BPS / 16),
    _wifi("3.2f", "TCP from 40 to 80 s", _air([(20.0, 40.0, AIR_BPS), (100.0, 119.0, AIR_BPS)]), AIR_BPS / 16),
    # No call has begun to leave at 109 s; four calls cannot fill the air.
    *(
        _wifi(f"3.2g-{calls}", f"{calls} come and go", _air([(40.0, 109.0, AIR_BPS)]), min(AIR_BPS / calls, MAX_BPS))
        for calls in (4, 8, 12, 16, 20)
    ),
)
