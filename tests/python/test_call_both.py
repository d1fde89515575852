"""Real calls with media both ways, between two Legato ends and with Chromium.

They take as long as they last. Properties that hold on any machine are always tested, the figures of the link only of a
call that counts.
"""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

import legato
from legato import _core
from legato.call import Pictures, ends
from on_time import only_on_time

pytestmark = pytest.mark.skipif(
    not hasattr(_core, "RealCall"), reason="this build makes no real calls: it lacks the feature `calls`"
)

SCENARIO = """
name = "both"
duration_s = 8.0
controller = { name = "gcc" }
[limits]
start_bps = 500_000
[forward]
propagation_ms = 20.0
capacity = { constant_bps = 1_500_000 }
[reverse]
propagation_ms = 20.0
capacity = { constant_bps = 800_000 }
"""
SMALL = Pictures(width=640, height=360)
CAPACITY_BPS = (1.5e6, 0.8e6)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "both.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return file


def rows(folder: Path, table: str, columns: str) -> list[tuple]:
    return duckdb.sql(f"SELECT {columns} FROM read_parquet('{folder}/{table}/*.parquet')").fetchall()


def machines_of(folder: Path) -> list[dict]:
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted((folder / "calls").glob("*.json"))]


def threads_of_calls() -> set[str]:
    names = (Path(task) / "comm" for task in Path("/proc/self/task").glob("*"))
    return {name for file in names if (name := file.read_text(encoding="utf-8").strip()).startswith("legato-")}


def test_two_ends_of_ours_send_to_each_other(scenario: Path, tmp_path: Path):
    folder = tmp_path / "run"
    legato.real_calls(scenario, out=folder, pictures=SMALL, peers="legato", direction="both", log="packets")
    assert threads_of_calls() == set()
    assert sorted(file.name for file in (folder / "summary").iterdir()) == ["00000.parquet"]
    columns = "call, session, flow, controller, round(capacity_mean_bps)"
    assert sorted(rows(folder, "summary", columns)) == [
        (0, 0, "forward", "gcc", 1.5e6),
        (1, 0, "reverse", "gcc", 0.8e6),
    ]
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["calls"], manifest["calls_per_session"], manifest["calls_per_part"]) == (2, 2, 2)
    machines = machines_of(folder)
    for machine in machines:
        assert (machine["misnumbered"], machine["odd_sizes"], machine["misread"]) == (0, 0, 0)
        assert machine["end_s"] == pytest.approx(8.0, abs=0.1)
    for captured, encoded, rendered in rows(folder, "summary", "frames_captured, frames_encoded, frames_rendered"):
        assert captured == pytest.approx(240, abs=5)
        assert rendered > 0.8 * encoded > 0.4 * captured
    # Whatever the machine does, a link carries no more than it can: media and the other call's feedback.
    carried = rows(folder, "summary", "call, receiver_rate_bps")
    feedback_bps = dict(rows(folder, "summary", "1 - call, feedback_rate_bps"))
    for call, rate_bps in carried:
        assert 0 < feedback_bps[call] < 0.1 * rate_bps
        assert rate_bps + feedback_bps[call] < 1.02 * CAPACITY_BPS[call]
    only_on_time(*machines)
    late = f"SELECT call, avg(receiver_rate_bps) FROM read_parquet('{folder}/series/*.parquet') WHERE time_ms >= 3000"
    used = duckdb.sql(f"{late} GROUP BY call").fetchall()
    assert all(rate_bps > 0.4 * CAPACITY_BPS[call] for call, rate_bps in used), used


def test_the_feedback_of_one_way_waits_behind_the_media_of_the_other(scenario: Path, tmp_path: Path):
    folder = tmp_path / "run"
    controllers = ["fixed@target_bitrate_bps=600000"]
    how = {"controllers": controllers, "pictures": SMALL, "peers": "legato", "direction": "both", "log": "packets"}
    legato.real_calls(scenario, out=folder, options={"duration_s": 5.0}, **how)
    # 20 ms of propagation and 1 ms for a report of 100 bytes, if nothing is before it. A packet of media takes 12 ms of
    # the reverse link, so many a report finds one or more there.
    waited = "quantile_cont((arrived_ns - sent_ns) / 1e6, 0.75), min((arrived_ns - sent_ns) / 1e6)"
    [(upper_ms, least_ms)] = duckdb.sql(
        f"SELECT {waited} FROM read_parquet('{folder}/rtcp/*.parquet') WHERE call = 0"
    ).fetchall()
    assert 20 < least_ms
    assert upper_ms > 24


def test_what_a_report_and_a_comparison_show_of_both_ways(scenario: Path, tmp_path: Path):
    folder, simulated = tmp_path / "run", tmp_path / "simulated"
    options = {"duration_s": 3.0}
    how = {"pictures": SMALL, "peers": "legato", "direction": "both"}
    legato.real_calls(scenario, out=folder, options=options, **how)
    legato.run(scenario, out=simulated, options=ends.with_both_ways(SCENARIO, options))
    assert rows(simulated, "summary", "session, flow") == rows(folder, "summary", "session, flow")
    page = legato.write_report([folder, simulated], tmp_path / "report.html").read_text(encoding="utf-8")
    assert "forward" in page and "reverse" in page


@pytest.mark.browser
def test_chromium_and_we_send_to_each_other(scenario: Path, tmp_path: Path):
    folder = tmp_path / "run"
    options = {"duration_s": 10.0}
    legato.real_calls(scenario, out=folder, options=options, pictures=SMALL, direction="both")
    assert threads_of_calls() == set()
    columns = "call, flow, controller, encoder, decoder"
    assert sorted(rows(folder, "summary", columns)) == [
        (0, "forward", "gcc", "openh264 (real)", "browser"),
        (1, "reverse", "chromium", "chromium's h264", "openh264 (real)"),
    ]
    machines = machines_of(folder)
    assert all((machine["misnumbered"], machine["odd_sizes"]) == (0, 0) for machine in machines)
    [ours, theirs] = sorted(rows(folder, "summary", "call, frames_captured, frames_rendered, receiver_rate_bps"))
    assert ours[1] == pytest.approx(300, abs=5)
    assert ours[2] > 0.5 * ours[1]
    assert theirs[2] > 0.5 * theirs[1] > 60
    assert all(rate_bps < 1.02 * CAPACITY_BPS[call] for call, _, _, rate_bps in (ours, theirs))
    # The statistics of each end belong to its own call.
    assert {call for (call,) in rows(folder, "receiver", "DISTINCT call")} == {0}
    assert {call for (call,) in rows(folder, "outbound", "DISTINCT call")} == {1}
    assert {call for (call,) in rows(folder, "shown", "DISTINCT call")} == {0, 1}
    # Its own rate control finds the reverse link.
    only_on_time(*machines)
    [(estimate_bps,)] = rows(folder, "outbound", "median(available_bitrate_bps) FILTER (time_ms > 6000)")
    assert 0.3e6 < estimate_bps < 1.2e6


@pytest.mark.browser
def test_two_browsers_send_to_each_other(scenario: Path, tmp_path: Path):
    folder = tmp_path / "run"
    how = {"pictures": Pictures(width=320, height=180), "peers": "chromium-chromium", "direction": "both"}
    legato.real_calls(scenario, out=folder, **how)
    assert threads_of_calls() == set()
    columns = "call, flow, controller, encoder, decoder"
    assert sorted(rows(folder, "summary", columns)) == [
        (0, "forward", "chromium", "chromium's h264", "browser"),
        (1, "reverse", "chromium", "chromium's h264", "browser"),
    ]
    assert {call for (call,) in rows(folder, "receiver", "DISTINCT call")} == {0, 1}
    assert {call for (call,) in rows(folder, "outbound", "DISTINCT call")} == {0, 1}
    for call, captured, rendered, rate_bps in rows(
        folder, "summary", "call, frames_captured, frames_rendered, receiver_rate_bps"
    ):
        assert rendered > 0.5 * captured > 40
        assert 0 < rate_bps < 1.02 * CAPACITY_BPS[call]


@pytest.mark.parametrize(
    ("options", "how", "why"),
    [
        ({}, {"peers": "legato", "direction": "both", "link": "tun"}, "link tun: with peers legato"),
        ({"calls": [{}]}, {"peers": "legato"}, "calls: the scenario has several, and direction send is one"),
        ({"calls": [{}, {}]}, {"peers": "legato", "direction": "both"}, "calls: real calls are one, or two of which"),
        (
            {"calls": [{}, {"direction": "reverse", "start_s": 1.0}]},
            {"peers": "legato", "direction": "both"},
            r"calls\[1\].start_s: the two directions of a real call",
        ),
        (
            {"tcp": [{}]},
            {"peers": "legato", "direction": "both"},
            "tcp, udp, links: a real call shares its links with nothing",
        ),
    ],
)
def test_what_cannot_be_made_both_ways_says_so(scenario: Path, tmp_path: Path, options: dict, how: dict, why: str):
    with pytest.raises(legato.Error, match=why) as refused:
        legato.real_calls(scenario, out=tmp_path / "run", options=options, pictures=SMALL, **how)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_pauses_are_those_of_both_ways():
    paused = SCENARIO + "[[pauses]]\nstart_s = 1.0\nend_s = 2.0\n"
    [first, second] = ends.with_both_ways(paused, {"duration_s": 5.0})["calls"]
    assert first["pauses"] == second["pauses"] == [{"start_s": 1.0, "end_s": 2.0}]
    assert ends.with_both_ways("[[calls]]", {"duration_s": 5.0}) == {"duration_s": 5.0}
