"""The parts of the page that need no script: the facts at the head, the table, the definitions."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from legato.eval.stats import Estimate
from legato.report.metrics import KEY_METRICS, Metric
from legato.report.store import Store
from legato.report.tables import Summary, TableRow

_MAX_SEEDS = 6


def facts(store: Store, summary: Summary) -> str:
    """What was run, as the pairs of a definition list."""
    counted = store.rows("SELECT count(DISTINCT trace), count(DISTINCT clip) FROM summary")[0]
    duration = store.column("duration_s")
    low, high = store.rows(f"SELECT min({duration}), max({duration}) FROM summary")[0]
    planned = f" of {summary.calls_planned:,}" if not summary.complete else ""
    pairs = [
        ("calls", f"{summary.calls_found:,}{planned}"),
        ("controllers", f"{len(summary.rows):,}"),
        ("traces", f"{counted[0]:,}"),
        ("clips", f"{counted[1]:,}"),
        ("seeds", _seeds(store)),
    ]
    if low is not None:
        pairs.append(("length", f"{low:g} s" if low == high else f"{low:g}–{high:g} s"))
    pairs.append(("version", ", ".join(dict.fromkeys(run.version for run in store.runs))))
    return "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs)


def table_html(summary: Summary, markers: Sequence[tuple[int, int]]) -> str:
    """Controllers × metrics; every cell carries its figures as data for sorting and for CSV."""
    shown = sorted(summary.metrics, key=lambda metric: metric.column not in KEY_METRICS)
    head = "".join(_head(metric) for metric in shown)
    body = "".join(
        _row(row, shown, colour, row.controller == summary.baseline and len(summary.rows) > 1)
        for row, (colour, _) in zip(summary.rows, markers, strict=True)
    )
    return (
        '<table id="means"><thead><tr><th scope="col" aria-sort="none"><button type="button">controller</button></th>'
        f'<th scope="col" aria-sort="none"><button type="button">calls</button></th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def definition_list(summary: Summary) -> str:
    """Each figure of the table with its column and definition."""
    items = "".join(
        f"<dt>{escape(m.label)}{f' <small>{escape(m.unit)}</small>' if m.unit else ''} <code>{m.column}</code></dt>"
        f"<dd>{escape(m.definition)}</dd>"
        for m in summary.metrics
    )
    return f'<dl class="definitions">{items}</dl>'


def _seeds(store: Store) -> str:
    seeds = list(dict.fromkeys(seed for run in store.runs for seed in run.names("seeds")))
    if not seeds:
        seeds = [str(row[0]) for row in store.rows("SELECT DISTINCT seed FROM summary ORDER BY seed")]
    if len(seeds) <= _MAX_SEEDS:
        return ", ".join(seeds)
    return f"{len(seeds):,} ({seeds[0]} … {seeds[-1]})"


def _head(metric: Metric) -> str:
    unit = f"<small>{escape(metric.unit)}</small>" if metric.unit else "<small>&nbsp;</small>"
    arrow = {"higher": " ↑", "lower": " ↓", "neither": ""}[metric.better]
    return (
        f'<th scope="col" aria-sort="none" class="{_kind(metric)}" data-column="{metric.column}" '
        f'title="{escape(metric.definition, quote=True)}"><button type="button">{escape(metric.label)}{unit}'
        f"<i>{arrow}</i></button></th>"
    )


def _row(row: TableRow, metrics: Sequence[Metric], colour: int, is_baseline: bool) -> str:
    mark = ' <span class="baseline">baseline</span>' if is_baseline else ""
    cells = "".join(_cell(m, row.estimates[m.column], row.differences.get(m.column)) for m in metrics)
    return (
        f'<tr><th scope="row" data-value="{escape(row.controller, quote=True)}"><span class="swatch c{colour}"></span>'
        f'{escape(row.controller)}{mark}</th><td data-value="{row.calls}">{row.calls:,}</td>{cells}</tr>'
    )


def _cell(metric: Metric, estimate: Estimate, difference: Estimate | None) -> str:
    data = _data("value", estimate.mean) + _data("low", estimate.low) + _data("high", estimate.high)
    text = f"<b>{metric.shown(estimate.mean)}</b>"
    if estimate.low is not None:
        text += f"<small>{metric.shown(estimate.low)} … {metric.shown(estimate.high)}</small>"
    if difference is not None and difference.mean is not None:
        data += _data("difference", difference.mean)
        data += _data("difference-low", difference.low) + _data("difference-high", difference.high)
        text += _difference(metric, difference)
    return f'<td class="{_kind(metric)}"{data}>{text}</td>'


def _difference(metric: Metric, difference: Estimate) -> str:
    sign = "+" if (difference.mean or 0) > 0 else ""
    verdict, mark = "", ""
    if difference.excludes_zero() and metric.better != "neither":
        good = ((difference.mean or 0) > 0) == (metric.better == "higher")
        verdict, mark = (" better", "▲ ") if good else (" worse", "▼ ")
    interval = ""
    if difference.low is not None:
        interval = f"<small>{metric.shown(difference.low)} … {metric.shown(difference.high)}</small>"
    return f'<span class="difference{verdict}">{mark}{sign}{metric.shown(difference.mean)}{interval}</span>'


def _kind(metric: Metric) -> str:
    return "key" if metric.column in KEY_METRICS else "extra"


def _data(name: str, value: float | None) -> str:
    return "" if value is None else f' data-{name}="{value:.6g}"'
