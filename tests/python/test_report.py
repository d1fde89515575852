"""Reports from run folders: the figures, the file, folders that are incomplete or broken."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

from legato import report
from legato.errors import ControllerError, RunFolderError
from legato.report import figures, live_links, palette, timelines
from legato.report.reading import reading
from legato.results import comparison
from legato.results.store import Store
from run_folders import write_run, write_table

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(
        tmp_path_factory.mktemp("runs") / "demo", traces=("lte/a", "wifi/b"), clips=("anna", "bob"), duration_s=20.0
    )


def embedded(page: Path) -> dict:
    found = re.search(r'<script type="application/json" id="legato-data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def undelta(packed: list[int | None]) -> list[int | None]:
    last, values = 0, []
    for step in packed:
        last = last if step is None else last + step
        values.append(None if step is None else last)
    return values


def summary_run(folder: Path, rows: dict[str, list]) -> Path:
    """A run folder with nothing but these summary rows."""
    folder.mkdir()
    calls = len(rows["call"])
    (folder / "manifest.json").write_text(
        json.dumps({"format": 1, "legato": "0.1.0", "calls": calls, "calls_per_part": calls, "scenario": "tiny"})
    )
    write_table(folder / "summary/00000.parquet", {key: np.array(values) for key, values in rows.items()})
    return folder


def test_every_figure_of_the_run_folder_can_be_shown() -> None:
    text = (ROOT / "docs/reference/run-folder.md").read_text()
    section = text.split("## summary", 1)[1].split("\n## ", 1)[0]
    documented = set()
    for row in re.findall(r"^\| (.+?) \| .*? \|", section, re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", row):
            kinds = re.search(r"\{(.+?)\}", name)
            documented |= {name.replace(kinds[0], k) for k in kinds[1].split(",")} if kinds else {name}
    names = "call session flow start_s scenario controller trace trace_family clip encoder decoder seed duration_s"
    assert documented - set(names.split()) == set(report.METRICS)


def five_networks(folder: Path, **more: list) -> Path:
    """Two controllers over five traces; their SSIM differs by 1, 2, 3, 4 and 5 dB."""
    rows = {
        "call": list(range(10)),
        "controller": ["fixed"] * 5 + ["gcc"] * 5,
        "trace": list("abcde") * 2,
        "trace_family": ["fcc"] * 10,
        "clip": ["k"] * 10,
        "seed": [1] * 10,
        "ssim_db_mean": [10.0, 11.0, 12.0, 13.0, 14.0, 11.0, 13.0, 15.0, 17.0, 19.0],
    }
    return summary_run(folder, {**rows, **more})


def test_means_and_differences_are_those_worked_by_hand(tmp_path: Path) -> None:
    summary = report.summarise([five_networks(tmp_path / "run")])
    assert (summary.baseline, summary.networks, summary.over) == ("gcc", 5, "5 traces")
    fixed = summary.row("fixed")
    assert fixed.estimates["ssim_db_mean"].mean == 12.0
    difference = fixed.differences["ssim_db_mean"]
    # Student's 2.7764 of four degrees of freedom times the standard error: sqrt(2.5 / 5).
    assert (difference.mean, difference.groups) == (-3.0, 5)
    assert (difference.low, difference.high) == (pytest.approx(-4.963, abs=2e-3), pytest.approx(-1.037, abs=2e-3))
    assert fixed.estimates["frame_delay_p98_ms"].mean is None
    assert summary.row("gcc").differences == {}


def test_more_seeds_of_the_same_traces_are_not_more_networks(tmp_path: Path) -> None:
    once = report.summarise(five_networks(tmp_path / "once"))
    rows = duckdb.sql(f"SELECT * FROM read_parquet('{tmp_path}/once/summary/*.parquet')").fetchnumpy()
    thirty = {name: np.repeat(values, 30).tolist() for name, values in rows.items()}
    thirty |= {"call": list(range(300)), "seed": list(range(30)) * 10}
    again = report.summarise(summary_run(tmp_path / "thirty", thirty))
    one, many = (summary.row("fixed").differences["ssim_db_mean"] for summary in (once, again))
    assert (many.low, many.high) == (pytest.approx(one.low), pytest.approx(one.high))
    assert (many.count, many.groups, again.networks) == (150, 5, 5)


def test_windows_and_scales_of_one_recording_are_one_network(tmp_path: Path) -> None:
    labels = ["bus x0.1", "bus x0.2", "bus @20s", "taxi", "walk"]
    run = five_networks(tmp_path / "run", trace=labels * 2)
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "traces": labels}))
    files = [{"path": "t/bus.gz", "scale": 0.1}, {"path": "t/bus.gz", "scale": 0.2}, {"path": "t/bus.gz"}]
    (run / "plan.json").write_text(json.dumps({"traces": [*files, "t/taxi.gz", "t/walk.gz"]}))
    summary = report.summarise(run)
    assert summary.over == "3 traces"
    assert summary.row("fixed").differences["ssim_db_mean"].low is None


def test_copies_of_one_file_are_one_network(tmp_path: Path) -> None:
    names = ["a.gz", "b.gz", "x/c.gz", "d.gz", "e.gz"]
    run = five_networks(tmp_path / "run", trace=names * 2, trace_family=["m", "m", "x", "m", "m"] * 2)
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "traces": names}))
    files = [{"name": name, "sha256": "same" if at < 3 else name} for at, name in enumerate(names)]
    (run / "plan.json").write_text(json.dumps({"traces": names, "files": files}))
    summary = report.summarise(run)
    assert summary.over == "3 traces"
    assert summary.row("fixed").differences["ssim_db_mean"].low is None


def test_files_of_one_name_and_other_content_are_networks_of_their_own(tmp_path: Path) -> None:
    labels = ["a/t", "b/t", "c/t", "d/t", "e/t"]
    run = five_networks(tmp_path / "run", trace=labels * 2)
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "traces": labels}))
    files = [{"name": f"{label}.gz", "sha256": label} for label in labels]
    (run / "plan.json").write_text(json.dumps({"traces": [f"{label}.gz" for label in labels], "files": files}))
    assert report.summarise(run).over == "5 traces"


def test_an_interval_holds_nothing_that_cannot_be(tmp_path: Path) -> None:
    lost, late = [0.0, 0.0, 0.0, 0.02, 0.9], [1.0, 1.0, 1.0, 0.99, 0.1]
    run = five_networks(tmp_path / "run", loss_ratio=lost + [1.0] * 5, on_time_150ms_ratio=late + [0.0] * 5)
    fixed = report.summarise(run).row("fixed")
    for column, difference in ((c, fixed.differences[c]) for c in ("loss_ratio", "on_time_150ms_ratio")):
        estimate = fixed.estimates[column]
        assert 0.0 <= estimate.low < estimate.mean < estimate.high <= 1.0, column
        assert -1.0 <= difference.low < difference.mean < difference.high <= 1.0, column


@pytest.mark.parametrize(
    ("family", "over"),
    [("generator", "5 networks"), ("constant", "one network"), ("fcc", "one trace")],
)
def test_a_seed_is_a_network_where_the_scenario_draws_it(tmp_path: Path, family: str, over: str) -> None:
    run = five_networks(tmp_path / "run", trace=["x"] * 10, trace_family=[family] * 10, seed=[1, 2, 3, 4, 5] * 2)
    summary = report.summarise(run)
    assert summary.over == over
    assert (summary.row("fixed").differences["ssim_db_mean"].low is None) == (family != "generator")


def test_below_five_networks_the_page_gives_no_interval_and_says_why(tmp_path: Path) -> None:
    run = five_networks(tmp_path / "run", trace=list("abcdd") * 2, seed=[1, 1, 1, 1, 2] * 2)
    text = report.write(run, tmp_path / "report.html").read_text()
    table = text.split('<table id="means"', 1)[1].split("</table>", 1)[0]
    assert "data-difference=" in table and "data-difference-low" not in table and "better" not in table
    assert text.count("No intervals: 4 traces, and an interval takes 5 independent networks.") == 3
    said = " ".join(reading(report.summarise(run))[1])
    assert said.startswith("No intervals: 4 traces") and "interval" not in said.split("independent networks")[1]


def test_an_interval_over_fewer_networks_than_the_others_says_so(tmp_path: Path) -> None:
    run = five_networks(tmp_path / "run", ssim_db_mean=[10.0, 11, 12, 13, np.nan, 11, 13, 15, 17, 19])
    text = report.write(run, tmp_path / "report.html").read_text()
    assert "its 95 % interval over 5 traces" in text
    assert "<small>no interval: 4 traces</small>" in text


def test_no_mean_of_what_is_never_negative_has_an_interval_below_zero(tmp_path: Path) -> None:
    stalls = [0.0, 0.0, 0.0, 0.0, 0.3] + [0.0] * 5
    fixed = report.summarise(five_networks(tmp_path / "run", stall_ratio=stalls)).row("fixed")
    assert fixed.estimates["stall_ratio"].low == 0.0 < fixed.estimates["stall_ratio"].high
    assert fixed.differences["stall_ratio"].low < 0.0


@pytest.mark.parametrize("odd", ["nan", "inf", "-inf"])
def test_what_is_not_finite_is_an_absent_figure(tmp_path: Path, odd: str) -> None:
    run = summary_run(
        tmp_path / "run",
        {"call": [0, 1], "controller": ["gcc"] * 2, "trace": ["a", "b"], "clip": ["k"] * 2, "seed": [1] * 2},
    )
    duckdb.sql(
        f"COPY (SELECT *, CASE call WHEN 0 THEN '{odd}'::DOUBLE ELSE 4.0 END AS ssim_db_mean "
        f"FROM read_parquet('{run}/summary/00000.parquet')) TO '{run}/summary/00001.parquet'"
    )
    (run / "summary/00000.parquet").unlink()
    estimate = report.summarise(run).rows[0].estimates["ssim_db_mean"]
    assert (estimate.mean, estimate.count) == (4.0, 1)


def test_the_baseline_can_be_chosen_and_must_exist(demo: Path) -> None:
    assert report.summarise(demo, baseline="fixed").baseline == "fixed"
    with pytest.raises(ControllerError, match="baseline nada: did not run here") as caught:
        report.summarise(demo, baseline="nada")
    assert caught.value.hint == "one of: fixed, gcc, oracle"


def test_blocks_and_single_networks_agree(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    single = report.summarise(demo)
    monkeypatch.setattr(comparison.stats, "EXACT_GROUPS", 1)
    monkeypatch.setattr(comparison, "PAIRED_CALLS", 1)
    blocks = report.summarise(demo)
    assert "dealt into 512 blocks" in blocks.method and single.networks == blocks.networks == 2
    for row in single.rows:
        for column, estimate in row.estimates.items():
            assert blocks.row(row.controller).estimates[column].mean == pytest.approx(estimate.mean)
        for column, difference in row.differences.items():
            assert blocks.row(row.controller).differences[column].mean == pytest.approx(difference.mean, abs=1e-9)


def test_differences_of_many_calls_are_those_of_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = five_networks(tmp_path / "run")
    one = report.summarise(run).row("fixed").differences["ssim_db_mean"]
    monkeypatch.setattr(comparison, "PAIRED_CALLS", 1)
    other = report.summarise(run).row("fixed").differences["ssim_db_mean"]
    assert other.mean == pytest.approx(one.mean) and other.low == pytest.approx(one.low)


def test_blocks_of_a_stopped_sweep_pair_shared_conditions_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "PAIRED_CALLS", 1)
    run = summary_run(
        tmp_path / "run",
        {
            "call": [0, 1, 2],
            "controller": ["gcc", "gcc", "fixed"],
            "trace": ["easy", "hard", "easy"],
            "clip": ["k"] * 3,
            "seed": [1] * 3,
            "ssim_db_mean": [10.0, 2.0, 11.0],
        },
    )
    assert report.summarise(run).row("fixed").differences["ssim_db_mean"].mean == pytest.approx(1.0)


def test_the_file_holds_all_it_shows(demo: Path, tmp_path: Path) -> None:
    page = report.write([demo], tmp_path / "sub/report.html")
    text = page.read_text()
    assert page.stat().st_size < 1_500_000
    assert not re.search(r'(?:src|href)="(?!#)', text), "nothing is loaded from elsewhere"
    assert "{{" not in text.split("<script", 1)[0], "no place of the template is left unfilled"
    for word in ("demo", "0.1.0", "12</dd>", "legato compare --scenario demo", "fixed,gcc,oracle", "used "):
        assert word in text
    assert "&lt;not a tag&gt;" in text, "the scenario is shown as text"
    data = embedded(page)
    assert len(data["points"]["variant"]) == 12 and len(data["calls"]) == 12
    assert [entry["name"] for entry in data["controllers"]] == ["fixed", "gcc", "oracle"]


def test_the_same_folder_gives_the_same_bytes(demo: Path, tmp_path: Path) -> None:
    first = report.write(demo, tmp_path / "a.html").read_bytes()
    assert report.write(str(demo), tmp_path / "b.html").read_bytes() == first


def test_time_lines_are_packed_without_loss_of_what_a_plot_shows(demo: Path, tmp_path: Path) -> None:
    data = embedded(report.write(demo, tmp_path / "report.html"))
    call = next(c for c in data["calls"] if data["controllers"][c["variant"]]["name"] == "fixed")
    rows = duckdb.sql(
        f"SELECT target_bitrate_bps, queue_ms, ssim_db FROM read_parquet('{demo}/series/*.parquet') "
        f"WHERE call = {call['call']} ORDER BY time_ms"
    ).fetchall()
    line = call["line"]
    assert line["bins"] == len(rows) == 200
    assert undelta(line["target"]) == [round(row[0] / 1e3) for row in rows]
    assert undelta(line["queue"]) == pytest.approx([row[1] for row in rows], abs=0.51)
    for packed, (_, _, ssim_db) in zip(undelta(line["ssim"]), rows, strict=True):
        assert (packed is None) == (ssim_db is None)
        assert packed is None or packed / 100 == pytest.approx(ssim_db, abs=0.006)


def test_differences_skip_over_what_is_not_known() -> None:
    assert timelines.deltas([5, None, 7, 7, None, 4]) == [5, None, 2, 0, None, -3]


def test_a_long_call_has_its_bins_merged(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", controllers=["gcc"], traces=["lte/a"], clips=["anna"], duration_s=150.0)
    (call,) = embedded(report.write(run, tmp_path / "report.html"))["calls"]
    assert (call["line"]["bin_ms"], call["line"]["bins"]) == (300, 500)


def test_time_lines_are_chosen_by_whole_conditions_and_the_page_says_so(demo: Path, tmp_path: Path) -> None:
    page = report.write(demo, tmp_path / "report.html", max_timelines=7)
    calls = embedded(page)["calls"]
    assert len(calls) == 6
    assert {(call["trace"]) for call in calls} == {"lte/a", "wifi/b"}, "traces take turns"
    assert "Time lines of 6 of 12 calls" in page.read_text()
    assert embedded(report.write(demo, tmp_path / "none.html", max_timelines=0))["calls"] == []


def test_a_run_that_logged_summaries_only_still_reports(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", traces=["lte/a"], clips=["anna"], log="summary", duration_s=10.0)
    page = report.write(run, tmp_path / "report.html")
    assert 'No time lines: this run logged summaries only (log = "summary")' in page.read_text()


def test_an_incomplete_sweep_says_how_much_of_it_is_there(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", traces=["lte/a"], clips=["anna", "bob"], calls_per_part=2, finished_parts=2)
    page = report.write(run, tmp_path / "report.html")
    assert "Incomplete: 4 of 6 calls are done" in page.read_text()
    assert [row.calls for row in report.summarise(run).rows] == [2, 2]


def test_one_call_reports_without_intervals(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", controllers=["gcc"], traces=["lte/a"], clips=["anna"], duration_s=5.0)
    text = report.write(run, tmp_path / "report.html").read_text()
    assert "No intervals: one trace" in text and "This shows what happened, not what would happen" in text
    assert '<section id="trade-off" hidden>' in text


def test_a_call_that_rendered_nothing_is_absent_and_not_zero(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", controllers=["gcc"], traces=["lte/a"], clips=["a", "b"], duration_s=5.0)
    part = run / "summary/00000.parquet"
    duckdb.sql(
        f"COPY (SELECT * REPLACE (CASE call WHEN 0 THEN NULL ELSE ssim_db_mean END AS ssim_db_mean) "
        f"FROM read_parquet('{part}')) TO '{run}/new.parquet'"
    )
    (run / "new.parquet").replace(part)
    data = embedded(report.write(run, tmp_path / "report.html"))
    assert data["points"]["figures"]["ssim_db_mean"][0] is None
    assert report.summarise(run).rows[0].estimates["ssim_db_mean"].count == 1


def test_the_same_controller_in_two_folders_is_compared_and_not_mixed(tmp_path: Path) -> None:
    before = write_run(tmp_path / "before", controllers=["gcc"], traces=["lte/a"], clips=["anna"], duration_s=5.0)
    after = write_run(tmp_path / "after", controllers=["gcc", "nada"], traces=["lte/a"], clips=["anna"], duration_s=5.0)
    assert [row.controller for row in report.summarise([before, after]).rows] == ["gcc · before", "gcc · after", "nada"]
    assert report.summarise([before, after]).row("gcc · after").differences["ssim_db_mean"].mean == 0.0


def test_shards_of_one_sweep_are_put_together(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", controllers=["gcc"], traces=["lte/a"], clips=["anna"], duration_s=5.0)
    two = write_run(tmp_path / "two", controllers=["gcc"], traces=["lte/b"], clips=["anna"], duration_s=5.0)
    assert [(row.controller, row.calls) for row in report.summarise([one, two]).rows] == [("gcc", 2)]


def test_the_reading_claims_no_difference_that_the_interval_does_not(demo: Path) -> None:
    seen, says = reading(report.summarise(demo))
    assert len(seen) == 3 and seen[0].startswith("On average over 4 calls each, **fixed** used")
    summary = report.summarise(demo)
    for row in summary.rows:
        for sentence in (s for s in says if f"**{row.controller}** has" in s):
            claimed = sentence.split(";")[0]
            for column, label in (("viewed_ssim_db_mean", "SSIM"), ("frame_delay_p98_ms", "p98 frame delay")):
                if label in claimed:
                    assert row.differences[column].excludes_zero()


def test_the_reading_judges_every_captured_frame(tmp_path: Path) -> None:
    run = tmp_path / "run"
    columns = {
        "call": np.arange(2, dtype=np.uint64), "controller": np.array(["gcc", "fixed"]), "trace": np.array(["a", "a"]),
        "clip": np.array(["c", "c"]), "seed": np.ones(2, np.uint64), "frame_delay_p98_ms": np.array([90.0, 20.0]),
        "viewed_delay_p95_ms": np.array([80.0, 900.0]), "on_time_150ms_ratio": np.array([0.99, 0.25]),
        "stall_ratio": np.array([0.04, 0.5]), "stall_floor_ratio": np.array([0.03, 0.03]),
    }  # fmt: skip
    write_run(run, controllers=["gcc", "fixed"], traces=["a"], clips=["c"], duration_s=5.0)
    write_table(run / "summary/00000.parquet", columns)
    [_, fixed], _ = reading(report.summarise(run))
    assert fixed == (
        "**fixed** ran at a p95 frame delay as viewed of 900 ms, had 25.0 % of its frames on time (150 ms) and was "
        "stalled 50 % of the time (the link alone: 3.0 %)."
    )
    # A folder of an older version has only the delay of the frames that came.
    del columns["viewed_delay_p95_ms"], columns["on_time_150ms_ratio"], columns["stall_floor_ratio"]
    write_table(run / "summary/00000.parquet", columns)
    [_, fixed], _ = reading(report.summarise(run))
    assert fixed == "**fixed** ran at a p98 frame delay of 20 ms and was stalled 50 % of the time."


def test_live_links_have_a_table_of_their_own(tmp_path: Path) -> None:
    traces, calls = ["lte/a", "5g/f"], {"controllers": ["gcc", "oracle"], "clips": ["anna"], "duration_s": 5.0}
    both = write_run(tmp_path / "both", traces=traces, **calls)
    text = report.write(both, tmp_path / "both.html").read_text()
    said = "1 of 2 traces is dead for a second or more (below 50 kbit/s): there, outages decide the figures."
    assert text.count(said) == 2 and 'id="live-means"' in text
    live = live_links.live_links(Store([both]), "gcc")
    assert live is not None and live.summary is not None
    alone = report.summarise(write_run(tmp_path / "live", traces=traces[:1], **calls))
    for row in live.summary.rows:
        assert row.calls == 1
        assert row.estimates["viewed_delay_p95_ms"] == alone.row(row.controller).estimates["viewed_delay_p95_ms"]
    assert 'id="live-links"' not in report.write(tmp_path / "live", tmp_path / "live.html").read_text()
    dead = report.write(write_run(tmp_path / "dead", traces=traces[1:], **calls), tmp_path / "dead.html").read_text()
    assert "No link is left." in dead and 'id="live-means"' not in dead


def test_forty_controllers_have_forty_marks() -> None:
    marks = palette.assign([f"controller_{at}" for at in range(40)])
    assert len(set(marks)) == 40


# Machado, Oliveira and Fernandes 2009, severity 1: what a dichromat sees, in linear RGB.
DICHROMATS = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(linear: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of linear sRGB, D65; distances in it are the colour difference ΔE*ab, 2.3 of which are just seen."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    ratios = np.clip(linear, 0, 1) @ to_xyz.T / [0.9505, 1.0, 1.089]
    f = np.where(ratios > 0.008856, np.cbrt(ratios), 7.787 * ratios + 16 / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_the_colour_blind_tell_all_colours_apart(scheme: int) -> None:
    style = "".join((ROOT / "python/legato/report/templates" / name).read_text() for name in ("shared.css", "dark.css"))
    shades = re.findall(r"--c\d: #(\w{6});", style)[palette.COLOURS * scheme :][: palette.COLOURS]
    assert len(shades) == palette.COLOURS
    values = np.array([[int(shade[at : at + 2], 16) / 255 for at in (0, 2, 4)] for shade in shades])
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    for kind, matrix in {"all": np.eye(3), **DICHROMATS}.items():
        seen = lab(linear @ np.array(matrix).T)
        apart = np.linalg.norm(seen[:, None] - seen[None], axis=2)[np.triu_indices(palette.COLOURS, 1)]
        assert apart.min() > 18, kind


def test_a_shipped_controller_keeps_its_colour_whoever_else_runs() -> None:
    assert palette.assign(["zebra", "gcc"])[1] == palette.assign(["gcc", "oracle", "fixed"])[0]


def test_many_calls_are_sampled_by_condition(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "MAX_POINTS", 6)
    data = embedded(report.write(demo, tmp_path / "report.html"))
    points = data["points"]
    assert points["sampled"] and points["total"] == 12 and len(points["variant"]) % 3 == 0
    curve = data["quantiles"]["viewed_ssim_db_mean"][0]
    assert len(curve) == figures.QUANTILES + 1 and curve == sorted(curve)


def test_names_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    nasty = '</script><script>alert("1")</script>'
    run = write_run(tmp_path / "run", controllers=["gcc"], traces=[nasty], clips=["a'b"], duration_s=5.0)
    assert nasty not in report.write(run, tmp_path / "report.html").read_text()


def test_a_folder_with_wildcards_in_its_name_means_itself(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run[1]*", controllers=["gcc"], traces=["lte/a"], clips=["anna"], duration_s=5.0)
    assert report.summarise(run).rows[0].calls == 1


def test_without_the_command_of_the_run_the_page_says_so(demo: Path, tmp_path: Path) -> None:
    assert "To repeat it:" in report.write(demo, tmp_path / "with.html").read_text()
    run = Path(shutil.copytree(demo, tmp_path / "an old run"))
    (run / "repeat.json").unlink()
    assert "an old run has no repeat.json" in report.write(run, tmp_path / "without.html").read_text()


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda run: (run / "manifest.json").unlink(), r"run: not a run folder: it has no manifest\.json"),
        (lambda run: (run / "manifest.json").write_text("{"), r"manifest\.json: not JSON"),
        (lambda run: (run / "manifest.json").write_text("[]"), r"manifest\.json: holds a list, not an object"),
        (lambda run: (run / "manifest.json").write_text('{"format": 2}'), r"manifest\.json: format = 2, this version"),
        (
            lambda run: (run / "manifest.json").write_text('{"format": 1, "calls": "many"}'),
            r'manifest\.json: calls = "many"',
        ),
        (lambda run: (run / "plan.json").write_bytes(b"\xff"), r"plan\.json: not JSON"),
        (lambda run: (run / "summary/00000.parquet").unlink(), r"summary: no finished part: none of 1 calls"),
        (
            lambda run: (run / "summary/00000.parquet").write_bytes(b"PAR1 no"),
            r"summary/00000\.parquet: not a readable Parquet file",
        ),
        (
            lambda run: (run / "series/00000.parquet").write_bytes((run / "series/00000.parquet").read_bytes()[:-40]),
            r"series/00000\.parquet: not a readable Parquet file",
        ),
        (
            lambda run: write_table(run / "summary/00000.parquet", {"call": np.array([0])}),
            r"summary/00000\.parquet: has no column `controller`",
        ),
    ],
)
def test_a_broken_folder_is_one_clear_line(tmp_path: Path, break_it: object, message: str) -> None:
    run = write_run(tmp_path / "run", controllers=["gcc"], traces=["lte/a"], clips=["anna"], duration_s=5.0)
    break_it(run)  # type: ignore[operator]
    with pytest.raises(RunFolderError, match=message) as caught:
        report.write(run, tmp_path / "report.html")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "report.html").exists() and not list(tmp_path.glob("*.partial"))


def test_the_bench_over_many_rows_runs() -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / "benches/report_million.py", "--rows", "9000", "--calls-per-part", "2000"],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    figures_ = json.loads(ran.stdout)
    assert figures_["report_summary_rows"] == 9000
    assert figures_["report_summarise_s"] < 1.0


def test_what_is_no_folder_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path, message in (("absent", "no such folder"), ("file", "is a file, not a run folder")):
        with pytest.raises(RunFolderError, match=message):
            report.summarise(tmp_path / path)
    with pytest.raises(RunFolderError, match="no run folder given"):
        report.summarise([])


def test_a_folder_named_twice_is_refused(demo: Path) -> None:
    with pytest.raises(RunFolderError, match="named twice"):
        report.summarise([demo, demo])
