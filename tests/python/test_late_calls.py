"""Real calls whose emulated link was late: pages name them loudly, and no mean has them unless that is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from legato import cli, gap, report
from legato.cli import results
from run_folders import write_run


def real(folder: Path, late: dict[int, float], controllers: tuple[str, ...] = ("gcc", "nada"), seeds: int = 3) -> Path:
    """A run folder of real calls; ``late``: how many ms the link was late, by call."""
    lists = {"controllers": controllers, "traces": ("lte/a",), "clips": ("anna",), "seeds": range(1, seeds + 1)}
    run = write_run(folder, **lists, duration_s=5.0)
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "kind": "call"}))
    (run / "calls").mkdir()
    for call in range(len(controllers) * seeds):
        what = {"call": call, "controller": controllers[call // seeds], "trace": "lte/a", "seed": call % seeds + 1}
        link = {"valid": call not in late, "lateness_p999_ms": late.get(call, 0.3), "misnumbered": 0}
        (run / f"calls/{call:05}.json").write_text(json.dumps({**what, **link}))
    return run


def test_a_late_call_is_named_and_in_no_mean(tmp_path: Path) -> None:
    run = real(tmp_path / "run", {1: 7.25, 3: 2.5})
    page = report.write(run, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<strong>2 of 6 calls do not count.</strong> No figure below includes them;" in page
    assert (
        "Call 1 (gcc, lte/a, seed 2): the emulated link was 7.2 ms late at the 99.9th percentile; 2 ms is the" in page
    )
    assert "Call 3 (nada, lte/a, seed 1): the emulated link was 2.5 ms late" in page
    assert "Incomplete" not in page

    every = report.summarise(run, late_calls=True)
    counted = report.summarise(run)
    assert [row.calls for row in every.rows] == [3, 3]
    assert [row.calls for row in counted.rows] == [2, 2]
    for with_late, without in zip(every.rows, counted.rows, strict=True):
        assert with_late.estimates["frame_delay_p98_ms"].mean != without.estimates["frame_delay_p98_ms"].mean
    # Of the three conditions one has both of its calls.
    assert counted.row("nada").differences["frame_delay_p98_ms"].count == 1


def test_late_calls_count_where_that_is_asked_for_and_the_page_still_says_so(tmp_path: Path) -> None:
    run = real(tmp_path / "run", {1: 7.25})
    assert cli.status_of(["report", str(run), "--out", str(tmp_path / "all.html"), "--late-calls"]) == 0
    page = (tmp_path / "all.html").read_text(encoding="utf-8")
    assert "<strong>1 of 6 calls does not count.</strong> The figures below include it, because --late-calls" in page
    assert '<td data-value="3">3</td>' in page


def test_a_gap_of_which_no_call_counts_says_so_and_leaves_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, late, status in (("late", {0: 9.0}, 1), ("punctual", {}, 0)):
        runs = [real(tmp_path / name / way, late, controllers=("gcc",), seeds=1) for way in ("simulated", "called")]
        found = gap.Gap(*runs, gap.compare(*runs))
        monkeypatch.setattr(gap, "measure", lambda *_, found=found, **__: [found])
        assert cli.status_of(["gap", "steady", "--repeats", "1", "--out", str(tmp_path / "gap")]) == status
        assert ("no call counts" in capsys.readouterr().err) == bool(status)


def test_where_no_call_counts_there_is_a_page_without_a_mean(tmp_path: Path) -> None:
    run = real(tmp_path / "run", {0: 9.0}, controllers=("gcc",), seeds=1)
    page = report.write(run, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<strong>This call does not count.</strong> So there are no means." in page
    (row,) = report.summarise(run).rows
    assert all(estimate.mean is None for estimate in row.estimates.values())
    (means,) = results.means(run)
    assert means.pop("controller") == "gcc"
    assert means.pop("calls") == 0
    assert set(means.values()) == {None}


def test_a_simulation_has_no_late_calls(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", controllers=["gcc"], traces=["lte/a"], clips=["anna"], duration_s=5.0)
    assert "not count" not in report.write(run, tmp_path / "report.html").read_text(encoding="utf-8")


def test_what_a_verb_prints_leaves_late_calls_out(tmp_path: Path) -> None:
    run = real(tmp_path / "run", {1: 7.25})
    kept = {row["controller"]: row for row in results.means(run)}
    assert (kept["gcc"]["calls"], kept["nada"]["calls"]) == (2, 3)
    on_time = report.summarise(run).row("gcc").estimates["goodput_bps"].mean
    assert kept["gcc"]["goodput_bps"] == pytest.approx(on_time)


def test_a_gap_is_of_calls_that_count(tmp_path: Path) -> None:
    simulated = write_run(
        tmp_path / "simulated",
        controllers=("gcc",),
        traces=("lte/a",),
        clips=("anna",),
        seeds=(1, 2, 3),
        duration_s=5.0,
    )
    called = real(tmp_path / "called", {2: 4.0}, controllers=("gcc",))
    found = gap.Gap(simulated, called, gap.compare(simulated, called))
    assert found.invalid_calls() == 1
    for column, _, of_calls, difference in found.rows:
        if column == "receiver_rate_bps":
            # The simulated run is the same one: without its third call the means differ.
            assert of_calls.count == 2
            assert difference.mean != 0.0
    page = gap.write_page([found], "a scenario", tmp_path / "gap.html").read_text(encoding="utf-8")
    assert '<strong class="alarm">1 of 3 calls do not count and are left out.</strong>' in page
    assert "Call 2 (gcc, lte/a, seed 3): the emulated link was 4.0 ms late" in page
    assert page.count("legato compare") == 2
