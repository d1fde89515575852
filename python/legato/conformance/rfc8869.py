"""RFC 8869's cases, as far as a simulator without a radio can have them: approximations, and named so.

Wi-Fi (section 3): stations share the airtime of one queue. Cellular (section 2): a dedicated bearer in a recorded LTE
cell, with the load of other users at that time; down and up, with and without active queue management.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from legato.conformance import criteria
from legato.conformance.case import MAX_BPS, MIN_BPS, Case, Judge, Sessions
from legato.conformance.flows import Session, jain
from legato.conformance.judge import Check, at_least, at_most, never_starved

AIR_BPS = 20e6
WIRED_BPS = 1e6
UDP_BPS = 0.3e6


def _wired(parts: list[tuple[float, float, float]]) -> Judge:
    """(from s, to s, the rest for the first call): the wired link is the bottleneck, one each way."""

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
    """(from s, to s, the rest for calls): sixteen calls share the air."""

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


def _wifi(key: str, what: str, judge: Judge, available: float, options: Mapping[str, Any] | None = None) -> Case:
    of = key[:3].replace(".", "_"), key[3] if options is None else key[5]
    return Case(
        f"8869-{key}",
        f"Wi-Fi, approximated: {what}",
        "A fair share each; react to what comes and goes.",
        f"rfc8869/{'_'.join(of)}",
        judge,
        ((0.0, available),),
        options=options or {},
    )


# [rfc8869] §3.2 g: calls come within the first 10 s and leave within the last. Drawn once, evenly; a series of N takes
# the first N.
_LIVES = (
    (4.4, 117.0), (9.4, 117.1), (5.2, 114.8), (1.8, 113.6), (9.4, 117.8), (9.2, 117.2), (1.8, 118.9), (7.1, 117.8),
    (8.9, 112.2), (9.1, 117.0), (1.8, 110.1), (9.1, 117.6), (9.1, 116.7), (5.4, 113.3), (8.4, 117.4), (6.3, 115.4),
    (1.8, 113.1), (6.6, 111.2), (2.7, 111.8), (8.0, 111.8),
)  # fmt: skip
_UP, _DOWN = ["air", "up"], ["down", "air"]
_WAYS = {"a": (_DOWN,), "b": (_UP,)}
"""The ways of the media in turn; half each way where it is not said."""


def _series() -> Iterator[Case]:
    """Section 3.2 g: each of the cases before it with 4 to 20 calls that come and go."""
    for letter, (what, parts) in _AIR.items():
        ways = _WAYS.get(letter, (_UP, _DOWN))
        for count in (4, 8, 12, 16, 20):
            calls = []
            for n, (start_s, stop_s) in enumerate(_LIVES[:count]):
                way = ways[n % len(ways)]
                back = _DOWN if way is _UP else _UP
                calls.append({"start_s": start_s, "stop_s": stop_s, "route": way, "return_route": back})
            # No call has begun to leave at 109 s.
            until = [(from_s, min(to_s, 109.0), bps) for from_s, to_s, bps in parts]
            share = min(AIR_BPS / count, MAX_BPS)
            name = f"RFC 8869 3.2 g, {letter} with {count} calls (approximated)"
            yield _wifi(
                f"3.2g-{letter}-{count}",
                f"{what}; {count} calls come and go",
                _air(until),
                share,
                {"name": name, "calls": calls},
            )


# A recorded cell's downlink; there is no recorded uplink that may be shipped, so another cell at half the rate replaces
# it.
_UPLINKS = {
    "2.1": ("TMobile-LTE-with-cross-times-static", 0.16),
    "2.2": ("trace-1553201037-ts-walking", 0.05),
}


def _cells() -> Iterator[Case]:
    """Sections 2.1 and 2.2: down and up, active queue management off and on."""
    for section, what in (("2.1", "varying load"), ("2.2", "bad coverage")):
        trace, scale = _UPLINKS[section]
        up = {"forward.capacity.trace": f"../../data/traces/nyc-lte/{trace}.gz", "forward.capacity.scale": scale}
        aqm = {"forward.queue.kind": "codel"}
        for rtt in (40, 150):
            for ending, which, options in (
                ("", "", {}),
                ("-aqm", ", CoDel", aqm),
                ("-up", ", uplink", up),
                ("-up-aqm", ", uplink, CoDel", {**up, **aqm}),
            ):
                yield Case(
                    f"8869-{section}-{rtt}{ending}",
                    f"Cellular, approximated: {what}, RTT {rtt} ms{which}",
                    "A usable call in a cell whose rate moves.",
                    f"rfc8869/{section.replace('.', '_')}_{rtt}ms",
                    _cell,
                    (),
                    options=options,
                    link_is_known=True,
                )


_LEFT_EARLY = [(20.0, 60.0, WIRED_BPS - UDP_BPS), (80.0, 119.0, WIRED_BPS)]
_LEFT_LATE = [(20.0, 60.0, WIRED_BPS), (80.0, 119.0, WIRED_BPS - UDP_BPS)]
_FIVE_UDP = 10e6
_AIR: Mapping[str, tuple[str, list[tuple[float, float, float]]]] = {
    "a": ("all down", [(40.0, 119.0, AIR_BPS)]),
    "b": ("all up", [(40.0, 119.0, AIR_BPS)]),
    "c": ("half each way", [(40.0, 119.0, AIR_BPS)]),
    "d": ("UDP until 60 s", [(30.0, 60.0, AIR_BPS - _FIVE_UDP), (85.0, 119.0, AIR_BPS)]),
    "e": ("UDP from 60 s", [(30.0, 60.0, AIR_BPS), (85.0, 119.0, AIR_BPS - _FIVE_UDP)]),
    "f": ("TCP from 40 to 80 s", [(20.0, 40.0, AIR_BPS), (100.0, 119.0, AIR_BPS)]),
}
"""Section 3.2's cases of sixteen calls: the events, and (from s, to s, the rest for calls)."""

CASES: tuple[Case, ...] = (
    *_cells(),
    _wifi("3.1a", "one call up", _wired([(30.0, 119.0, WIRED_BPS)]), WIRED_BPS),
    _wifi("3.1b", "one up, one down", _wired([(30.0, 119.0, WIRED_BPS)]), WIRED_BPS),
    _wifi("3.1c", "UDP until 60 s", _wired(_LEFT_EARLY), WIRED_BPS),
    _wifi("3.1d", "UDP from 60 s", _wired(_LEFT_LATE), WIRED_BPS),
    _wifi("3.1e", "a long TCP flow", _beside_tcp, WIRED_BPS),
    *(
        _wifi(f"3.2{letter}", f"sixteen calls, {what}", _air(parts), AIR_BPS / 16)
        for letter, (what, parts) in _AIR.items()
    ),
    *_series(),
)
