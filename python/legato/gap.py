"""How far a simulation is from a real call: the same scenario simulated and called, several times, and the differences.

Simulated calls differ by seed; real calls have the same seeds, and differ by chance on the machine as well. Each
figure's difference is that of the means over repeats, with an interval from five repeats on
(:mod:`legato.results.stats`).
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from legato.call.calls import real_calls
from legato.call.ends import End, Session, with_both_ways
from legato.errors import CallError
from legato.plan import Choice, scenarios
from legato.report import chart, pages, repeat
from legato.report.pages import Section
from legato.results.figures import METRICS, Shown
from legato.results.late import late_calls
from legato.results.query import parts, query, summary_rows
from legato.results.stats import FEWEST, Estimate, grouped_mean, of_separate_groups
from legato.runs.run import run
from legato.runs.sweep import check_empty

if TYPE_CHECKING:
    from legato.call.pictures import Pictures
    from legato.call.session import CallProgress

FIGURES = (
    METRICS["target_bitrate_mean_bps"].named("target bitrate", unit="kbit/s", digits=1),
    METRICS["receiver_rate_bps"].named("receiver rate", unit="kbit/s", digits=1),
    METRICS["one_way_delay_p50_ms"].named("packet delay p50"),
    METRICS["one_way_delay_p95_ms"].named("packet delay p95"),
    METRICS["loss_ratio"].named("loss"),
    METRICS["frame_delay_p50_ms"].named("frame delay p50"),
    METRICS["frame_delay_p95_ms"].named("frame delay p95"),
    METRICS["rendered_fps"].named("frames shown", unit="1/s", digits=1),
    METRICS["freezes"].named("freezes"),
    METRICS["qp_mean"].named("quantiser"),
    METRICS["viewed_ssim_db_mean"].named("viewed SSIM"),
)

BROWSER_NACK_INTERVAL_MS = 110.0
"""Measured: Chromium 156, without a round-trip time, requests a packet up to 34 times, 109 to 110 ms apart."""

WITHIN = (("receiver_rate_bps", 0.10, True), ("one_way_delay_p95_ms", 20.0, False), ("loss_ratio", 0.01, False))
"""Of figures: how far called may be from simulated, as a share of it or as it is."""

PHASES_S = (0.0, 0.02, 0.04, 0.06, 0.08)
"""A simulated call meets its trace at each of these times later than the scenario says. Where in a trace the first
packets of a call come is chance, to tens of milliseconds, and a first probe that finds a burst of the link decides the
next seconds. All seeds of a simulation come at the same place.
"""

LINES = (
    ("target_bitrate_bps", "target bitrate", "Mbit/s", 1e-6),
    ("receiver_rate_bps", "receiver rate", "Mbit/s", 1e-6),
    ("one_way_delay_ms", "packet delay", "ms", 1.0),
)
"""Column of the series, its label, unit and factor."""


@dataclass(frozen=True)
class Gap:
    """The two runs, and each figure simulated, called, and their difference (called minus simulated); of one way of
    media, ``flow``, where there are two."""

    simulated: Path
    called: Path
    rows: list[tuple[str, Estimate, Estimate, Estimate]]
    flow: str | None = None

    def apart(self) -> list[tuple[str, str, bool]]:
        """Of each figure of :data:`WITHIN`: its name, the difference of means as text, whether that is too large."""
        means = {column: (before.mean, after.mean) for column, before, after, _ in self.rows}
        shown = {figure.column: figure for figure in FIGURES}
        found = []
        for column, most, is_share in WITHIN:
            before, after = means[column]
            if before is None or after is None:
                found.append((shown[column].title, "–", True))
                continue
            text = shown[column].text(after - before, sign=True)
            if is_share:
                text = f"{100 * (after / before - 1):+.1f} %" if before else "–"
            found.append((shown[column].title, text, abs(after - before) > most * (abs(before) if is_share else 1.0)))
        return found

    def misses(self) -> list[str]:
        """The figures of :data:`WITHIN` whose means are too far apart."""
        return [name for name, _, is_far in self.apart() if is_far]

    def invalid_calls(self) -> int:
        """Calls whose emulated link was late: no figure and no line is of them."""
        return len(rows_of(self.called, self.flow)) - len(counted_rows(self.called, self.flow))

    def way(self) -> str:
        """What names the way: its flow, and the rate controls where a browser's own was called."""
        controllers = [
            "/".join(sorted({row["controller"] for row in rows_of(run, self.flow)}))
            for run in (self.simulated, self.called)
        ]
        differ = "" if len(set(controllers)) == 1 else "{} simulated, {} called".format(*controllers)
        return ": ".join(filter(None, (self.flow, differ)))


def measure(
    scenario: str | Path,
    out: str | Path,
    *,
    repeats: int = 3,
    options: Mapping[str, Any] | None = None,
    controllers: Iterable[str] = (),
    duration_s: float | None = None,
    pictures: Pictures | None = None,
    peers: str = "chromium",
    direction: str = "send",
    resume: bool = False,
    on_progress: Callable[[CallProgress], None] | None = None,
) -> list[Gap]:
    """Simulate a scenario's call and make it, ``repeats`` times each, below ``out``, and write ``out/gap.html``: the
    gap of each way of media.

    ``pictures``, ``peers`` and ``direction`` as of :func:`legato.real_calls`. The near end must be ours and send: a
    browser's rate control is not simulated. With ``direction="both"`` and a browser, the gap of the reverse way
    includes that between the scenario's controller and Chromium's.

    Raises:
        CallError: the near end is not ours, or does not send.
    """
    choice = Choice(scenario, options, list(controllers), seeds=list(range(1, repeats + 1)), duration_s=duration_s)
    session = Session.of(peers, direction)
    if session.near != End.LEGATO or direction == "receive":
        raise CallError(f"a gap is of what we send: peers {peers}, direction {direction} has a browser send")
    out = Path(out)
    check_empty(out, resume=resume)
    alike = as_called(choice.scenario, choice.changes, peers, direction)
    at = phases(*scenarios.read(choice.scenario, choice.changes))
    simulated = run(replace(choice, options=alike, traces=at), out=out / "simulated", resume=resume)
    called = real_calls(
        choice,
        out=out / "called",
        pictures=pictures,
        peers=peers,
        direction=direction,
        resume=resume,
        on_progress=on_progress,
    )
    runs = simulated.folder, called.folder
    flows = dict.fromkeys(row["flow"] for row in summary_rows(called.folder))
    gaps = [Gap(*runs, compare(*runs, flow), flow) for flow in flows]
    write_page(gaps, str(choice.scenario), out / "gap.html")
    return gaps


def as_called(
    scenario: str | Path, options: Mapping[str, Any] | None, peers: str = "chromium", direction: str = "send"
) -> dict[str, Any]:
    """``options`` that make a simulation behave as a call of the scenario does.

    A call begins with the clip's first picture, a simulation anywhere; a call keeps the pictures' size unless the
    scenario says otherwise, a simulation may change it. A browser that sends no media learns no round-trip time, and
    requests a lost packet at fixed intervals. Receivers of WebRTC send feedback by RTCP's rule, whatever the controller
    asks for.
    """
    _, text = scenarios.read(scenario, options)
    table = tomllib.loads(text)
    ways = with_both_ways(text, options) if direction == "both" else dict(options or {})
    adapts = table.get("video", {}).get("adapt_resolution", False)
    pictures = {"video.first_picture": 0, "video.adapt_resolution": adapts}
    feedback = {"receiver.feedback_timing": "rtcp"}
    browser = {"receiver.nack_interval_ms": BROWSER_NACK_INTERVAL_MS} if peers == "chromium" else {}
    return {**ways, **pictures, **feedback, **browser}


def phases(path: Path, text: str) -> list[str]:
    """The scenario's trace at :data:`PHASES_S`, as ``traces`` of a run; none where its link has no trace."""
    capacity = dict(tomllib.loads(text).get("forward", {}).get("capacity", {}))
    trace = capacity.pop("trace", None)
    if trace is None:
        return []
    # The file in the scenario's folder, or else the name of a shipped one.
    file = Path(os.path.normpath(path.parent / trace))
    start_s = float(capacity.pop("start_s", 0.0))
    kept = [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in capacity.items()]
    return [
        ",".join([f"{file if file.exists() else trace}@start_s={start_s + later_s:g}", *kept]) for later_s in PHASES_S
    ]


def pair_rows(gaps: Mapping[str, Gap]) -> list[tuple[str, ...]]:
    """One row per pair: name, differences of :data:`WITHIN` in means, figures too far apart, invalid calls."""
    rows = []
    for name, gap in gaps.items():
        cells = (text for _, text, _ in gap.apart())
        rows.append((name, *cells, ", ".join(gap.misses()) or "none", str(gap.invalid_calls() or "")))
    return rows


def rows_of(folder: Path, flow: str | None) -> list[dict[str, Any]]:
    """The summary of a run's calls, or of those on one way of media."""
    return [row for row in summary_rows(folder) if flow is None or row["flow"] == flow]


def counted_rows(folder: Path, flow: str | None) -> list[dict[str, Any]]:
    """Those of :func:`rows_of` that count."""
    late = {one.call for one in late_calls(folder)}
    return [row for row in rows_of(folder, flow) if row["call"] not in late]


def compare(simulated: Path, called: Path, flow: str | None = None) -> list[tuple[str, Estimate, Estimate, Estimate]]:
    """Every figure of two run folders, or of one way of media in them: its column, simulated, called, difference."""
    runs = [counted_rows(folder, flow) for folder in (simulated, called)]
    found = []
    for column in (figure.column for figure in FIGURES):
        sides = [[_known(row[column]) for row in rows] for rows in runs]
        before, after = (grouped_mean(enumerate(values)) for values in sides)
        # The two kinds of call are not paired, so each is resampled by itself.
        known = [[value for value in values if not math.isnan(value)] for values in sides]
        found.append((column, before, after, of_separate_groups(known, lambda means: means[1] - means[0])))
    return found


def _known(value: float | None) -> float:
    return math.nan if value is None else float(value)


def text_rows(gap: Gap) -> list[tuple[str, ...]]:
    """The table as text: figure, simulated, called, difference with its interval."""
    rows = []
    for figure, (_, before, after, difference) in zip(FIGURES, gap.rows, strict=True):
        label = f"{figure.title} ({figure.unit})" if figure.unit else figure.title
        rows.append((label, *(figure.text(each.mean) for each in (before, after)), _interval(difference, figure)))
    return rows


def _interval(estimate: Estimate, figure: Shown) -> str:
    text = figure.text(estimate.mean, sign=True)
    if estimate.low is not None and estimate.high is not None:
        text += f" [{figure.text(estimate.low, sign=True)}, {figure.text(estimate.high, sign=True)}]"
    return text


def write_page(gaps: Sequence[Gap], title: str, path: Path) -> Path:
    """One self-contained HTML page: of each way the table, and every call's lines over each other."""
    return pages.write_sections(
        path,
        f"{title}: simulated and called",
        [
            *_that_do_not_count(gaps),
            "Means over repeats; the difference is called minus simulated. One line per call. " + interval_note(gaps),
            *_to_repeat(gaps),
        ],
        [section for gap in gaps for section in _sections(gap)],
        kind="gap",
    )


def interval_note(gaps: Sequence[Gap]) -> str:
    """What the intervals are over, or why there are none; repeats of one scenario say nothing of other networks."""
    repeats = min((difference.groups for gap in gaps for *_, difference in gap.rows if difference.groups), default=0)
    if repeats < FEWEST:
        return f"No intervals: {repeats} repeats, and an interval takes {FEWEST}."
    return f"95 % intervals over {repeats} repeats on this one network."


def _that_do_not_count(gaps: Sequence[Gap]) -> list[Markup]:
    """Which calls are left out, and why, set apart from the text."""
    folders = dict.fromkeys(gap.called for gap in gaps)
    late = [one for folder in folders for one in late_calls(folder)]
    if not late:
        return []
    lines = Markup("<br>").join(Markup("Call {} ({}): {}.").format(one.call, one.what, one.why) for one in late)
    of = sum(len(rows_of(folder, None)) for folder in folders)
    alarm = Markup('<strong class="alarm">{} of {} calls do not count and are left out.</strong>')
    return [alarm.format(len(late), of) + lines]


def _to_repeat(gaps: Sequence[Gap]) -> list[Markup]:
    """The commands that make the two runs again."""
    lines = repeat.lines(dict.fromkeys(run for gap in gaps for run in (gap.simulated, gap.called)))
    return [Markup("To repeat it:<br>") + lines] if lines else []


def _sections(gap: Gap) -> list[Section]:
    legend = (("c0", "simulated"), ("c1", "called"))
    which = f", {way}" if (way := gap.way()) else ""
    charts = []
    for column, name, unit, scale in LINES:
        runs = [(kind, _lines(getattr(gap, run), column, scale, gap.flow)) for kind, run in legend]
        axes = chart.Axes([chart.Line(kind, points) for kind, lines in runs for points in lines])
        charts.append((f"{name}, {unit}", chart.draw([axes], f"{name} over time", unit=" s")))
    columns = ["", "simulated", "called", "difference"]
    rows = [[name, *(cell.replace("-", "−") for cell in cells)] for name, *cells in text_rows(gap)]
    return [
        Section(f"Figures{which}", columns=columns, rows=rows),
        Section(f"Over time{which}", legend=legend, charts=charts),
    ]


def _lines(folder: Path, column: str, scale: float, flow: str | None) -> list[list[chart.Point]]:
    """A column of every call of a run, or of one way of media, over seconds, in means of 500 ms: 100 ms of packets
    jump too much."""
    if not parts(folder, "series"):
        return []
    lines: dict[int, list[chart.Point]] = {row["call"]: [] for row in counted_rows(folder, flow)}
    sql = (
        f"select call, time_ms // 500 as bin, avg({column}) as value from series group by call, bin order by call, bin"
    )
    for row in query(folder, sql):
        if row["call"] in lines:
            lines[row["call"]].append((row["bin"] / 2 + 0.25, _known(row["value"]) * scale))
    return list(lines.values())
