"""Table 5 of Concerto, its deployment, next to the same figures of the simulated calls of Fig. 19 to 21.

The paper's phones ran side by side for 69 hours on operational networks; nothing of that can be made again. The two
figures that its users logged, throughput and time stalled, are also of every simulated call, so that its direction can
be looked for: less throughput than WebRTC, and less stalling. No recording says how fast its phone moved, so that the
table's rows by motion (static, walking, driving) have no counterpart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from legato_studies.papers.concerto.calls import Call
from legato_studies.papers.concerto.estimates import mean, percent, ratio
from legato_studies.papers.concerto.setups import CONCERTO, WEBRTC, Setup
from legato_studies.papers.reproduction import Row
from legato_studies.papers.verdict import Lead

TABLE = "Table 5"
# [concerto] Table 5, by hours: throughput of WebRTC and of Concerto (Mbit/s), minutes stalled per hour of each.
_PRINTED: Mapping[str, Mapping[int, tuple[float, float, float, float]]] = {
    "4G": {16: (1.34, 1.04, 6.1, 2.1), 32: (1.18, 0.98, 11.3, 3.5), 4: (1.15, 1.02, 19.5, 2.8)},
    "Wi-Fi": {11: (1.24, 1.03, 0.0, 0.0), 6: (0.96, 1.03, 0.1, 0.1)},
}


def printed(access: str) -> tuple[float, float, float, float]:
    """The columns of Table 5, weighted by their hours."""
    hours = sum(_PRINTED[access])
    columns = zip(*([value * time for value in row] for time, row in _PRINTED[access].items()), strict=True)
    first, second, third, fourth = (sum(column) / hours for column in columns)
    return first, second, third, fourth


ALL_THROUGHPUT_PERCENT, ALL_STALLED = -13.1, 1.0 / 3.0
"""[concerto] section 5.4, "averaging over all scenarios": 13.1 % less throughput, stalling time reduced by 3x."""


def judge_deployment(calls: Sequence[Call], setup: Setup) -> list[Row]:
    """Rows of one set-up; the paper's 3G was not deployed."""
    of = {"setup": setup.name}
    rows = []
    for access in _PRINTED:
        here = [call for call in calls if call.access == access]
        webrtc, concerto, webrtc_stalled, concerto_stalled = printed(access)
        why = "a cost that the paper states; simulated here, a deployment there"
        lower = percent(ratio(here, "throughput_bps", CONCERTO, WEBRTC, less_one=True))
        name = f"throughput above webrtc's, {access} (%)"
        rows.append(Row.of(TABLE, name, 100 * (concerto / webrtc - 1.0), lower, "not comparable", why, **of))
        name = f"time stalled over webrtc's, {access}"
        over = ratio(here, "stall_ratio", CONCERTO, WEBRTC)
        if webrtc_stalled > 1.0:
            claim = Lead(concerto_stalled / webrtc_stalled, no_effect=1.0, more_is_better=False)
            rows.append(Row.judged(TABLE, name, concerto_stalled / webrtc_stalled, over, claim, **of))
        else:
            why = "the paper's WebRTC does not stall there"
            rows.append(Row.of(TABLE, name, None, over, "not comparable", why, **of))
        for scheme, minutes in ((WEBRTC, webrtc_stalled), (CONCERTO, concerto_stalled)):
            share = percent(mean(here, "stall_ratio", scheme))
            name = f"time stalled, {scheme}, {access} (%)"
            rows.append(Row.of(TABLE, name, minutes / 0.6, share, "not comparable", "other networks", **of))
    every = [call for call in calls if call.access in _PRINTED]
    lower = percent(ratio(every, "throughput_bps", CONCERTO, WEBRTC, less_one=True))
    name, why = "throughput above webrtc's, 4G and Wi-Fi (%)", "a cost that the paper states"
    rows.append(Row.of(TABLE, name, ALL_THROUGHPUT_PERCENT, lower, "not comparable", why, **of))
    claim = Lead(ALL_STALLED, no_effect=1.0, more_is_better=False)
    over = ratio(every, "stall_ratio", CONCERTO, WEBRTC)
    rows.append(Row.judged(TABLE, "time stalled over webrtc's, 4G and Wi-Fi", ALL_STALLED, over, claim, **of))
    return rows
