"""Writes docs/measured/belief.md: how often the link's true rate is below the quantiles that `legato` believes in.

    python -m legato_studies.pages belief [--files N]

`legato` plays live windows of files that neither it nor its belief was tuned on. Every 100 ms its quantiles are
compared with the link's mean rate over the next 100 ms, and over the next 500 ms.
"""

from __future__ import annotations

import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from legato import _core
from legato.links import HELD_OUT, LEGATO, files, live_windows, middles
from legato.plan import Choice, shipped
from legato.report import chart
from legato.report.pages import Section
from legato.results.query import query
from legato.results.stats import Estimate, grouped_mean
from legato.runs.sweep import sweep
from legato_studies.page import Found, Options, Page
from legato_studies.pages.gcc_profiles import WINDOW_S

PICTURE = "belief.svg"
CLIPS = ("foreman", "asl-sister")
WINDOWS_PER_FILE = 2
BIN_S = 0.1
WARM_UP_BINS = 20
"""The first 2 s show how a call starts, not its belief."""
PARTS = (10, 50, 90)
HORIZONS = (1, 5)
"""In bins."""
ASKED_POINTS = 5.0
CROSS = "ibox"
GAUGES = (*(f"belief_p{part}_bps" for part in PARTS), "legato_capacity_bps")


class Call(NamedTuple):
    """One call, a row per bin of 100 ms."""

    family: str
    file: str
    rates: np.ndarray
    """Of the link, in bit/s."""
    left: np.ndarray
    """The same without what cross traffic takes."""
    gauges: np.ndarray
    """A column for each of `GAUGES`."""


def links(most: int) -> list[tuple[str, Path, str]]:
    """Family, file and trace spec of live windows of the files that nothing was tuned on."""
    found = []
    for family in sorted(shipped.trace_families()):
        for path in middles(LEGATO.of(files(family), HELD_OUT), most):
            found += [(family, path, spec) for spec in live_windows(path)[:WINDOWS_PER_FILE]]
    return found


def called(chosen: Sequence[tuple[str, Path, str]]) -> list[Call]:
    """`legato` on each link with each clip."""
    made = Choice(
        "cellular",
        options={"duration_s": float(WINDOW_S)},
        controllers=["legato"],
        traces=[spec for *_, spec in chosen],
        clips=[str(shipped.profile(clip)) for clip in CLIPS],
        log="series",
    ).plan()
    calls = []
    with tempfile.TemporaryDirectory() as folder:
        run = sweep(made, Path(folder) / "run").folder
        for number in range(made.sessions):
            family, path, spec = chosen[number // len(CLIPS)]
            capacities = query(run, f"SELECT capacity_bps FROM series WHERE call = {number} ORDER BY time_ms")
            rates = np.array([row["capacity_bps"] for row in capacities], float)
            left = rates - cross_bps(path, spec, len(rates)) if family == CROSS else rates
            calls.append(Call(family, str(path), rates, left, held(run, number, len(rates))))
    return calls


def held(run: Path, call: int, bins: int) -> np.ndarray:
    """The gauges of a call by bin; NaN before the first."""
    table = np.full((bins, len(GAUGES)), np.nan)
    for row in query(run, f"SELECT name, time_ms, value FROM gauges WHERE call = {call}"):
        at = int(row["time_ms"] / 1e3 / BIN_S + 0.5)
        if row["name"] in GAUGES and at < bins:
            table[at, GAUGES.index(row["name"])] = row["value"]
    return table


def cross_bps(path: Path, spec: str, bins: int) -> np.ndarray:
    """What cross traffic sends in the window of a trace spec, in bit/s."""
    window = dict(part.split("=") for part in spec.rsplit("@", 1)[1].split(","))
    cross = _core.load_trace(str(path)).cross_traffic_bps(BIN_S)
    if cross is None:
        return np.zeros(bins)
    start, length = (int(float(window[key]) / BIN_S + 0.5) for key in ("start_s", "duration_s"))
    return np.resize(cross[start : start + length], bins) * float(window["scale"])


def ahead(rates: np.ndarray, bins: int) -> np.ndarray:
    """Means over `bins` bins, beginning with each; NaN where the call is over."""
    sums = np.concatenate([[0.0], np.cumsum(rates)])
    means = np.full(len(rates), np.nan)
    means[: len(rates) - bins + 1] = (sums[bins:] - sums[:-bins]) / bins
    return means


def covered(call: Call, rates: np.ndarray, bins: int) -> np.ndarray:
    """How often the link's rate is not above each gauge, in percent."""
    true = ahead(rates, bins)[WARM_UP_BINS:, None]
    known = ~np.isnan(true[:, 0]) & ~np.isnan(call.gauges[WARM_UP_BINS:]).any(axis=1)
    return np.asarray(100 * (true[known] <= call.gauges[WARM_UP_BINS:][known]).mean(axis=0))


def coverage(calls: Sequence[Call], bins: int, *, left: bool = False) -> list[Estimate]:
    """Of each gauge, with intervals over files."""
    found = [(call.file, covered(call, call.left if left else call.rates, bins)) for call in calls]
    return [grouped_mean([(file, float(each[n])) for file, each in found]) for n in range(len(GAUGES))]


def width(calls: Sequence[Call]) -> float:
    """The median of the 90 % quantile over the 10 % quantile."""
    return float(np.median(np.concatenate([(c.gauges[:, 2] / c.gauges[:, 0])[WARM_UP_BINS:] for c in calls])))


def families(calls: Sequence[Call]) -> dict[str, list[Call]]:
    """Calls by family, in the order of their names."""
    return {name: [c for c in calls if c.family == name] for name in sorted({c.family for c in calls})}


def said(estimate: Estimate) -> str:
    """A percentage with its interval."""
    if estimate.mean is None:
        return ""
    if estimate.low is None or estimate.high is None:
        return f"{estimate.mean:.1f}"
    return f"{estimate.mean:.1f} ({max(estimate.low, 0.0):.0f} to {min(estimate.high, 100.0):.0f})"


def covers(calls: Sequence[Call], bins: int) -> Section:
    """A table of coverage, a row for each family and one for the mean over families."""
    rows = []
    for name, own in families(calls).items():
        kinds = [(f"`{name}`", False)] if name != CROSS else [(f"`{name}`", False), (f"`{name}`, what is left", True)]
        for title, left in kinds:
            *quantiles, capacity = map(said, coverage(own, bins, left=left))
            rows.append([title, str(len({c.file for c in own})), *quantiles, f"{width(own):.2f}", capacity])
    means = family_means(calls, bins)
    rows.append(["mean of families", "", *(f"**{value:.1f}**" for value in means[:3]), "", f"{means[3]:.1f}"])
    columns = ["links", "files", "10 %", "50 %", "90 %", "p90 / p10", "capacity"]
    return Section("", columns=columns, rows=rows)


def family_means(calls: Sequence[Call], bins: int) -> list[float]:
    """Coverage, each family counting once."""
    each = [[estimate.mean for estimate in coverage(own, bins)] for own in families(calls).values()]
    return [float(value) for value in np.mean(np.array(each, float), axis=0)]


def verdicts(calls: Sequence[Call]) -> Mapping[str, str]:
    """By family, which quantiles are further off than is asked."""
    off = {}
    for name, own in families(calls).items():
        wrong = [
            f"{part} % covers {estimate.mean:.0f}"
            for part, estimate in zip(PARTS, coverage(own, 1), strict=False)
            if estimate.mean is not None and abs(estimate.mean - part) > ASKED_POINTS
        ]
        if wrong:
            off[name] = ", ".join(wrong)
    return off


def reliability(calls: Sequence[Call]) -> str:
    """What each quantile says, and how often the link passes less: the diagonal is honest."""
    names = ["as it should be", "mean of families", "each family"]
    lines = [
        chart.Line("c2", [(0.0, 0.0), *zip(PARTS, each, strict=True), (100.0, 100.0)]) for each in by_family(calls)
    ]
    mean = family_means(calls, 1)[:3]
    lines.append(chart.Line("c1", [(0.0, 0.0), *zip(map(float, PARTS), mean, strict=True), (100.0, 100.0)]))
    lines.append(chart.Line("c0", [(0.0, 0.0), (100.0, 100.0)]))
    axes = chart.Axes(lines, title="how often the link passes less, %, by what the quantile says", height=320)
    return chart.figure([axes], title="Reliability of the belief of legato", names=names, unit=" %")


def by_family(calls: Sequence[Call]) -> list[list[float]]:
    """The three coverages of each family."""
    return [[float(e.mean or 0.0) for e in coverage(own, 1)[:3]] for own in families(calls).values()]


def play(options: Options) -> Found:
    """`legato` on live windows of every family."""
    calls = called(links(options.files))
    means, off = family_means(calls, 1), verdicts(calls)
    worst = max(abs(mean - part) for mean, part in zip(means, PARTS, strict=False))
    met = "met" if worst <= ASKED_POINTS else "not met"
    beyond = "; ".join(f"`{name}` ({what})" for name, what in off.items()) or "none"
    verdict = (
        f"Asked: within {ASKED_POINTS:g} points. In the mean of families: **{met}**, at most {worst:.1f} points off."
        f" Families that are further off, each by itself: {beyond}."
    )
    said = textwrap.fill(verdict, 120, break_on_hyphens=False, break_long_words=False)
    soon, later = (covers(calls, bins) for bins in HORIZONS)
    return Found({"verdict": said, "soon": soon, "later": later}, {PICTURE: reliability(calls)})


PAGE = Page("belief", play, {"--files": {"default": 10, "help": "at most as many of each family"}})
