"""How flows share the link: the flows of sessions in which calls share it with each other, or with TCP and UDP.

One session per controller, the first of each run folder. Each link is a stack of its output, flow by flow, under its
capacity. The scenario says which flows pass which link. The capacity is the record of calls that pass this link alone,
or the scenario's constant one. Feedback and acknowledgements are not in the stacks: they are not recorded over time.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from legato.report.timelines import SERIES_BIN_MS, deltas
from legato.results.run_folder import RunFolder
from legato.results.store import Store, parquet

MAX_SESSIONS = 12
"""Controllers whose sessions are drawn."""
MAX_LINKS = 2
"""Links drawn of one session: the fullest, and none that is half as full as the first."""
MAX_BINS = 240
"""Points of a stack."""


@dataclass(frozen=True)
class _Flow:
    """One flow of a session; ``call`` is its number where it is a call."""

    name: str
    kind: str
    start_s: float
    stop_s: float
    route: tuple[str, ...]
    call: int | None
    figures: Mapping[str, Any]


def sharing(store: Store) -> list[dict[str, Any]]:
    """Sessions to draw; empty where every call had its links to itself."""
    if "session" not in store.columns:
        return []
    shared: list[dict[str, Any]] = []
    for run_at, run in enumerate(store.runs):
        sessions = store.rows(
            f"SELECT variant, any_value(trace), any_value(clip), any_value(seed), session FROM summary "
            f"WHERE run = {run_at} GROUP BY variant, session ORDER BY session"
        )
        seen: set[str] = set()
        for variant, trace, clip, seed, session in sessions:
            if variant in seen or len(shared) == MAX_SESSIONS:
                continue
            seen.add(variant)
            drawn = _session(store, run, run_at, session)
            if drawn is not None:
                shared.append(
                    {"variant": store.variants.index(variant), "trace": trace, "clip": clip, "seed": seed, **drawn}
                )
    return shared


def _session(store: Store, run: RunFolder, run_at: int, session: int) -> dict[str, Any] | None:
    """The flows and links of one session; None where it has one flow, or no time series."""
    routes = _routes(run.scenario_toml)
    flows = [*_calls(store, run_at, session, routes), *_traffic(store, run, session, routes)]
    calls = [flow.call for flow in flows if flow.call is not None]
    if len(flows) < 2 or run.part("series", calls[0]) is None:
        return None
    end_s = max(flow.stop_s for flow in flows)
    bin_ms = SERIES_BIN_MS * max(1, -(-round(end_s * 1000 / SERIES_BIN_MS) // MAX_BINS))
    bins = -(-round(end_s * 1000) // bin_ms)
    rates = [_rates(store, run, session, flow, bin_ms, bins) for flow in flows]
    links = _links(store, run, flows, rates, bin_ms, bins)
    return {
        "session": session,
        "bin_ms": bin_ms,
        "bins": bins,
        "duration_s": end_s,
        "links": links,
        "flows": [
            {"name": flow.name, "kind": flow.kind, "start_s": flow.start_s, "stop_s": flow.stop_s,
             "rate": deltas(rate), **flow.figures}
            for flow, rate in zip(flows, rates, strict=True)
        ],
    }  # fmt: skip


def _routes(scenario: str | None) -> dict[str, tuple[str, ...]]:
    """Which links each flow passes, by its name; the scenario's own two are ``forward`` and ``reverse``."""
    if scenario is None:
        return {}
    try:
        read = tomllib.loads(scenario)
    except tomllib.TOMLDecodeError:
        return {}
    found = {}
    for kind, name in (("calls", "call"), ("tcp", "tcp"), ("udp", "udp")):
        for number, flow in enumerate(read.get(kind, []), 1):
            route = tuple(flow.get("route", ())) or (flow.get("direction", "forward"),)
            found[flow.get("name", f"{name} {number}")] = route
    return found


def _calls(store: Store, run_at: int, session: int, routes: Mapping[str, tuple[str, ...]]) -> list[_Flow]:
    columns = ("receiver_rate_bps", "goodput_bps", "loss_ratio", "rtx_ratio", "one_way_delay_mean_ms")
    rows = store.rows(
        f"SELECT call, flow, start_s, duration_s, {', '.join(map(store.column, columns))} "
        f"FROM summary WHERE run = {run_at} AND session = {session} ORDER BY call"
    )
    return [
        _Flow(
            name=flow or "call",
            kind="call",
            start_s=start_s,
            stop_s=start_s + duration_s,
            route=routes.get(flow or "call 1", ("forward",)),
            call=call,
            figures=_figures(*figures),
        )
        for call, flow, start_s, duration_s, *figures in rows
    ]


def _traffic(store: Store, run: RunFolder, session: int, routes: Mapping[str, tuple[str, ...]]) -> list[_Flow]:
    parts = sorted(run.path.glob("traffic/*.parquet"))
    if not parts:
        return []
    known = {row[0] for row in store.rows(f"DESCRIBE SELECT * FROM {parquet(parts)}")}
    again = "retransmissions / nullif(packets_sent, 0)" if "retransmissions" in known else "NULL"
    rows = store.rows(
        f"SELECT flow, kind, start_s, stop_s, receiver_rate_bps, goodput_bps, packets_lost / nullif(packets_sent, 0), "
        f"{again}, one_way_delay_mean_ms FROM {parquet(parts)} WHERE session = {session}"
    )
    return [
        _Flow(name, kind, start_s, stop_s, routes.get(name, ("forward",)), None, _figures(*figures))
        for name, kind, start_s, stop_s, *figures in rows
    ]


_FIGURES = {
    "receiver_mbps": 1e-6, "goodput_mbps": 1e-6, "lost_percent": 100.0, "again_percent": 100.0, "delay_ms": 1.0
}  # fmt: skip
"""Columns of the table below a stack, and what a value is multiplied by for display."""


def _figures(*values: float | None) -> dict[str, float | None]:
    """The row of a flow."""
    pairs = zip(_FIGURES.items(), values, strict=True)
    return {name: None if value is None else float(f"{value * scale:.4g}") for (name, scale), value in pairs}


def _rates(store: Store, run: RunFolder, session: int, flow: _Flow, bin_ms: int, bins: int) -> list[int | None]:
    """The arrivals of a flow, in kbit/s, over the session; null where it does not live."""
    start_ms = round(flow.start_s * 1000)
    if flow.call is not None:
        source = f"{parquet(_part(run, 'series', flow.call))} WHERE call = {flow.call}"
    else:
        parts = sorted(run.path.glob("traffic_series/*.parquet"))
        source = f"{parquet(parts)} WHERE session = {session} AND flow = ?"
    # In a bin that a flow enters or leaves, its bytes count over the whole bin: stacks add up.
    found = dict(
        store.rows(
            f"SELECT ({start_ms} + time_ms) // {bin_ms} AS bin, "
            f"round(sum(receiver_rate_bps) * {SERIES_BIN_MS} / {bin_ms} / 1e3)::BIGINT FROM {source} GROUP BY bin",
            *([] if flow.call is not None else [flow.name]),
        )
    )
    return [found.get(at) for at in range(bins)]


def _part(run: RunFolder, table: str, call: int) -> list[Path]:
    part = run.part(table, call)
    return [part] if part is not None else sorted(run.path.glob(f"{table}/*.parquet"))


def _links(
    store: Store,
    run: RunFolder,
    flows: Sequence[_Flow],
    rates: Sequence[Sequence[int | None]],
    bin_ms: int,
    bins: int,
) -> list[dict[str, Any]]:
    """The links that flows share, the fullest first."""
    constant = _constant_links(run.scenario_toml)
    found = []
    for name in dict.fromkeys(link for flow in flows for link in flow.route):
        passing = [at for at, flow in enumerate(flows) if name in flow.route]
        alone = [flow for flow in flows if flow.call is not None and flow.route == (name,)]
        capacity = _capacity(store, run, alone, bin_ms, bins)
        # What calls saw goes before the scenario: a sweep over traces puts another capacity in its place.
        if {value for value in capacity if value is not None} <= {constant.get(name)}:
            capacity = [constant.get(name)] * bins
        known = [at for at in range(bins) if capacity[at]]
        used = sum(rates[flow][at] or 0 for flow in passing for at in known)
        full = used / sum(capacity[at] or 0 for at in known) if known else 0.0
        found.append((full, len(passing), {"name": name, "capacity": deltas(capacity), "flows": passing}))
    # A link of one flow among links that are shared shows nothing of sharing.
    shared = [entry for entry in found if entry[1] > 1] or found
    shared.sort(key=lambda entry: -entry[0])
    return [link for full, _, link in shared[:MAX_LINKS] if full >= shared[0][0] / 2]


def _capacity(store: Store, run: RunFolder, calls: Sequence[_Flow], bin_ms: int, bins: int) -> list[int | None]:
    """The capacity in kbit/s that these calls saw, from any that was active."""
    seen: dict[int, int] = {}
    for flow in calls:
        assert flow.call is not None, "only calls record the capacity"
        rows = store.rows(
            f"SELECT ({round(flow.start_s * 1000)} + time_ms) // {bin_ms} AS bin, "
            f"round(avg(capacity_bps) / 1e3)::BIGINT FROM {parquet(_part(run, 'series', flow.call))} "
            f"WHERE call = {flow.call} AND isfinite(capacity_bps) GROUP BY bin"
        )
        for at, value in rows:
            seen.setdefault(at, value)
    return [seen.get(at) for at in range(bins)]


def _constant_links(scenario: str | None) -> dict[str, int]:
    """Links of a scenario that have one capacity, in kbit/s."""
    try:
        read = tomllib.loads(scenario or "")
    except tomllib.TOMLDecodeError:
        return {}
    links = {link.get("name", ""): link for link in read.get("links", [])}
    links |= {name: read[name] for name in ("forward", "reverse") if name in read}
    return {
        name: round(link["capacity"]["constant_bps"] / 1000)
        for name, link in links.items()
        if "constant_bps" in link.get("capacity", {})
    }
