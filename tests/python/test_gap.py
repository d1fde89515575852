"""Differences between simulated and real calls, on run folders with given figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import legato
from legato import _core, gap
from legato.call import Pictures
from legato.plan import scenarios
from on_time import only_on_time
from run_folders import write_run


def folders(tmp_path: Path, repeats: int = 3) -> tuple[Path, Path]:
    same = {"traces": ("lte/a",), "clips": ("anna",), "seeds": range(1, repeats + 1), "duration_s": 10.0}
    return (
        write_run(tmp_path / "simulated", controllers=("fixed",), **same),
        write_run(tmp_path / "called", controllers=("gcc",), **same),
    )


def test_the_difference_is_called_less_simulated_within_its_interval(tmp_path: Path):
    simulated, called = folders(tmp_path, repeats=5)
    for column, before, after, difference in gap.compare(simulated, called):
        if before.mean is None or after.mean is None:
            assert difference.mean is None, column
            continue
        assert difference.mean == pytest.approx(after.mean - before.mean, abs=1e-9 * max(1.0, abs(after.mean))), column
        assert difference.low <= difference.mean <= difference.high, column


def test_the_page_says_what_intervals_are_over_or_why_there_are_none(tmp_path: Path):
    for repeats, text in (
        (3, "No intervals: 3 repeats, and an interval takes 5."),
        (5, "95 % intervals over 5 repeats on this one network."),
    ):
        simulated, called = folders(tmp_path / str(repeats), repeats)
        found = gap.Gap(simulated, called, gap.compare(simulated, called))
        page = gap.write_page([found], "a scenario", tmp_path / f"{repeats}.html").read_text(encoding="utf-8")
        assert text in page
        assert any("[" in row[3] for row in gap.text_rows(found)) == (repeats == 5)


def test_a_run_differs_from_itself_by_nothing(tmp_path: Path):
    simulated, _ = folders(tmp_path)
    for column, _, _, difference in gap.compare(simulated, simulated):
        assert difference.mean in (0, None), column


def test_the_page_has_the_table_and_a_line_of_every_call(tmp_path: Path):
    simulated, called = folders(tmp_path)
    found = gap.Gap(simulated, called, gap.compare(simulated, called))
    text = gap.write_page([found], "a <scenario>", tmp_path / "gap.html").read_text(encoding="utf-8")
    assert "a &lt;scenario&gt;" in text
    assert text.count('<path class="line') == 2 * 3 * len(gap.LINES)
    assert len(gap.text_rows(found)) == len(gap.FIGURES)


def test_pairs_that_are_too_far_apart_are_named(tmp_path: Path):
    simulated, called = folders(tmp_path)
    same = gap.Gap(simulated, simulated, gap.compare(simulated, simulated))
    assert same.misses() == []
    rows = []
    for column, before, after, difference in gap.compare(simulated, called):
        if column == "receiver_rate_bps":
            after = type(after)(before.mean * 1.11, None, None, 3)
        if column == "loss_ratio":
            after = type(after)((before.mean or 0.0) + 0.011, None, None, 3)
        if column == "one_way_delay_p95_ms":
            after = before
        rows.append((column, before, after, difference))
    far = gap.Gap(simulated, called, rows)
    assert far.misses() == ["receiver rate", "loss"]
    [row] = gap.pair_rows({"steady-gcc": far})
    assert row == ("steady-gcc", "+11.0 %", "+0.0", "+1.10", "receiver rate, loss", "")


def test_a_simulation_does_with_pictures_what_the_call_does(tmp_path: Path):
    text = (
        'name = "s"\nduration_s = 5.0\ncontroller = {{ name = "gcc" }}\n[video]\n{}\n[forward]\npropagation_ms = 20.0\n'
    )
    silent, says = tmp_path / "silent.toml", tmp_path / "says.toml"
    silent.write_text(text.format("fps = 25"))
    says.write_text(text.format("adapt_resolution = true"))
    asked = {"duration_s": 3.0}
    webrtc = {"receiver.feedback_timing": "rtcp"}
    own = {**asked, "video.first_picture": 0, "video.adapt_resolution": False, **webrtc}
    assert gap.as_called(silent, asked, "legato") == own
    assert gap.as_called(silent, asked) == {**own, "receiver.nack_interval_ms": 110.0}
    assert gap.as_called(says, None)["video.adapt_resolution"] is True
    assert gap.as_called(silent, {"video.adapt_resolution": True})["video.adapt_resolution"] is True


def test_of_two_ways_each_is_held_against_itself(tmp_path: Path):
    options = {"duration_s": 3.0, "reverse.capacity": {"constant_bps": 200_000}}
    alike = gap.as_called("steady", options, "legato", "both")
    run = legato.run("steady", out=tmp_path / "run", options=alike, controllers=["gcc"], seeds=[1, 2]).folder
    forward, reverse = (gap.Gap(run, run, gap.compare(run, run, flow), flow) for flow in ("forward", "reverse"))
    rates = [next(row[1].mean for row in one.rows if row[0] == "receiver_rate_bps") for one in (forward, reverse)]
    assert rates[0] > 1.5 * rates[1] > 0
    assert forward.misses() == reverse.misses() == []
    text = gap.write_page([forward, reverse], "both", tmp_path / "gap.html").read_text(encoding="utf-8")
    assert "Figures, forward" in text and "Figures, reverse" in text
    assert text.count('<path class="line') == 2 * 2 * 2 * len(gap.LINES)


@pytest.mark.parametrize(("peers", "direction"), [("chromium-chromium", "send"), ("chromium", "receive")])
def test_what_a_browser_sends_has_no_simulation_to_be_held_against(tmp_path: Path, peers: str, direction: str):
    with pytest.raises(legato.CallError, match="a gap is of what we send"):
        gap.measure("steady", tmp_path / "gap", peers=peers, direction=direction)
    assert not (tmp_path / "gap").exists()


def test_a_simulation_meets_a_trace_at_several_places() -> None:
    path, text = scenarios.read("cellular", {"forward.capacity.start_s": 3.0})
    found = gap.phases(path, text)
    assert len(found) == len(gap.PHASES_S)
    assert all(spec.endswith(",scale=0.2") and Path(spec.partition("@")[0]).is_file() for spec in found)
    assert [spec.partition("start_s=")[2].split(",")[0] for spec in found[:2]] == ["3", "3.02"]
    shipped_name = 'name = "a"\n[forward]\ncapacity = { trace = "fcc/12" }\n'
    assert gap.phases(Path("a.toml"), shipped_name)[1] == "fcc/12@start_s=0.02"
    assert gap.phases(*scenarios.read("steady")) == []


@pytest.mark.calls
def test_both_ways_of_a_call_are_held_against_their_simulation(tmp_path: Path):
    if not hasattr(_core, "RealCall"):
        pytest.skip("this build makes no real calls: it lacks the feature `calls`")
    gaps = gap.measure(
        "steady",
        tmp_path / "gap",
        repeats=1,
        options={"duration_s": 6.0},
        controllers=["fixed@target_bitrate_bps=150000"],
        pictures=Pictures(width=320, height=180, fps=15),
        peers="legato",
        direction="both",
    )
    assert [one.flow for one in gaps] == ["forward", "reverse"]
    files = sorted((gaps[0].called / "calls").iterdir())
    only_on_time(*(json.loads(file.read_text(encoding="utf-8")) for file in files))
    for one in gaps:
        figures = {column: (before.mean, after.mean) for column, before, after, _ in one.rows}
        # Of the packets a quarter of a second of the call is on its way at its end.
        assert figures["receiver_rate_bps"][1] == pytest.approx(figures["receiver_rate_bps"][0], rel=0.25), one.flow
        assert figures["viewed_ssim_db_mean"][1] > 5, one.flow
    assert "Figures, reverse" in (tmp_path / "gap" / "gap.html").read_text(encoding="utf-8")


@pytest.mark.calls
def test_a_call_between_two_ends_of_ours_is_held_against_its_simulation(tmp_path: Path):
    if not hasattr(_core, "RealCall"):
        pytest.skip("this build makes no real calls: it lacks the feature `calls`")
    pictures = Pictures(width=320, height=180, fps=15)
    [found] = gap.measure(
        "steady",
        tmp_path / "gap",
        repeats=1,
        options={"duration_s": 6.0},
        controllers=["fixed@target_bitrate_bps=150000"],
        pictures=pictures,
        peers="legato",
    )
    if found.invalid_calls():
        pytest.skip("the machine is busy: the emulated link was late")
    figures = {column: (before.mean, after.mean) for column, before, after, _ in found.rows}
    assert figures["loss_ratio"] == (0.0, 0.0)
    # Of the packets a quarter of a second of the call is on its way at its end.
    assert figures["receiver_rate_bps"][1] == pytest.approx(figures["receiver_rate_bps"][0], rel=0.25)
    assert figures["viewed_ssim_db_mean"][1] > 5
    assert "viewed SSIM" in (tmp_path / "gap" / "gap.html").read_text(encoding="utf-8")
