"""CLCC's Figure 7: room to climb, a cliff, room again. What the paper says of one run, over twelve links.

The paper: CLCC climbs faster than GCC and HRCC, cuts deeper at the cliff, and holds its rate once the picture gains
nothing. Its link is not printed; ours differ in the round trip and in how deep the cliff is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from legato.plan import Choice, Plan
from legato.results.query import query, summary_rows
from legato.results.stats import grouped_mean
from legato_studies.papers.clcc.setups import ENCODER, GCC, HRCC, OWN, SETUPS, STRETCH_S, TABLE_II, Setup
from legato_studies.papers.reproduction import Row
from legato_studies.papers.verdict import Lead

TABLE, TABLE_OF_TABLE_II = "Fig. 7", "Fig. 7, Table II"
CLIFF_S, RECOVERY_S = 20.0, 30.0
HIGH_BPS = 3_000_000
LOWS_BPS = (400_000, 600_000, 1_000_000)
ONE_WAY_MS = (10.0, 25.0, 50.0, 100.0)
DRAWN = (50.0, 600_000)
"""The link of the page's charts."""
CLIMBED_BPS = 1_000_000


@dataclass(frozen=True)
class Behaviour:
    """The three things that the paper says of Figure 7, of one call."""

    setup: str
    network: str
    controller: str
    climb_s: float
    """When the target first reaches 1 Mbit/s; the cliff's time if it never does before."""
    lowest_bps: float
    """Of the target, within 5 s of the cliff."""
    late_rise_ratio: float
    """How much the target rose over the last 5 s before the cliff."""


def name(setup: Setup, one_way_ms: float, low_bps: int) -> str:
    """Of a link's run folder."""
    return f"{setup.name} Fig. 7, {one_way_ms:g} ms, {low_bps // 1000} kbps"


def plans_of(setup: Setup, quick: bool) -> dict[str, Plan]:
    """The runs, by name: one link each."""
    links = [(one_way_ms, low_bps) for one_way_ms in ONE_WAY_MS for low_bps in LOWS_BPS]
    return {name(setup, *link): _plan(setup, *link) for link in ([DRAWN] if quick else links)}


def _plan(setup: Setup, one_way_ms: float, low_bps: int) -> Plan:
    options = {
        "duration_s": STRETCH_S,
        "forward.capacity": {"steps": [[0.0, HIGH_BPS], [CLIFF_S, low_bps], [RECOVERY_S, HIGH_BPS]]},
        "forward.propagation_ms": one_way_ms,
        "reverse.propagation_ms": one_way_ms,
        **ENCODER,
        **setup.options,
    }
    how: dict[str, Any] = {"controllers": setup.specs, "clips": setup.clips[:1], "log": "series"}
    return Choice("steps", options=options, **how).plan()


def series(folder: Path) -> dict[str, dict[str, list[list[float | None]]]]:
    """Target, capacity, resolution and delay over time, by controller."""
    names = {"target_bps": "target_bitrate_bps"}
    names |= {name: name for name in ("capacity_bps", "one_way_delay_ms", "height", "receiver_rate_bps")}
    made: dict[str, dict[str, list[list[float | None]]]] = {}
    for call in summary_rows(folder):
        rows = query(folder, f"select time_ms / 1e3 as s, * from series where call = {call['call']} order by s")
        made[call["controller"]] = {name: [[row["s"], row[column]] for row in rows] for name, column in names.items()}
    return made


def behaviour(setup: str, network: str, controller: str, target: Sequence[Sequence[Any]]) -> Behaviour:
    """Of a call whose target was this over time."""
    targets = [(time_s, bps) for time_s, bps in target if bps is not None]
    climbed = [time_s for time_s, bps in targets if bps >= CLIMBED_BPS and time_s < CLIFF_S]
    after = [bps for time_s, bps in targets if CLIFF_S <= time_s < CLIFF_S + 5.0]
    before = [bps for time_s, bps in targets if CLIFF_S - 5.0 <= time_s < CLIFF_S]
    return Behaviour(
        setup,
        network,
        controller,
        climbed[0] if climbed else CLIFF_S,
        min(after),
        before[-1] / before[0] - 1.0,
    )


_CLAIMS = (
    ("reaches 1 Mbit/s sooner than {} by (s)", "climb_s", "sooner", False, 1.0),
    ("lowest target in 5 s after the cliff, minus {}'s (kbit/s)", "lowest_bps", "lower", True, 1e-3),
    ("rise over the last 5 s before the cliff, minus {}'s (% points)", "late_rise_ratio", "slower", True, 100.0),
)
"""Name, figure, the printed text, whether ours is to be below, and the factor of values."""


def judge(found: Sequence[Behaviour]) -> list[Row]:
    """A row per behaviour, rival and set-up, with an interval over links."""
    return [
        row
        for own in (OWN, TABLE_II)
        for setup in SETUPS
        for rival in (GCC, HRCC)
        for row in _rows(found, setup, own, rival)
    ]


def _rows(found: Sequence[Behaviour], setup: Setup, own: str, rival: str) -> Iterator[Row]:
    of = {(each.network, each.controller): each for each in found if each.setup == setup.name}
    theirs = setup.rivals[rival]
    links = [network for network, controller in of if controller == own and (network, theirs) in of]
    if not links:
        return
    table = TABLE if own == OWN else TABLE_OF_TABLE_II
    for title, figure, printed, below, scale in _CLAIMS:
        pairs = [(getattr(of[link, own], figure), getattr(of[link, theirs], figure)) for link in links]
        sign = scale if below else -scale
        ours = grouped_mean((link, sign * (a - b)) for link, (a, b) in zip(links, pairs, strict=True))
        claim = Lead(more_is_better=not below)
        values = {name: scale * sum(pair[at] for pair in pairs) / len(pairs) for at, name in enumerate((own, theirs))}
        yield Row.judged(
            table,
            title.format(rival),
            printed,
            ours,
            claim,
            values=values,
            setup=setup.name,
        )
