"""RFC 8868's figures as tables of the page: a row a flow, a row a controller for how its flows share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape

from .figures import FAIR_RATIO, FAIRNESS_WINDOWS_S, Fairness, FlowFigures, Told

MAX_ROWS = 6
"""Sixteen calls of one kind beside each other tell no more than the first few and how all share."""


def tables(told: Mapping[str, Told]) -> str:
    """Both tables of one case, by controller, folded away."""
    shares = _shares(told)
    return (
        "<details><summary>Every flow's figures, as RFC 8868 has them</summary>"
        '<p class="caption">Shown, not judged. Rates in Mbit/s, feedback in kbit/s, one-way delay in ms, losses in %. '
        "Swings are passages of the sending rate between watermarks a factor of 4 apart within 0.5 s, and of 2 "
        f"within 5 s.</p>{_flows(told)}{shares}</details>"
    )


_Cell = Callable[[FlowFigures], str]

_COLUMNS: tuple[tuple[str, str, _Cell], ...] = (
    ("sent", "Mbit/s, all bytes that left", lambda flow: _mega(flow.sending_bps)),
    ("received", "Mbit/s, all bytes that arrived", lambda flow: _mega(flow.receiver_bps)),
    ("goodput", "Mbit/s, useful data alone", lambda flow: _mega(flow.goodput_bps)),
    ("loss", "% of packets that never arrived", lambda flow: _percent(flow.loss_ratio)),
    ("residual", "% of video packets missing after repair", lambda flow: _percent(flow.residual_loss_ratio)),
    ("delay", "ms one way, mean of packets", lambda flow: _ms(flow.delay_mean_ms)),
    ("± sd", "ms, standard deviation of the one-way delay", lambda flow: _ms(flow.delay_std_ms)),
    ("p95", "ms one way", lambda flow: _ms(flow.delay_p95_ms)),
    ("feedback", "kbit/s of RTCP", lambda flow: _digits(flow.feedback_bps, 1e-3, 0)),
    (
        "swings ×4",
        "passages of the sending rate from half to twice its 10 s mean, or back, within 0.5 s",
        lambda flow: _count(flow.swings),
    ),
    ("×2", "from 0.71 to 1.41 of that mean, or back, within 5 s", lambda flow: _count(flow.near_swings)),
)


def _flows(told: Mapping[str, Told]) -> str:
    head = "".join(
        f'<th scope="col" title="{escape(title, quote=True)}">{escape(name)}</th>' for name, title, _ in _COLUMNS
    )
    rows = []
    for controller, figures in told.items():
        shown = figures.flows[:MAX_ROWS]
        for n, flow in enumerate(shown):
            first = f'<th scope="rowgroup" rowspan="{len(shown)}">{escape(controller)}</th>' if n == 0 else ""
            cells = "".join(f"<td>{cell(flow)}</td>" for _, _, cell in _COLUMNS)
            kind = "" if flow.kind == "call" or flow.kind.startswith(flow.name.split(" ")[0]) else f" ({flow.kind})"
            rows.append(f'<tr>{first}<th scope="row">{escape(flow.name + kind)}</th>{cells}</tr>')
    longest = max((len(figures.flows) for figures in told.values()), default=0)
    more = f'<p class="caption">The first {MAX_ROWS} of {longest} flows.</p>' if longest > MAX_ROWS else ""
    return (
        f'<div class="scroll"><table class="flows"><thead><tr><th scope="col">controller</th><th scope="col">flow</th>'
        f"{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>{more}"
    )


def _shares(told: Mapping[str, Told]) -> str:
    """How calls share by the length of windows; nothing where no two flows do."""
    every = [row for figures in told.values() for row in figures.fairness]
    if not every:
        return ""
    joins = any(figures.rtt_growth_ratio is not None for figures in told.values())
    growth = (
        '<th scope="col" rowspan="2" title="how a call\'s RTT grew as a flow joined, 10 s means">RTT ×</th>'
        if joins
        else ""
    )
    columns = _share_columns(every)
    windows = "".join(
        f'<th scope="colgroup" colspan="{len(columns)}">over {window_s:g} s</th>' for window_s in FAIRNESS_WINDOWS_S
    )
    head = "".join(f'<th scope="col" title="{escape(title, quote=True)}">{name}</th>' for name, title, _ in columns)
    rows = "".join(
        f'<tr><th scope="row">{escape(controller)}</th>{_share_cells(figures.fairness, columns)}'
        f"{f'<td>{_ratio(figures.rtt_growth_ratio)}</td>' if joins else ''}</tr>"
        for controller, figures in told.items()
    )
    return (
        '<div class="scroll"><table class="flows"><thead><tr><th scope="col" rowspan="2">sharing</th>'
        f"{windows}{growth}</tr>"
        f"<tr>{head * len(FAIRNESS_WINDOWS_S)}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


_Share = tuple[str, str, Callable[[Fairness], str]]


def _share_columns(every: list[Fairness]) -> list[_Share]:
    columns: list[_Share] = []
    if any(row.worst_ratio is not None for row in every):
        columns += [
            ("furthest", "largest ratio of two calls' rates in any window", lambda row: _ratio(row.worst_ratio)),
            (
                f"≤ {FAIR_RATIO:g}",
                f"windows in which no two calls were further apart than {FAIR_RATIO:g}",
                lambda row: _digits(row.within_ratio, 100, 0, " %"),
            ),
            ("Jain", "mean of Jain's index over the windows", lambda row: _digits(row.jain_mean_ratio, 1, 2)),
            ("least", "the least Jain's index of any window", lambda row: _digits(row.jain_least_ratio, 1, 2)),
        ]
    if any(row.against_tcp_ratio is not None for row in every):
        columns.append(
            (
                "to TCP",
                "a call over a long TCP flow, median of windows",
                lambda row: _ratio(row.against_tcp_ratio),
            )
        )
    return columns


def _share_cells(rows: tuple[Fairness, ...], columns: list[_Share]) -> str:
    by_window = {row.window_s: row for row in rows}
    return "".join(
        f"<td>{cell(by_window[window_s]) if window_s in by_window else '—'}</td>"
        for window_s in FAIRNESS_WINDOWS_S
        for _, _, cell in columns
    )


def _digits(value: float | None, scale: float, digits: int, unit: str = "") -> str:
    return "—" if value is None else f"{value * scale:.{digits}f}{unit}"


def _mega(bps: float | None) -> str:
    return _digits(bps, 1e-6, 2)


def _ms(ms: float | None) -> str:
    return _digits(ms, 1, 0)


def _percent(ratio: float | None) -> str:
    return _digits(ratio, 100, 1)


def _ratio(ratio: float | None) -> str:
    return _digits(ratio, 1, 2 if ratio is not None and ratio < 10 else 0)


def _count(count: int | None) -> str:
    return "—" if count is None else str(count)
