"""Reports over calls that were really simulated: the simulator's tables and the report's idea of them are one."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import legato
from legato import report
from legato.plan import shipped
from legato.report import timelines
from legato.report.reading import reading
from legato.results.store import Store

CONTROLLERS = ["fixed", "gcc", "oracle"]


def simulate(folder: Path, **how: int) -> Path:
    options = {"duration_s": 20.0}
    legato.run("cellular", out=folder, controllers=CONTROLLERS, clips=["foreman"], seeds=2, options=options, **how)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulate(tmp_path_factory.mktemp("runs") / "real")


def columns(run: Path, table: str) -> set[str]:
    return set(duckdb.read_parquet(str(run / table / "*.parquet")).columns)


def test_the_simulator_writes_every_figure_that_a_report_shows(run: Path) -> None:
    assert set(report.METRICS) <= columns(run, "summary")
    assert {column for _, _, column, _ in timelines._SERIES} <= columns(run, "series")
    assert {"captured_ms", "frame_delay_ms"} <= columns(run, "frames")


def test_what_gcc_says_about_itself_is_drawn(run: Path) -> None:
    store = Store([run])
    calls = timelines.choose_calls(store, 6)
    drawn = timelines.gauges(store, calls)
    assert {calls[one["call"]].variant for one in drawn} >= {"gcc"}
    # However many calls come before: every controller has its share.
    many = timelines.choose_calls(store, 1_000)
    shown = {many[one["call"]].variant for one in timelines.gauges(store, many)}
    assert shown == {call.variant for call in many}


def test_the_same_run_makes_the_same_report(run: Path, tmp_path: Path) -> None:
    first = report.write(run, tmp_path / "a.html").read_bytes()
    again = tmp_path / "real"
    legato.run(
        "cellular",
        out=again,
        controllers=CONTROLLERS,
        seeds=2,
        clips=["foreman"],
        options={"duration_s": 20.0},
        threads=1,
    )
    assert report.write(again, tmp_path / "b.html").read_bytes() == first


def test_an_oracle_uses_more_of_the_capacity_than_a_fixed_rate_and_the_reading_says_so(run: Path) -> None:
    rows = {row.controller: row for row in report.summarise(run).rows}
    used = {name: row.estimates["utilisation_ratio"].mean for name, row in rows.items()}
    assert used["oracle"] > used["gcc"] > 0 and used["oracle"] > used["fixed"]
    (seen, _) = reading(report.summarise(run))
    assert [sentence.split("**")[1] for sentence in seen] == CONTROLLERS


def test_seeds_of_a_drawn_scenario_are_networks_and_seeds_of_a_trace_are_not(tmp_path: Path) -> None:
    short = {"controllers": ["fixed", "gcc"], "seeds": 5, "options": {"duration_s": 2.0}, "log": "summary"}
    for scenario, over in (("broad", "5 networks"), ("cellular", "one trace"), ("steady", "one network")):
        legato.run(scenario, out=tmp_path / scenario, **short)
        summary = report.summarise(tmp_path / scenario)
        assert (summary.over, summary.has_intervals) == (over, scenario == "broad")
        assert (summary.row("fixed").estimates["goodput_bps"].low is None) == (scenario != "broad")


def test_scales_of_one_trace_are_one_network_and_other_traces_are_others(tmp_path: Path) -> None:
    folder = shipped.traces_folder() / "nyc-lte"
    one, two = sorted(folder.glob("trace-*.gz"))[:2]
    legato.run(
        "cellular",
        out=tmp_path / "run",
        controllers=["fixed"],
        traces=[f"{one}@scale=0.1", f"{one}@scale=0.2", f"{one}@start_s=20", str(two)],
        options={"duration_s": 2.0},
        log="summary",
    )
    assert report.summarise(tmp_path / "run").over == "2 traces"
