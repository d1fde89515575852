"""RFC 8868's figures as tables of the page: one row per flow, and one per controller for how its flows share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from legato.conformance.figures import FAIR_RATIO, FAIRNESS_WINDOWS_S, FlowFigures, SessionFigures, Statistics

MAX_ROWS = 6
"""With sixteen calls of a kind, shows the first few and how the rest share."""


@dataclass(frozen=True)
class Column:
    """A column of either table."""

    name: str
    hint: str
    cell: Callable[[Any], str]
    """The cell of a flow's figures, or of a window's."""


@dataclass(frozen=True)
class FlowTables:
    """Both tables of one case, by controller; a row is its name and its cells."""

    columns: Sequence[Column]
    rows: Sequence[tuple[str, Sequence[tuple[str, Sequence[str]]]]]
    shown: int
    left_out: int
    """Flows of the longest session that have no row."""
    sharing_columns: Sequence[Column]
    sharing: Sequence[tuple[str, Sequence[str]]]
    """Empty where no two flows share anything."""
    joins: bool
    """A flow joined others: their round trip's growth is the last cell of a row."""
    windows_s: Sequence[float] = FAIRNESS_WINDOWS_S


def tables(found: Mapping[str, SessionFigures]) -> FlowTables:
    """Both tables of one case, of its sessions' figures by controller."""
    rows = [
        (controller, [(_name(flow), [column.cell(flow) for column in _COLUMNS]) for flow in figures.flows[:MAX_ROWS]])
        for controller, figures in found.items()
    ]
    longest = max((len(figures.flows) for figures in found.values()), default=0)
    columns = _sharing_columns(found)
    joins = any(figures.rtt_growth_ratio is not None for figures in found.values())
    sharing = [(controller, _sharing_cells(figures, columns, joins)) for controller, figures in found.items()]
    left_out = max(longest - MAX_ROWS, 0)
    return FlowTables(_COLUMNS, rows, MAX_ROWS, left_out, columns, sharing if columns else [], joins)


def _name(flow: FlowFigures) -> str:
    plain = flow.kind == "call" or flow.kind.startswith(flow.name.split(" ")[0])
    return flow.name if plain else f"{flow.name} ({flow.kind})"


def _sharing_columns(found: Mapping[str, SessionFigures]) -> list[Column]:
    every = [row for figures in found.values() for row in figures.fairness]
    columns = []
    if any(row.worst_ratio is not None for row in every):
        columns += [
            Column("furthest", "largest ratio of two calls' rates in any window", lambda row: _ratio(row.worst_ratio)),
            Column(
                f"≤ {FAIR_RATIO:g}",
                f"windows in which no two calls were further apart than {FAIR_RATIO:g}",
                lambda row: _digits(row.within_ratio, 100, 0, " %"),
            ),
            Column("Jain", "mean of Jain's index over the windows", lambda row: _digits(row.jain_mean_ratio, 1, 2)),
            Column("minimum", "the lowest Jain's index of any window", lambda row: _digits(row.jain_least_ratio, 1, 2)),
        ]
    if any(row.against_tcp_ratio is not None for row in every):
        hint = "a call over a long TCP flow, median of windows"
        columns.append(Column("to TCP", hint, lambda row: _ratio(row.against_tcp_ratio)))
    return columns


def _sharing_cells(figures: SessionFigures, columns: Sequence[Column], joins: bool) -> list[str]:
    by_window = {row.window_s: row for row in figures.fairness}
    cells = [
        column.cell(by_window[window_s]) if window_s in by_window else "—"
        for window_s in FAIRNESS_WINDOWS_S
        for column in columns
    ]
    return [*cells, _ratio(figures.rtt_growth_ratio)] if joins else cells


def _digits(value: float | None, scale: float, digits: int, unit: str = "") -> str:
    return "—" if value is None else f"{value * scale:.{digits}f}{unit}"


def _of(figure: Statistics | None, name: str, scale: float, digits: int) -> str:
    return _digits(figure[name] if figure else None, scale, digits)


def _range(figure: Statistics | None, scale: float, digits: int) -> str:
    low, high = _of(figure, "minimum", scale, digits), _of(figure, "maximum", scale, digits)
    return "—" if figure is None else f"{low}–{high}"


def _ratio(ratio: float | None) -> str:
    return _digits(ratio, 1, 2 if ratio is not None and ratio < 10 else 0)


_COLUMNS = (
    Column("sent", "Mbit/s, all bytes that left", lambda flow: _digits(flow.sending_bps, 1e-6, 2)),
    Column("± sd", "Mbit/s, standard deviation over 200 ms", lambda flow: _of(flow.sending, "std", 1e-6, 2)),
    Column("range", "Mbit/s, lowest and highest over 200 ms", lambda flow: _range(flow.sending, 1e-6, 1)),
    Column("received", "Mbit/s, all bytes that arrived", lambda flow: _digits(flow.receiver_bps, 1e-6, 2)),
    Column("± sd", "Mbit/s, standard deviation over 200 ms", lambda flow: _of(flow.receiving, "std", 1e-6, 2)),
    Column("goodput", "Mbit/s, useful data alone", lambda flow: _digits(flow.goodput_bps, 1e-6, 2)),
    Column("use", "% of the link's capacity", lambda flow: _digits(flow.utilisation_ratio, 100, 0)),
    Column("loss", "% of packets that never arrived", lambda flow: _digits(flow.loss_ratio, 100, 1)),
    Column(
        "residual",
        "% of video packets missing after repair",
        lambda flow: _digits(flow.residual_loss_ratio, 100, 1),
    ),
    Column("delay", "ms one way, mean of packets", lambda flow: _digits(flow.delay_mean_ms, 1, 0)),
    Column("± sd", "ms, standard deviation of the one-way delay", lambda flow: _digits(flow.delay_std_ms, 1, 0)),
    Column("range", "ms, lowest and highest mean of 100 ms", lambda flow: _range(flow.delay, 1, 0)),
    Column("p95", "ms one way", lambda flow: _digits(flow.delay_p95_ms, 1, 0)),
    Column("feedback", "kbit/s of RTCP", lambda flow: _digits(flow.feedback_bps, 1e-3, 0)),
    Column(
        "swings ×4",
        "passages of the sending rate from half to twice its 10 s mean, or back, within 0.5 s",
        lambda flow: _digits(flow.swings, 1, 0),
    ),
    Column("×2", "from 0.71 to 1.41 of that mean, or back, within 5 s", lambda flow: _digits(flow.near_swings, 1, 0)),
)
