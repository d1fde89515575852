"""One self-contained HTML file: the page's words and its table are written here, its charts by assets/*.js."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from legato.errors import RunFolderError
from legato.report import figures, palette, timelines
from legato.report.markup import definition_list, facts, table_html
from legato.report.metrics import CDF_METRICS, KEY_METRICS, METRICS, TRADE_OFF_METRICS
from legato.report.reading import NAMED, reading
from legato.report.repeat import command
from legato.report.run_folder import RunFolder
from legato.report.sharing import sharing
from legato.report.store import Store
from legato.report.tables import Summary, summarise_store

MAX_TIMELINES = 60
"""Calls whose time line a report holds unless told otherwise (about 15 kB each)."""

_D3_VERSION = "7.9.0"
_SCRIPTS = (
    "d3/d3.min.js", "chart.js", "trade_off.js", "distributions.js", "by_trace.js", "sharing.js", "calls.js",
    "gauges.js", "table.js", "main.js",
)  # fmt: skip
_MAX_LISTED = 200
_SHORT_TABLE = 12


def write(
    run_dirs: Iterable[str | Path] | str | Path,
    out_html: str | Path,
    baseline: str | None = None,
    max_timelines: int = MAX_TIMELINES,
) -> Path:
    """Writes the report on one run folder, or on several merged, and returns the path of the file.

    The same folders give the same bytes. The file appears whole or not at all.

    Args:
        run_dirs: folders that `legato run` or `legato compare` wrote, finished or not.
        out_html: the file to write; its folder is made if it is not there.
        baseline: the controller that others are compared with; by default `gcc` if it ran, else the first.
        max_timelines: calls whose time line is embedded, about 15 kB each. Whole conditions are taken, so that
            controllers can be compared; one condition is always kept unless this is 0.

    Raises:
        RunFolderError: a folder that cannot be read, or a file that cannot be written.
        ControllerError: no such baseline in these folders.
    """
    run_dirs = [run_dirs] if isinstance(run_dirs, str | Path) else list(run_dirs)
    store = Store(run_dirs)
    known = [column for column in METRICS if column in store.columns]
    # The key figures are kept even where a run lacks them: the reading and the table say so with a dash.
    summary = summarise_store(store, baseline, list(dict.fromkeys((*KEY_METRICS, *known))))
    page = _fill(_asset("page.html"), _page(store, summary, max_timelines))
    return _write_whole(Path(out_html), page)


def _page(store: Store, summary: Summary, max_timelines: int) -> dict[str, str]:
    sampled = summary.calls_found > figures.MAX_POINTS
    calls = timelines.choose_calls(store, max_timelines)
    lines = timelines.timelines(store, calls)
    kept = [at for at, line in enumerate(lines) if line is not None]
    calls, lines = [calls[at] for at in kept], [lines[at] for at in kept]
    gauges = timelines.gauges(store, calls)
    markers = palette.assign(store.variants)
    data = {
        "controllers": [
            {"name": name, "colour": colour, "marker": marker}
            for name, (colour, marker) in zip(store.variants, markers, strict=True)
        ],
        "baseline": store.variants.index(summary.baseline),
        "metrics": {
            column: {"label": METRICS[column].label, "unit": METRICS[column].unit, "better": METRICS[column].better,
                     "digits": METRICS[column].digits}
            for column in dict.fromkeys((*TRADE_OFF_METRICS, *CDF_METRICS))
        },
        "trade_off": [column for column in TRADE_OFF_METRICS if column in store.columns],
        "distributions": [column for column in CDF_METRICS if column in store.columns],
        "points": figures.points(store, summary.calls_found),
        "quantiles": figures.quantiles(store, summary.calls_found) if sampled else None,
        "calls": [
            {"variant": store.variants.index(call.variant), "trace": call.trace, "family": call.family,
             "clip": call.clip, "seed": call.seed, "run": call.run, "call": call.call,
             "duration_s": call.duration_s, "flow": call.flow, "line": line}
            for call, line in zip(calls, lines, strict=True)
        ],
        "sharing": sharing(store) if max_timelines > 0 else [],
        "gauges": gauges,
    }  # fmt: skip
    scenarios = list(dict.fromkeys(run.scenario for run in store.runs))
    return {
        "title": escape(", ".join(scenarios)),
        "version": escape(", ".join(dict.fromkeys(run.version for run in store.runs))),
        "d3_version": _D3_VERSION,
        "style": _asset("report.css"),
        "notices": _notices(store, summary),
        "reading": _reading(summary, markers),
        "facts": facts(store, summary),
        "command": "".join(_command(run) for run in store.runs),
        # One call has no spread to show.
        "across_hidden": " hidden" if summary.calls_found == 1 else "",
        "distributions_note": _quantiles_note(summary) if sampled else "",
        # A table that fits on a page is not broken over two.
        "figures_class": ' class="short"' if len(summary.rows) <= _SHORT_TABLE else "",
        "table_caption": _table_caption(summary),
        "table": table_html(summary, markers),
        "calls_caption": _calls_caption(summary, len(calls), lines),
        "gauges_note": _gauges_note(len(gauges), len(calls)),
        "scenarios": "".join(_scenario(run) for run in store.runs),
        "folders": "".join(_folder(run) for run in store.runs),
        "definitions": definition_list(summary),
        "statistics": _statistics(summary),
        "data": timelines.compact(data),
        "scripts": "\n".join(f"<script>{_asset(name)}</script>" for name in _SCRIPTS),
    }


def _reading(summary: Summary, markers: Sequence[tuple[int, int]]) -> str:
    colours = {row.controller: colour for row, (colour, _) in zip(summary.rows, markers, strict=True)}

    def named(found: re.Match[str]) -> str:
        return f'<b class="c{colours[found[1]]}">{escape(found[1])}</b>'

    paragraphs = (_unbroken(" ".join(sentences)) for sentences in reading(summary))
    return "".join(
        f'<p class="reading">{NAMED.sub(named, escape(text, quote=False))}</p>' for text in paragraphs if text
    )


def _unbroken(text: str) -> str:
    # A number stays on the line of its unit.
    return re.sub(r"(?<=\d) (?=%|ms\b|dB\b)", "\u00a0", text)


def _notices(store: Store, summary: Summary) -> str:
    notices = []
    if not summary.complete:
        notices.append(
            f"Incomplete: {summary.calls_found:,} of {summary.calls_planned:,} calls are done. Means are over what is "
            "done and may be over different conditions; paired differences are over shared conditions only."
        )
    if len({run.version for run in store.runs}) > 1:
        notices.append("These folders were written by different versions of Legato.")
    return "".join(f'<p class="notice">{escape(notice)}</p>' for notice in notices)


def _quantiles_note(summary: Summary) -> str:
    of = "all calls" if summary.calls_found <= figures.MAX_RANKED else f"a sample of about {figures.MAX_RANKED:,} calls"
    return f" Drawn from {figures.QUANTILES} quantiles of {of}."


def _table_caption(summary: Summary) -> str:
    pairing = ""
    if len(summary.rows) > 1:
        pairing = (
            f" Below it, the difference to <b>{escape(summary.baseline)}</b> over the conditions both met: "
            '<span class="better">▲ better</span>, <span class="worse">▼ worse</span> where the paired 95 % interval '
            "leaves zero out, grey where it does not."
        )
    return f"Mean over calls, and its 95 % bootstrap interval.{pairing}"


def _calls_caption(summary: Summary, shown: int, lines: Sequence[dict[str, Any] | None]) -> str:
    if shown == 0:
        return '<p class="caption">No time lines: this run logged summaries only (log = "summary").</p>'
    part = (
        "" if shown >= summary.calls_found
        else f" Time lines of {shown:,} of {summary.calls_found:,} calls are in this file, traces in turn."
    )  # fmt: skip
    bin_ms = lines[0]["bin_ms"] if lines and lines[0] else timelines.SERIES_BIN_MS
    return (
        '<p class="caption">One condition at a time, controllers above each other on the same axes, in bins of '
        f'{bin_ms} ms.{part}<span class="screen"> Drag to zoom, double-click to see all. What is chosen here is '
        "what is printed.</span></p>"
    )


def _gauges_note(with_gauges: int, shown: int) -> str:
    return f"Of {with_gauges} calls, the first of each controller." if 0 < with_gauges < shown else ""


def _statistics(summary: Summary) -> str:
    text = (
        f"<p>{escape(summary.method[0].upper() + summary.method[1:])}. Differences to the baseline are taken within "
        "each condition, and every resample draws the same conditions for both, so that what makes a trace or a clip "
        "hard cancels.</p>"
        "<p>The intervals speak of conditions like these. Calls that share a trace are not independent: as a claim "
        "about other traces the intervals are too narrow. They are not corrected for the number of comparisons.</p>"
    )
    if summary.conditions is None:
        text += (
            "<p>With this many calls, blocks stand in for conditions; points of the trade-off plot are a sample, "
            "taken by whole conditions.</p>"
        )
    return text


def _command(run: RunFolder) -> str:
    return f'<pre class="code"><code>{escape(command(run))}</code></pre>'


def _scenario(run: RunFolder) -> str:
    text = run.scenario_toml
    head = f"<h3>{escape(run.scenario)}</h3>"
    if text is None:
        return f"{head}<p>The folder holds no scenario text.</p>"
    return f'{head}<pre class="code"><code>{escape(text)}</code></pre>'


def _folder(run: RunFolder) -> str:
    rows = []
    for key in ("controllers", "traces", "clips", "seeds"):
        names = run.names(key)
        shown = ", ".join(names[:_MAX_LISTED]) + (f" … {len(names):,} in all" if len(names) > _MAX_LISTED else "")
        rows.append(f"<dt>{key}</dt><dd>{escape(shown or '–')}</dd>")
    rows.append(f"<dt>log</dt><dd>{escape(str(run.manifest.get('log', '–')))}</dd>")
    rows.append(f"<dt>version</dt><dd>{escape(run.version)}</dd>")
    return f'<h3>{escape(run.name)}</h3><dl class="crossed">{"".join(rows)}</dl>'


def _fill(template: str, values: dict[str, str]) -> str:
    # In one pass: text that was put in is never searched for places to fill.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", *name.split("/")).read_text(encoding="utf-8").rstrip("\n")


def _write_whole(path: Path, text: str) -> Path:
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise RunFolderError(f"{path}: cannot be written: {error.strerror}") from error
    return path
