"""The RFC 8867 cases: marks on made-up rates, and whole cases from scenario to page."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from legato.conformance import CASES, conformance, contestants, criteria, page
from legato.conformance.encouraged import ENCOURAGED, chosen
from legato.conformance.flows import BIN_S, Flow, Session, jain, read, rolling
from legato.conformance.judge import (
    Segment,
    Verdict,
    at_most,
    never_starved,
    ratios,
    reached_s,
    segments,
    settle_s,
    swings,
    variable_capacity,
    worst,
)
from legato.conformance.notes import notes_on
from legato.conformance.plots import plot
from legato.errors import Error
from legato.plan import Choice, shipped


def flow(rates_bps: np.ndarray, queue_ms: float = 5.0, loss_ratio: float = 0.0, name: str = "call 1") -> Flow:
    like = np.ones_like(rates_bps)
    return Flow(
        name=name,
        kind="call",
        start_s=0.0,
        stop_s=rates_bps.size * BIN_S,
        receiver_bps=rates_bps,
        sending_bps=rates_bps / (1 - loss_ratio),
        capacity_bps=like * 1e6,
        queue_ms=like * queue_ms,
        loss_ratio=like * loss_ratio,
    )


def constant(bps: float, seconds: float) -> np.ndarray:
    return np.full(round(seconds / BIN_S), bps)


def test_a_rate_that_reaches_its_share_is_settled_from_then_on() -> None:
    rates = np.concatenate([constant(0.2e6, 10), constant(0.9e6, 20)])
    # The 2 s mean is 0.2 + 0.7 n / 20 after n bins: at 0.65 or more with the 13th, which begins at 11.2 s.
    assert settle_s(flow(rates), Segment(0, 30, 1e6, falls=False)) == pytest.approx(11.2)
    assert settle_s(flow(constant(0.5e6, 30)), Segment(0, 30, 1e6, falls=False)) == float("inf")


def test_a_rate_that_leaves_its_share_for_good_never_settled() -> None:
    rates = np.concatenate([constant(0.9e6, 20), constant(0.3e6, 10)])
    assert settle_s(flow(rates), Segment(0, 30, 1e6, falls=False)) == float("inf")


def test_swings_count_turns_and_not_ripples() -> None:
    time = np.arange(0, 20, BIN_S)
    wide = 1e6 + 0.3e6 * np.sin(2 * np.pi * time / 4)
    ripple = 1e6 + 0.1e6 * np.sin(2 * np.pi * time / 4)
    # Five periods have ten extremes; the end is 0.25 above the last one, just enough.
    assert swings(wide, 1e6) == 10
    assert swings(ripple, 1e6) == 0
    assert swings(np.linspace(0, 2e6, 100), 1e6) == 0


def test_a_flow_of_the_right_rate_passes_and_one_of_half_fails_for_its_rate() -> None:
    parts = segments(((0.0, 1e6), (15.0, 0.5e6)), 30.0, 1, 1.5e6)
    assert [part.falls for part in parts] == [False, True]
    good = flow(np.concatenate([constant(0.9e6, 15), constant(0.45e6, 15)]))
    assert all(check.passed for check in variable_capacity(good, parts))
    half = flow(np.concatenate([constant(0.5e6, 15), constant(0.25e6, 15)]))
    assert {check.name.split(" ")[0] for check in variable_capacity(half, parts) if not check.passed} == {
        "use",
        "settled",
    }
    queued = flow(good.receiver_bps, queue_ms=200.0, loss_ratio=0.05)
    missed = [check.name for check in variable_capacity(queued, parts) if not check.passed]
    assert missed == ["queue p95 outside falls (ms)", "loss outside falls"]


def test_shares_of_a_link_are_capped_by_what_a_call_can_use() -> None:
    assert [part.fair_bps for part in segments(((0.0, 4e6), (25.0, 2e6)), 50.0, 2, 1.5e6)] == [1.5e6, 1e6]


def test_the_ratio_of_two_flows_is_the_furthest_of_any_window() -> None:
    one = flow(constant(1e6, 60))
    other = flow(np.concatenate([constant(1e6, 30), constant(0.25e6, 30)]))
    assert ratios([one, other], 0.0, 60.0, (1 / 3, 3)).value == pytest.approx(4.0)
    assert not ratios([one, other], 0.0, 60.0, (1 / 3, 3)).passed
    assert ratios([one, one], 0.0, 60.0, (1 / 3, 3)).value == 1.0


def test_starving_is_the_longest_time_below_the_minimum() -> None:
    rates = np.concatenate([constant(0.5e6, 10), constant(0.0, 5), constant(0.5e6, 10)])
    # 1 s means are below 0.8 of 150 kbit/s from 0.8 s into the gap to 0.3 s behind it.
    assert never_starved(flow(rates), 150e3, 2.0, "x").value == pytest.approx(4.5, abs=0.2)
    assert reached_s(flow(rates), 0.4e6, 12.0, 25.0) == pytest.approx(4.6, abs=0.2)


def test_jain_and_rolling_by_hand() -> None:
    assert jain([1.0, 1.0]) == 1.0
    assert jain([1.0, 0.0]) == 0.5
    assert jain([2.0, 1.0]) == pytest.approx(0.9)
    assert np.allclose(rolling(np.array([1.0, 2.0, 3.0]), 2 * BIN_S)[1:], [1.5, 2.5])


def test_the_worst_seed_is_the_verdict() -> None:
    verdict = worst([[at_most("a", 1.0, 2.0)], [at_most("a", 3.0, 2.0)], [at_most("a", 2.5, 2.0)]])
    assert (verdict.checks[0].value, verdict.passed) == (3.0, False)


def test_every_case_has_its_scenario_and_what_it_needs_comes_before_it() -> None:
    seen: set[str] = set()
    for case in (*CASES, *ENCOURAGED):
        assert shipped.scenario(case.scenario).is_file(), case
        assert set(case.needs) <= seen
        seen.add(case.key)
    assert {case.section for case in CASES} >= {f"5.{n}" for n in range(1, 9)} | {"6.1", "6.2", "6.3", "8869"}
    with_ecn = {case.key.removeprefix("6.2-")[:3] for case in CASES if case.section == "6.2"}
    assert with_ecn == {f"5.{n}" for n in range(1, 9)}


# [rfc8869] §3.2: g is a series of each case before it.
def test_the_wireless_series_has_each_of_its_cases() -> None:
    series = chosen(["8869-3.2g"])
    assert {case.key for case in series} == {f"8869-3.2g-{way}-{n}" for way in "abcdef" for n in (4, 8, 12, 16, 20)}
    for case in series:
        calls = case.options["calls"]
        assert len(calls) == int(case.key.split("-")[-1])
        assert all(0 <= call["start_s"] <= 10 and 110 <= call["stop_s"] <= 120 for call in calls)
        assert all(call["route"] != call["return_route"] for call in calls)
    cells = {case.key for case in chosen(["8869-2.1", "8869-2.2"])}
    assert len(cells) == 16 and "8869-2.2-150-up-aqm" in cells


def test_the_delay_varies_on_the_forward_way_alone() -> None:
    for case in chosen(["5.1", "5.2"]):
        table = tomllib.loads(shipped.scenario(case.scenario).read_text(encoding="utf-8"))
        delays = (table["forward"]["propagation_ms"], table["reverse"]["propagation_ms"])
        assert delays == (100.0 if "100" in case.key else 50.0, 50.0), case.key


# [rfc8868] §4.1, §5.1: delays of 1, 150 and 300 ms; thirty connections that start together.
def test_what_is_encouraged_runs_only_where_it_is_named(tmp_path: Path) -> None:
    assert not {case.key for case in chosen([])} & {case.key for case in ENCOURAGED}
    assert [case.key for case in chosen(["4.2-5.7"])] == ["4.2-5.7-cubic", "4.2-5.7-bursts"]
    for case in ENCOURAGED:
        made = Choice(shipped.scenario(case.scenario), options=case.options, log="summary").plan()
        assert made.sessions == 1
    suite = conformance(["gcc"], out=tmp_path / "bursts", cases=["4.2-5.7-bursts"])
    (session,) = suite.sessions.values()
    together = np.sum([np.nan_to_num(flow.sending_bps) > 0 for flow in session.traffic], axis=0)
    # Thirty connections that start together: bins in which none sends, and bins in which all do.
    assert len(session.traffic) == 30 and together.max() == 30 and (together == 0).mean() > 0.1


def test_a_case_brings_what_it_is_compared_with() -> None:
    assert [case.key for case in chosen(["5.3a"])] == ["5.3a-reference", "5.3a"]
    with pytest.raises(Error, match="no case has this name"):
        conformance(["gcc"], out="nowhere", cases=["9.9"])


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory):
    out = tmp_path_factory.mktemp("conformance") / "some"
    return conformance(
        ["gcc", "fixed@target_bitrate_bps=1400000"], out=out, cases=["5.1a-50", "5.6-300", "5.8"], seeds=2
    )


def test_a_controller_that_adapts_passes_where_one_that_does_not_fails(suite) -> None:
    gcc, fixed = suite.controllers
    assert suite.verdicts[gcc, "5.1a-50"].passed
    assert not suite.verdicts[fixed, "5.1a-50"].passed
    document = json.loads((suite.folder / "verdicts.json").read_text())
    assert {(row["controller"], row["case"]) for row in document["verdicts"]} == set(suite.verdicts)


def test_a_paused_flow_sends_nothing_and_the_others_take_its_share(suite) -> None:
    (session, *_) = read(suite.folder / "runs" / "5.8")
    first, second, _third = session.calls
    assert second.mean_bps(45, 60) < 1_000
    assert second.mean_bps(30, 40) > 100e3 and second.mean_bps(90, 119) > 100e3
    assert first.mean_bps(50, 60) > first.mean_bps(30, 40)


def test_flows_stand_on_the_sessions_time_axis(suite) -> None:
    (session, *_) = read(suite.folder / "runs" / "5.6-300")
    (call,), (tcp,) = session.calls, session.traffic
    assert np.isnan(call.receiver_bps[:50]).all() and not np.isnan(call.receiver_bps[50])
    assert (call.start_s, call.stop_s, tcp.start_s, tcp.kind) == (5.0, 119.0, 0.0, "tcp-reno")
    assert 1.5e6 < tcp.mean_bps(2, 5) <= 2.02e6


def test_the_page_holds_every_verdict_and_plot_and_needs_nothing_else(suite) -> None:
    written = page.write(suite, suite.folder / "conformance.html").read_text()
    assert written.count("<svg viewBox=") == len(suite.cases) * len(suite.controllers)
    assert "{{" not in written and "nan" not in written.lower().replace("nanoseconds", "")
    assert "src=" not in written and "http" not in written
    assert "fixed" in written and "5.1a-50" in written


@pytest.mark.browser
def test_the_page_fits_a_telephone(suite) -> None:
    from legato.call import browser

    written = page.write(suite, suite.folder / "conformance.html")
    with browser.launched() as chromium:
        shown = chromium.new_page(viewport={"width": 390, "height": 800})
        shown.goto(written.as_uri())
        assert shown.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_folder_that_is_there_is_gone_on_with_only_if_asked(suite, tmp_path: Path) -> None:
    with pytest.raises(Error, match="not empty"):
        conformance(["gcc"], out=suite.folder, cases=["5.1a-50"])
    again = conformance(
        ["gcc", "fixed@target_bitrate_bps=1400000"], out=suite.folder, cases=["5.1a-50"], seeds=2, resume=True
    )
    assert again.verdicts[again.controllers[0], "5.1a-50"] == suite.verdicts[suite.controllers[0], "5.1a-50"]


def test_a_flow_that_comes_late_is_drawn_from_when_it_comes() -> None:
    late = flow(np.concatenate([np.full(100, np.nan), constant(1e6, 10)]))
    session = Session("x", 1, 20.0, (late,), ())
    drawn = plot(CASES[0], session)
    assert drawn.count('class="line') == 3 and "nan" not in drawn


def test_everyone_takes_part_and_three_stand_beside_without_a_verdict(tmp_path: Path) -> None:
    suite = conformance(out=tmp_path / "all", cases=["5.1a-50", "5.1b-50"])
    assert {"gcc", "nada", "scream", "ukf"} <= set(suite.controllers)
    assert not {"fixed", "oracle", "clairvoyant", "remote"} & set(suite.controllers)
    assert suite.references == ("fixed", "oracle", "clairvoyant")
    first, second = suite.cases
    # The link's capacity is not the call's where UDP has most of it.
    assert suite.shown(first)[-3:] == ["fixed", "oracle", "clairvoyant"] and suite.shown(second)[-1] == "fixed"
    # The marks can be met, and not by asking for the same always.
    assert suite.verdicts["oracle", first.key].passed
    assert not suite.verdicts["fixed", first.key].passed
    written = page.write(suite, tmp_path / "page.html").read_text()
    assert written.count('<tr class="reference">') == 3 and '<b class="reference">reference</b>' in written
    figures = json.loads((tmp_path / "all" / "figures.json").read_text())["sessions"]
    assert len(figures) == 2 * len(suite.controllers) + 4
    assert all(flow["delay_std_ms"] > 0 for row in figures for flow in row["flows"])


def test_who_cannot_be_made_from_a_name_alone_is_left_out_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contestants, "refusal", lambda name: "there is no policy" if name == "gcc" else None)
    who = contestants.everyone()
    assert "gcc" not in who.judged and "nada" in who.judged
    assert who.left_out == (("gcc", "there is no policy"),)


def test_the_marks_are_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "measured" / "conformance.md").read_text()
    missing = [name for name in vars(criteria) if name.isupper() and name not in text]
    assert not missing


def test_a_note_stands_where_its_check_fails_and_nowhere_else() -> None:
    case = next(case for case in CASES if case.key == "5.1b-50")
    missed = Verdict((at_most("queue p95 outside falls (ms)", 297.0, 150.0),))
    assert len(notes_on("gcc", case, missed)) == 1
    assert not notes_on("gcc", case, Verdict((at_most("queue p95 outside falls (ms)", 97.0, 150.0),)))
    assert not notes_on("sqp", case, missed)
    assert notes_on("gcc(aimd.beta=0.9)", case, missed)
