"""CLCC and its rival HRCC: reward and scores by hand, verdicts by hand-made calls, a small reproduction for real."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="gymnasium is not installed: make setup")

from conftest import Legato
from legato.envs import Intervals
from legato.envs.clcc_reward import ClccReward, burst_loss_ratio
from legato.envs.intervals import COLUMNS
from legato.envs.rewards import named
from legato.errors import Error
from legato.published import clcc, clcc_figures
from legato.published.clcc_figures import qoe_frame, qoe_packet
from legato.published.reproduction import Reproduction, Row


def intervals(*calls: dict[str, float]) -> Intervals:
    """An interval of each call: a quiet one but for what is said."""
    quiet = {
        "interval_s": 0.2, "receiver_rate_bps": 1e6, "loss_ratio": 0.0, "longest_loss_packets": 0.0, "delay_ms": 0.0,
        "frame_psnr_db": 40.0, "frame_height": 720.0, "frame_delay_ms": 0.0, "true_since_frame_ms": 10.0,
    }  # fmt: skip
    rows = np.full((len(calls), len(COLUMNS)), np.nan, np.float32)
    for row, call in zip(rows, calls, strict=True):
        for name, value in (quiet | call).items():
            row[COLUMNS.index(name)] = value
    return Intervals(rows)


def test_a_small_picture_is_paid_by_the_bitrate_and_a_full_one_by_its_psnr():
    # [clcc] eq. (2), eq. (3) and eq. (4), worked by hand.
    reward = ClccReward()
    reward.reset(np.array([True]))
    late = {"delay_ms": 50.0, "frame_delay_ms": 80.0, "loss_ratio": 0.1, "longest_loss_packets": 2.0}
    # At its first frame the picture is the largest yet: the rate of that moment counts. 1 - 16 0.05 - 6 2/22 - 10 0.08:
    # 25,000 bytes are 20 packets, and two are lost.
    assert reward(intervals(late))[0] == pytest.approx(1.0 - 0.8 - 6 * 2 / 22 - 0.8, abs=1e-5)
    # 3 dB more at the same size: 4 / 15 of them, whatever the rate.
    assert reward(intervals({"frame_psnr_db": 43.0, "receiver_rate_bps": 3e6}))[0] == pytest.approx(1.8)
    # Smaller: the rate.
    assert reward(intervals({"frame_height": 360.0, "receiver_rate_bps": 4e5}))[0] == pytest.approx(0.4)
    # Full again: what the rate and the PSNR are now is what later ones are measured by.
    assert reward(intervals({"frame_psnr_db": 38.0, "receiver_rate_bps": 6e5}))[0] == pytest.approx(0.6)
    assert reward(intervals({"frame_psnr_db": 39.5, "receiver_rate_bps": 6e5}))[0] == pytest.approx(1.0)


def test_a_picture_that_outgrows_what_was_largest_begins_anew():
    reward = ClccReward()
    assert reward(intervals({"frame_height": 360.0, "receiver_rate_bps": 3e5}))[0] == pytest.approx(0.3)
    assert reward(intervals({"frame_psnr_db": 35.0, "receiver_rate_bps": 7e5}))[0] == pytest.approx(0.7)


def test_an_interval_without_a_frame_costs_the_waiting_a_second_at_most():
    # [clcc] eq. (3): -10 d_frame, with the waiting in its place; the size and PSNR are the last ones.
    reward = ClccReward()
    nothing = {"frame_height": 0.0, "frame_psnr_db": np.nan, "frame_delay_ms": np.nan}
    first = intervals({})
    assert reward(first)[0] == pytest.approx(1.0)
    assert reward(intervals({**nothing, "true_since_frame_ms": 250.0}))[0] == pytest.approx(1.0 - 2.5)
    assert reward(intervals({**nothing, "true_since_frame_ms": 7000.0}))[0] == pytest.approx(1.0 - 10.0)


def test_calls_are_remembered_each_on_its_own_and_forgotten_when_over():
    reward = ClccReward()
    reward(intervals({"receiver_rate_bps": 5e5}, {"receiver_rate_bps": 2e6}))
    assert reward(intervals({}, {})) == pytest.approx([0.5, 2.0])
    reward.reset(np.array([True, False]))
    assert reward(intervals({}, {})) == pytest.approx([1.0, 2.0])


def test_the_burst_ratio_is_that_of_all_losses_where_they_are_one_run():
    # [clcc] Table I: l_pkt is the longest burst over all packets.
    one_run = {"loss_ratio": 0.08, "longest_loss_packets": 2.0}  # 2 of 25, 23 of them of 1,087 bytes
    two_runs = {"loss_ratio": 0.2, "longest_loss_packets": 2.0}
    assert burst_loss_ratio(intervals(one_run, two_runs, {})) == pytest.approx([0.08, 2 / 22, 0.0], abs=1e-6)


def test_every_environment_has_a_reward_of_its_own():
    assert named("clcc") is not named("clcc")
    with pytest.raises(Error, match="no reward is named 'clc'"):
        named("clc")


def test_the_scores_are_the_papers():
    # [clcc] eq. (7), eq. (8), eq. (9) and eq. (10), worked by hand.
    # 0.2 50 + 0.2 100 (210 - 110) / (210 - 10) + 0.3 98
    assert qoe_packet(0.5, 10.0, 110.0, 210.0, 0.02) == pytest.approx(10.0 + 10.0 + 29.4)
    # [clcc] eq. (11), eq. (12), eq. (13) and eq. (14), worked by hand.
    # 10^3.9 is (7943.3 - 3981.1) / (15848.9 - 3981.1) = 33.39 % of the way; 60 ms leave 80, 5 % of drops 95.
    assert qoe_frame(39.0, 60.0, 0.05) == pytest.approx(0.2 * 33.386 + 16.0 + 28.5, abs=1e-3)
    assert qoe_frame(30.0, 900.0, 1.0) == 0.0
    assert qoe_frame(50.0, 0.0, 0.0) == pytest.approx(70.0)


def call(controller: str, network: int, **figures: float) -> clcc_figures.Call:
    usual = clcc_figures.Call(
        "random", str(network), 1, controller, 5e5, 0.25, 80.0, 120.0, 55.0, 200.0, 0.03, 40.0, 17.0, 120.0, 0.04, 720.0
    )
    return replace(usual, **figures)


def made(**figures: float) -> dict[str, Row]:
    """Six networks, of GCC as usual and of CLCC as given; a little apart."""
    calls = []
    for n in range(6):
        calls.append(call("gcc", n, one_way_delay_mean_ms=79.75 + n / 2))
        calls.append(call("clcc", n, **figures))
    return {row.name: row for row in clcc_figures.judge(calls)}


def test_a_change_is_of_means_and_met_where_it_reaches_the_printed_one():
    # [clcc] §V: 5, 8 and 17 % less delay, loss and frame delay, and 0.4 dB more, on random networks.
    rows = made(one_way_delay_mean_ms=76.0, psnr_db_mean=40.5, frame_delay_mean_ms=110.0)
    assert rows["packet delay (%)"].mean == pytest.approx(100 * (76 / 81 - 1))
    assert (rows["packet delay (%)"].published, rows["packet delay (%)"].verdict) == (-5.0, "met")
    assert rows["frame PSNR (dB)"].mean == pytest.approx(0.5)
    assert rows["frame PSNR (dB)"].verdict == "met"
    assert rows["frame delay (%)"].mean == pytest.approx(-100 / 12)
    assert rows["frame delay (%)"].verdict == "not met"
    assert rows["packet loss (%)"].verdict == "not met"
    assert rows["VMAF; ours SSIM (dB)"].verdict == "not comparable"
    assert rows["frame QoE"].verdict == "met"


def test_a_score_must_be_above_gccs_with_its_interval():
    assert made()["packet QoE"].verdict == "in reach"  # equal
    assert made(utilisation_ratio=0.3)["packet QoE"].verdict == "met"
    assert made(utilisation_ratio=0.2)["packet QoE"].verdict == "not met"


def test_the_second_rival_has_tables_of_its_own():
    """[clcc] §V: all is better than HRCC's but the receiving rate, and on LTE the pictures."""
    calls = []
    for n in range(6):
        calls.append(call("gcc", n))
        calls.append(call("hrcc", n, one_way_delay_mean_ms=119.75 + n / 2, loss_ratio=0.02))
        calls.append(call("clcc", n))
    calls += [replace(each, networks="LTE") for each in calls]
    rows = {(row.table, row.name): row for row in clcc_figures.judge(calls)}
    delay = rows["random, hrcc", "packet delay (%)"]
    assert (delay.published, delay.verdict) == (clcc_figures.BETTER, "met")
    assert delay.mean == pytest.approx(100 * (80 / 121 - 1))
    assert delay.values == pytest.approx({"clcc": 80.0, "gcc": 80.0, "hrcc": 121.0})
    assert rows["random, hrcc", "packet loss (%)"].verdict == "not met"
    assert rows["random, hrcc", "frame PSNR (dB)"].verdict == "in reach"  # equal
    assert rows["LTE, hrcc", "frame PSNR (dB)"].verdict == "not comparable"
    assert rows["random", "packet delay (%)"].mean == pytest.approx(0.0)


def test_what_one_network_of_many_has_is_no_share_to_speak_of():
    calls = [call(name, n, loss_ratio=0.02 if n == 0 else 0.0) for n in range(9) for name in ("gcc", "clcc")]
    rows = {row.name: row for row in clcc_figures.judge(calls)}
    assert (rows["packet loss (%)"].mean, rows["packet loss (%)"].low) == (0.0, None)
    assert rows["packet loss (%)"].verdict == "undecidable"


def test_a_call_without_its_packets_has_no_packet_score():
    assert "packet QoE" not in {row.name for row in clcc_figures.judge([call("gcc", 1, largest_delay_ms=None)])}  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return clcc.reproduce(tmp_path_factory.mktemp("clcc") / "out", seeds=2, quick=True)


def test_a_small_reproduction_has_every_row(small: Reproduction):
    assert {row.table for row in small.rows} == set(clcc.PAPER.tables)
    assert len(small.rows) == len(clcc.PAPER.tables) * len(clcc_figures.FIGURES)
    assert len(small.calls) == len(clcc_figures.CONTROLLERS) * 2 * (4 + 2 * 2)
    # A file's stretches are one network.
    assert len({c.network for c in small.calls if c.networks == "LTE"}) == 2
    logged = {c.repeat for c in small.calls if c.largest_delay_ms is not None}
    assert logged == {1}
    for each in small.calls:
        assert each.largest_delay_ms is None or each.largest_delay_ms >= each.one_way_delay_p95_ms
        assert 0.0 <= each.qoe_frame <= 70.0


def test_the_page_and_the_annotated_run_are_made(small: Reproduction):
    text = (small.folder / "reproduction.html").read_text(encoding="utf-8")
    assert all(title in text for title in clcc.PAPER.tables.values())
    assert text.count("<svg viewBox=") == 3
    document = json.loads((small.folder / "reproduction.json").read_text(encoding="utf-8"))
    assert set(document["figure_7"]["behaviour"]) == set(clcc_figures.CONTROLLERS)
    assert len(document["figure_7"]["series"]["gcc"]["target_bps"]) == 450


def test_a_folder_in_use_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(Error, match="not empty"):
        clcc.reproduce(tmp_path)


def test_the_policy_is_loaded_by_name(legato: Legato, tmp_path: Path):
    shown = legato(
        "run", "clcc", "--controller", "clcc", "-o", "duration_s=3", "--log", "summary", "--out", str(tmp_path / "o")
    )
    assert shown.returncode == 0, shown.stderr
