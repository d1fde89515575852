"""``legato reproduce NAME --real``: the comparisons, and which of them count."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest

from legato import _core
from legato.errors import Error
from legato.links import access_networks
from legato_studies.papers import real_calls
from legato_studies.papers.real_calls import FIGURES, STUDIES, Call, judge


def call(controller: str, window: int, ssim_db: float, *, valid: bool = True, access: str = "3G") -> Call:
    figures = dict.fromkeys(FIGURES, 1.0) | {"ssim_db": ssim_db, "drops_percent": 20.0 - ssim_db}
    return Call(access, controller, f"recording-{window}", window, valid, figures)


def test_every_study_has_links_to_call_over_and_figures_of_those_it_names():
    for study in STUDIES.values():
        assert set(study.accesses) <= set(access_networks.ACCESSES)
        for (access, controller), printed in study.published.items():
            assert access in study.accesses
            assert controller in (study.ours, *study.rivals)
            assert set(printed) <= set(FIGURES)


def test_differences_are_of_the_same_window_where_both_calls_count():
    calls = [call("ukf", 0, 10.0), call("ukf", 1, 12.0), call("ukf", 2, 2.0)]
    calls += [call("r3net", 0, 11.0), call("r3net", 1, 15.0), call("r3net", 2, 30.0, valid=False)]
    rows = {row.name: row for row in judge(STUDIES["r3net"], calls) if row.table == "3G"}
    ahead = rows["SSIM of what was viewed (dB), less ukf's"]
    assert ahead.mean == pytest.approx(2.0)
    assert (ahead.verdict, "2 pairs" in ahead.why) == ("no claim", True), "Table 2 has no SSIM"
    assert rows["r3net: SSIM of what was viewed (dB)"].mean == pytest.approx(13.0)
    # As printed in Table 2: 11.2 minus 6.5.
    assert rows["frames not shown (%), less ukf's"].published == 4.7


def test_behind_on_every_link_is_not_met():
    calls = [call("ukf", window, 10.0, access="Wi-Fi") for window in range(10)]
    calls += [call("r3net", window, 9.0 - window / 10, access="Wi-Fi") for window in range(10)]
    rows = {row.name: row.verdict for row in judge(STUDIES["r3net"], calls) if row.table == "Wi-Fi"}
    assert rows["frames not shown (%), less ukf's"] == "not met"
    assert rows["RTT, p95 (ms), less ukf's"] == "not comparable", "the paper's own is behind in it"
    assert rows["RTT, mean (ms), less ukf's"] == "not comparable", "the paper has no difference"
    elsewhere = {row.verdict for row in judge(STUDIES["r3net"], calls) if row.table == "3G"}
    assert elsewhere == {"no claim", "not comparable"}


NAME = "frames not shown (%), less ukf's"
"""On Wi-Fi the paper's R3Net has 0.7 points fewer of them."""


def of_wifi(calls: list[Call]) -> real_calls.Row:
    return next(row for row in judge(STUDIES["r3net"], calls) if (row.table, row.name) == ("Wi-Fi", NAME))


def test_windows_of_one_recording_count_once():
    def of(recordings: list[str]) -> list[Call]:
        made = [call("ukf", window, 10.0, access="Wi-Fi") for window in range(12)]
        made += [call("r3net", window, 11.0 + window / 10, access="Wi-Fi") for window in range(12)]
        return [dataclasses.replace(one, recording=recordings[one.place]) for one in made]

    for recordings, verdict in ((list("aaaaaaaabbcd"), "undecidable"), (list("abcdefghijkl"), "met")):
        row = of_wifi(of(recordings))
        assert (row.verdict, row.groups) == (verdict, len(set(recordings)))
        assert (row.low is None) == (verdict == "undecidable")


def test_fewer_than_ten_pairs_have_no_verdict():
    def of(pairs: int) -> str:
        made = [call("ukf", window, 10.0, access="Wi-Fi") for window in range(pairs)]
        made += [call("r3net", window, 11.0 + window / 10, access="Wi-Fi") for window in range(pairs)]
        return of_wifi(made).verdict

    assert (of(9), of(10)) == ("undecidable", "met")


def test_calls_that_were_made_before_are_judged_without_being_made_again():
    calls = [call("ukf", 0, 10.0), call("r3net", 0, 11.0)]
    kept = json.loads(json.dumps([dataclasses.asdict(one) for one in calls]))
    assert real_calls.judged_again("r3net", kept) == judge(STUDIES["r3net"], calls)


def test_a_figure_that_no_call_has_is_not_shown():
    without = dataclasses.replace(call("ukf", 0, 10.0), values=dict.fromkeys(FIGURES, 1.0) | {"vmaf": math.nan})
    assert not any("VMAF" in row.name for row in judge(STUDIES["r3net"], [without]))
    with_it = [row for row in judge(STUDIES["r3net"], [call("ukf", 0, 10.0)]) if row.name.startswith("ukf: VMAF")]
    # As printed in Table 2.
    assert [row.published for row in with_it] == [81.8]


@pytest.mark.calls
def test_a_study_is_made_of_calls_and_can_be_gone_on_with(tmp_path: Path):
    if not hasattr(_core, "RealCall"):
        pytest.skip("this build makes no real calls: it lacks the feature `calls`")
    out = tmp_path / "study"
    done = real_calls.reproduce("r3net", out, calls=1, duration_s=3.0, retries=0)
    assert [(call.access, call.controller) for call in done.calls] == [
        ("3G", "ukf"),
        ("3G", "r3net"),
        ("Wi-Fi", "ukf"),
        ("Wi-Fi", "r3net"),
    ]
    assert all(call.values["receiver_rate_kbps"] > 20 for call in done.calls)
    page = out / "reproduction.html"
    assert "SSIM of what was viewed" in page.read_text(encoding="utf-8")
    assert json.loads((out / "reproduction.json").read_text(encoding="utf-8"))["real"]
    with pytest.raises(Error, match="not empty"):
        real_calls.reproduce("r3net", out, calls=1, duration_s=3.0, retries=0)
    again = real_calls.reproduce("r3net", out, calls=1, duration_s=3.0, retries=0, resume=True)
    assert again.calls == done.calls

    # One that was late is made again, and only that.
    record = out / "3g" / "calls" / "00000.json"
    record.write_text(json.dumps(json.loads(record.read_text(encoding="utf-8")) | {"valid": False}), encoding="utf-8")
    for other in sorted((out / "3g" / "calls").glob("*.json"))[1:]:
        other.write_text(json.dumps(json.loads(other.read_text(encoding="utf-8")) | {"valid": True}), encoding="utf-8")
    kept = {file.name: file.stat().st_mtime_ns for file in (out / "3g" / "summary").glob("*.parquet")}
    assert real_calls.forget_late(out / "3g") == 1
    assert not record.exists() and not (out / "3g" / "summary" / "00000.parquet").exists()
    real_calls.reproduce("r3net", out, calls=1, duration_s=3.0, retries=0, resume=True)
    now = {file.name: file.stat().st_mtime_ns for file in (out / "3g" / "summary").glob("*.parquet")}
    assert now.keys() == kept.keys()
    assert [name for name in sorted(now) if now[name] != kept[name]] == ["00000.parquet"]
