"""How far a simulation is from a real call: the same scenario simulated and called, several times, and the differences.

Simulated calls differ by seed; real calls have the same seeds, and differ by chance on the machine as well. Each
figure's difference is that of the means over repeats, with a bootstrap interval (:mod:`legato.eval.stats`).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from legato import chart, pages
from legato.errors import CallError
from legato.eval.stats import Estimate, mean_intervals, resampling_weights
from legato.pages import Section
from legato.plan import read_scenario
from legato.sweep import parts, summary_rows

if TYPE_CHECKING:
    from legato.call import Pictures
    from legato.call.session import CallProgress

FIGURES = (
    ("target_bitrate_mean_bps", "target bitrate", "kbit/s", 1e-3, 1),
    ("receiver_rate_bps", "receiver rate", "kbit/s", 1e-3, 1),
    ("one_way_delay_p50_ms", "packet delay p50", "ms", 1.0, 1),
    ("one_way_delay_p95_ms", "packet delay p95", "ms", 1.0, 1),
    ("loss_ratio", "loss", "%", 100.0, 2),
    ("frame_delay_p50_ms", "frame delay p50", "ms", 1.0, 1),
    ("frame_delay_p95_ms", "frame delay p95", "ms", 1.0, 1),
    ("rendered_fps", "frames shown", "1/s", 1.0, 1),
    ("freezes", "freezes", "", 1.0, 1),
    ("qp_mean", "quantiser", "", 1.0, 1),
    ("viewed_ssim_db_mean", "viewed SSIM", "dB", 1.0, 2),
)
"""Column of the summary, what it is called, in which unit, times what, with how many places."""

BROWSER_NACK_INTERVAL_MS = 110.0
"""Measured: Chromium 156, without a round-trip time, requests a packet up to 34 times, 109 to 110 ms apart."""

WITHIN = (
    ("receiver_rate_bps", "receiver rate", 0.10, True),
    ("one_way_delay_p95_ms", "packet delay p95", 20.0, False),
    ("loss_ratio", "loss", 0.01, False),
)
"""Column of the summary, what it is called, how far called may be from simulated, as a share of it or as it is."""

LINES = (
    ("target_bitrate_bps", "target bitrate", "Mbit/s", 1e-6),
    ("receiver_rate_bps", "receiver rate", "Mbit/s", 1e-6),
    ("one_way_delay_ms", "packet delay", "ms", 1.0),
)
"""Column of the series, what it is called, in which unit, times what."""


@dataclass(frozen=True)
class Gap:
    """The two runs, and each figure simulated, called, and their difference (called minus simulated); of one way of
    media, ``flow``, where there are two."""

    simulated: Path
    called: Path
    rows: list[tuple[str, Estimate, Estimate, Estimate]]
    flow: str | None = None

    def misses(self) -> list[str]:
        """The figures of :data:`WITHIN` whose means are too far apart."""
        found = {column: (before.mean, after.mean) for column, before, after, _ in self.rows}
        missed = []
        for column, name, most, is_share in WITHIN:
            before, after = found[column]
            if before is None or after is None:
                missed.append(name)
            elif abs(after - before) > most * (abs(before) if is_share else 1.0):
                missed.append(name)
        return missed

    def invalid_calls(self) -> int:
        """Calls whose emulated link was late."""
        files = (self.called / "calls" / f"{row['call']:05}.json" for row in rows_of(self.called, self.flow))
        return sum(not json.loads(file.read_text(encoding="utf-8"))["valid"] for file in files if file.exists())

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
    import legato
    from legato.call.ends import End, Session

    session = Session.of(peers, direction)
    if session.near != End.LEGATO or direction == "receive":
        raise CallError(f"a gap is of what we send: peers {peers}, direction {direction} has a browser send")
    out = Path(out)
    seeds = list(range(1, repeats + 1))
    chosen = list(controllers)
    how = {"options": options, "controllers": chosen, "seeds": seeds, "resume": resume}
    alike = as_called(scenario, options, peers, direction)
    simulated = legato.run(scenario, out=out / "simulated", **{**how, "options": alike})
    called = legato.real_calls(
        scenario,
        out=out / "called",
        pictures=pictures,
        peers=peers,
        direction=direction,
        on_progress=on_progress,
        **how,
    )
    runs = simulated.folder, called.folder
    flows = dict.fromkeys(row["flow"] for row in summary_rows(called.folder))
    gaps = [Gap(*runs, compare(*runs, flow), flow) for flow in flows]
    write_page(gaps, str(scenario), out / "gap.html")
    return gaps


def as_called(
    scenario: str | Path, options: Mapping[str, Any] | None, peers: str = "chromium", direction: str = "send"
) -> dict[str, Any]:
    """``options`` that make a simulation behave as a call of the scenario does.

    A call begins with the clip's first picture, a simulation anywhere; a call keeps the pictures' size unless the
    scenario says otherwise, a simulation may change it. A browser that sends no media learns no round-trip time, and
    requests a lost packet at fixed intervals of its own.
    """
    from legato.call.ends import with_both_ways

    _, text = read_scenario(scenario, options)
    table = tomllib.loads(text)
    ways = with_both_ways(text, options) if direction == "both" else dict(options or {})
    adapts = table.get("video", {}).get("adapt_resolution", False)
    pictures = {"video.first_picture": 0, "video.adapt_resolution": adapts}
    browser = {"receiver.nack_interval_ms": BROWSER_NACK_INTERVAL_MS} if peers == "chromium" else {}
    return {**ways, **pictures, **browser}


def measure_pairs(
    scenarios: Sequence[str | Path],
    out: str | Path,
    *,
    controllers: Sequence[str] = (),
    **how: Any,
) -> dict[str, Gap]:
    """:func:`measure` for each scenario with each controller (its own, where none is named), each below ``out`` in a
    folder of its name; of two ways each has the way's name behind that."""
    found: dict[str, Gap] = {}
    for scenario in scenarios:
        for controller in controllers or [""]:
            name = "-".join(filter(None, (Path(scenario).stem, controller)))
            chosen = [controller] if controller else []
            for gap in measure(scenario, Path(out) / name, controllers=chosen, **how):
                found[" ".join(filter(None, (name, gap.flow)))] = gap
    return found


def pair_rows(gaps: Mapping[str, Gap]) -> list[tuple[str, ...]]:
    """One row per pair: name, differences of :data:`WITHIN` in means, what is too far, calls that do not count."""
    scales = {column: (scale, places) for column, _, _, scale, places in FIGURES}
    rows = []
    for name, gap in gaps.items():
        means = {column: (before.mean, after.mean) for column, before, after, _ in gap.rows}
        cells = []
        for column, _, _, is_share in WITHIN:
            before, after = means[column]
            scale, places = scales[column]
            if before is None or after is None:
                cells.append("–")
            elif is_share:
                cells.append(f"{100 * (after / before - 1):+.1f} %" if before else "–")
            else:
                cells.append(f"{(after - before) * scale:+.{places}f}")
        invalid = gap.invalid_calls()
        rows.append((name, *cells, ", ".join(gap.misses()) or "none", str(invalid) if invalid else ""))
    return rows


def rows_of(folder: Path, flow: str | None) -> list[dict[str, Any]]:
    """The summary of a run's calls, or of those on one way of media."""
    return [row for row in summary_rows(folder) if flow is None or row["flow"] == flow]


def compare(simulated: Path, called: Path, flow: str | None = None) -> list[tuple[str, Estimate, Estimate, Estimate]]:
    """Every figure of two run folders, or of one way of media in them: its column, simulated, called, difference."""
    columns = [column for column, *_ in FIGURES]
    ours, theirs = (_table(rows_of(folder, flow), columns) for folder in (simulated, called))
    estimates = []
    for table in (ours, theirs):
        present = ~np.isnan(table)
        weights = resampling_weights(len(table))
        estimates.append(mean_intervals(np.where(present, table, 0.0), present.astype(float), weights))
    return [
        (column, before, after, _difference(ours[:, at], theirs[:, at]))
        for at, (column, before, after) in enumerate(zip(columns, *estimates, strict=True))
    ]


def _table(rows: list[dict[str, Any]], columns: list[str]) -> np.ndarray:
    return np.array([[np.nan if row[column] is None else float(row[column]) for column in columns] for row in rows])


def _difference(simulated: np.ndarray, called: np.ndarray) -> Estimate:
    """Of the means: the two kinds of call are not paired, so each is resampled by itself."""
    simulated, called = simulated[~np.isnan(simulated)], called[~np.isnan(called)]
    if not len(simulated) or not len(called):
        return Estimate(None, None, None, 0)
    mean = float(called.mean() - simulated.mean())
    if len(simulated) < 2 or len(called) < 2:
        return Estimate(mean, None, None, min(len(simulated), len(called)))
    drawn = [
        resampling_weights(len(values), seed=seed) @ values / len(values)
        for seed, values in enumerate((simulated, called))
    ]
    low, high = np.quantile(drawn[1] - drawn[0], (0.025, 0.975))
    return Estimate(mean, float(low), float(high), min(len(simulated), len(called)))


def text_rows(gap: Gap) -> list[tuple[str, str, str, str]]:
    """The table as text: figure, simulated, called, difference with its interval."""
    rows = []
    for (_, name, unit, scale, places), (_, before, after, difference) in zip(FIGURES, gap.rows, strict=True):
        label = f"{name} ({unit})" if unit else name
        rows.append(
            (label, *(_number(e, scale, places) for e in (before, after)), _interval(difference, scale, places))
        )
    return rows


def _number(estimate: Estimate, scale: float, places: int) -> str:
    return "–" if estimate.mean is None else f"{estimate.mean * scale:.{places}f}"


def _interval(estimate: Estimate, scale: float, places: int) -> str:
    if estimate.mean is None:
        return "–"
    text = f"{estimate.mean * scale:+.{places}f}"
    if estimate.low is not None and estimate.high is not None:
        text += f" [{estimate.low * scale:+.{places}f}, {estimate.high * scale:+.{places}f}]"
    return text


def write_page(gaps: Sequence[Gap], title: str, path: Path) -> Path:
    """One self-contained HTML page: of each way the table, and every call's lines over each other."""
    return pages.write_sections(
        path,
        f"{title}: simulated and called",
        ["Means over repeats; the difference is called minus simulated, with its 95 % interval. One line per call."],
        [section for gap in gaps for section in _sections(gap)],
    )


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
    import duckdb

    found = parts(folder, "series")
    if not found:
        return []
    query = f"SELECT call, time_ms // 500 AS bin, avg({column}) FROM t GROUP BY call, bin ORDER BY call, bin"
    with duckdb.connect() as connection:
        connection.register("t", duckdb.read_parquet(found, connection=connection))
        rows = connection.execute(query).fetchall()
    lines: dict[int, list[chart.Point]] = {row["call"]: [] for row in rows_of(folder, flow)}
    for call, bin_, value in rows:
        if call in lines:
            lines[call].append((bin_ / 2 + 0.25, np.nan if value is None else value * scale))
    return list(lines.values())
