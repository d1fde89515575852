"""One self-contained HTML file: its text and its table are made here, its charts in the browser by assets/*.js."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from legato.report import figures, pages, palette, repeat, timelines
from legato.report.live_links import live_links
from legato.report.reading import NAMED, reading
from legato.report.sharing import sharing
from legato.results import headroom
from legato.results.comparison import Summary, summarise
from legato.results.figures import CDF_METRICS, KEY_METRICS, METRICS, TRADE_OFF_METRICS, Metric
from legato.results.run_folder import RunFolder
from legato.results.stats import Estimate
from legato.results.store import Store

MAX_TIMELINES = 60
"""Calls whose time line a report holds by default (about 15 kB each)."""

_D3_VERSION = "7.9.0"
_SCRIPTS = (
    "d3/d3.min.js", "chart.js", "trade_off.js", "distributions.js", "by_trace.js", "sharing.js", "calls.js",
    "gauges.js", "table.js", "main.js",
)  # fmt: skip
_MAX_LISTED = 200
_MAX_SEEDS = 6
_MAX_LATE = 12
_SHORT_TABLE = 12
_FEW_FILES = 6


def write_report(
    folders: Iterable[str | Path] | str | Path,
    out: str | Path,
    *,
    baseline: str | None = None,
    max_timelines: int | None = None,
    late_calls: bool = False,
) -> Path:
    """Write one self-contained HTML report of one or more run folders; returns its path.

    The same folders give the same bytes. The file appears whole or not at all.

    Args:
        folders: run folders that `legato run` or `legato compare` wrote, finished or not.
        out: the file to write; its folder is made if it is not there.
        baseline: the controller that others are compared with; by default `gcc` if it ran, else the first.
        max_timelines: most calls whose time line is embedded, about 15 kB each. Whole conditions are taken, so that
            controllers can be compared; one condition is always kept unless this is 0.
        late_calls: count real calls whose emulated link was late; they are left out otherwise, and named.

    Raises:
        RunFolderError: a folder cannot be read.
        Error: the file cannot be written.
        ControllerError: no such baseline in these folders.
    """
    folders = [folders] if isinstance(folders, str | Path) else list(folders)
    store = Store(folders, late_calls=late_calls)
    known = [column for column in METRICS if column in store.columns]
    # The key figures are kept even where a run lacks them: the reading and the table say so with a dash.
    summary = summarise(store, baseline, list(dict.fromkeys((*KEY_METRICS, *known))))
    most = MAX_TIMELINES if max_timelines is None else max_timelines
    return pages.write(out, "report.html", **_values(store, summary, most))


def _values(store: Store, summary: Summary, max_timelines: int) -> dict[str, Any]:
    sampled = summary.calls_found > figures.MAX_POINTS
    calls = timelines.choose_calls(store, max_timelines)
    lines = timelines.timelines(store, calls)
    kept = [at for at, line in enumerate(lines) if line is not None]
    calls, lines = [calls[at] for at in kept], [lines[at] for at in kept]
    gauges = timelines.gauges(store, calls)
    markers = palette.assign(store.variants)
    live = live_links(store, summary.baseline)
    colours = {row.controller: colour for row, (colour, _) in zip(summary.rows, markers, strict=True)}
    live_rows = [(row, colours[row.controller]) for row in live.summary.rows] if live and live.summary else []
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
    return {
        "store": store,
        "summary": summary,
        "title": ", ".join(dict.fromkeys(run.scenario for run in store.runs)),
        "version": _version(store),
        "d3_version": _D3_VERSION,
        "style": _asset("report.css"),
        "scripts": [_asset(name) for name in _SCRIPTS],
        "data": Markup(timelines.compact(data)),
        "notices": _notices(store, summary),
        "late": _late(store),
        "no_spread": summary.calls_found == 1 or store.none_counts,
        "reading": [
            *([] if store.none_counts else _reading(summary, markers)),
            *([f"{live.said} The other links have a table below."] if live and live_rows else []),
        ],
        "facts": _facts(store, summary),
        "live": live,
        "live_rows": live_rows,
        "repeat": repeat,
        "few_files": _FEW_FILES,
        "rows": [(row, colour) for row, (colour, _) in zip(summary.rows, markers, strict=True)],
        "metrics": sorted(summary.metrics, key=lambda metric: metric.column not in KEY_METRICS),
        "headroom_metrics": [METRICS[column] for column in headroom.MEASURES if column in store.columns],
        "percent": lambda share: f"{share * 100:.0f}".replace("-", "−"),
        # A table that fits on a page is not broken over two.
        "short_table": _SHORT_TABLE,
        "quantiles": figures.QUANTILES,
        "sampled": _drawn_from(summary) if sampled else "",
        "calls": len(calls),
        "bin_ms": lines[0]["bin_ms"] if lines and lines[0] else timelines.SERIES_BIN_MS,
        "gauges": len(gauges),
        "crossed": _crossed,
        "kind": lambda metric: "key" if metric.column in KEY_METRICS else "extra",
        "is_better": _is_better,
        "thousands": lambda number: f"{number:,}",
        "nbsp": "\u00a0",
    }


def _version(store: Store) -> str:
    return ", ".join(dict.fromkeys(run.version for run in store.runs))


def _facts(store: Store, summary: Summary) -> list[tuple[str, str]]:
    """What was run."""
    counted = store.rows("SELECT count(DISTINCT trace), count(DISTINCT clip) FROM summary")[0]
    duration = store.column("duration_s")
    low, high = store.rows(f"SELECT min({duration}), max({duration}) FROM summary")[0]
    planned = f" of {summary.calls_planned:,}" if not summary.complete else ""
    length = [] if low is None else [("length", f"{low:g} s" if low == high else f"{low:g}–{high:g} s")]
    return [
        ("calls", f"{summary.calls_found:,}{planned}"),
        ("controllers", f"{len(summary.rows):,}"),
        ("traces", f"{counted[0]:,}"),
        *([("networks", f"{summary.networks:,}")] if summary.networks != counted[0] else []),
        ("clips", f"{counted[1]:,}"),
        ("seeds", _seeds(store)),
        *length,
        ("version", _version(store)),
    ]


def _seeds(store: Store) -> str:
    seeds = list(dict.fromkeys(seed for run in store.runs for seed in run.names("seeds")))
    if not seeds:
        seeds = [str(row[0]) for row in store.rows("SELECT DISTINCT seed FROM summary ORDER BY seed")]
    if len(seeds) <= _MAX_SEEDS:
        return ", ".join(seeds)
    return f"{len(seeds):,} ({seeds[0]} … {seeds[-1]})"


def _is_better(metric: Metric, difference: Estimate) -> bool | None:
    """Whether a difference is one for the better; None where it is not one, or neither."""
    if not difference.excludes_zero() or metric.better == "neither":
        return None
    return ((difference.mean or 0) > 0) == (metric.better == "higher")


def _reading(summary: Summary, markers: Sequence[tuple[int, int]]) -> list[Markup]:
    colours = {row.controller: colour for row, (colour, _) in zip(summary.rows, markers, strict=True)}

    def named(found: re.Match[str]) -> str:
        return f'<b class="c{colours[str(Markup(found[1]).unescape())]}">{found[1]}</b>'

    paragraphs = (_unbroken(" ".join(sentences)) for sentences in reading(summary))
    return [Markup(NAMED.sub(named, str(escape(text)))) for text in paragraphs if text]


def _unbroken(text: str) -> str:
    # A number stays on the line of its unit.
    return re.sub(r"(?<=\d) (?=%|ms\b|dB\b)", "\u00a0", text)


def _notices(store: Store, summary: Summary) -> list[str]:
    notices = []
    if not summary.complete:
        notices.append(
            f"Incomplete: {summary.calls_found:,} of {summary.calls_planned:,} calls are done. Means are over what is "
            "done and may be over different conditions; paired differences are over shared conditions only."
        )
    if len({run.version for run in store.runs}) > 1:
        notices.append("These folders were written by different versions of Legato.")
    return notices


def _late(store: Store) -> dict[str, Any] | None:
    """Which calls do not count, and whether they are in the figures all the same."""
    late = [
        (f"{run.name}, call" if len(store.runs) > 1 else "Call", one)
        for run, those in zip(store.runs, store.late, strict=True)
        for one in those
    ]
    if not late:
        return None
    of = sum(run.calls for run in store.runs)
    count = "This call does" if of == 1 else f"{len(late)} of {of} calls {'does' if len(late) == 1 else 'do'}"
    what = f"{count} not count."
    them = "it" if len(late) == 1 else "them"
    if store.late_counted:
        then = f"The figures below include {them}, because --late-calls asked for it."
    elif store.none_counts:
        then = "So there are no means. What happened is shown under “Call by call”."
    else:
        then = f"No figure below includes {them}; with legato report --late-calls all do."
    lines = [f"{where} {one.call} ({one.what}): {one.why}." for where, one in late]
    more = [f"… {len(lines) - _MAX_LATE} more"] if len(lines) > _MAX_LATE else []
    return {"what": what, "then": then, "lines": [*lines[:_MAX_LATE], *more]}


def _drawn_from(summary: Summary) -> str:
    return (
        "all calls" if summary.calls_found <= figures.MAX_RANKED else f"a sample of about {figures.MAX_RANKED:,} calls"
    )


def _crossed(run: RunFolder) -> list[tuple[str, str]]:
    """The lists whose product a run made, and how."""
    pairs = []
    for key in ("controllers", "traces", "clips", "seeds"):
        names = run.names(key)
        more = f" … {len(names):,} in all" if len(names) > _MAX_LISTED else ""
        pairs.append((key, (", ".join(names[:_MAX_LISTED]) + more) or "–"))
    return [*pairs, ("log", str(run.manifest.get("log", "–"))), ("version", run.version)]


def _asset(name: str) -> Markup:
    path = resources.files(__package__).joinpath("assets", *name.split("/"))
    return Markup(path.read_text(encoding="utf-8").rstrip("\n"))
