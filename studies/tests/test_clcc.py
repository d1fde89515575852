"""CLCC and its rival HRCC: reward and scores by hand, verdicts by hand-made calls, a small reproduction for real."""

from __future__ import annotations

import html
import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="gymnasium is not installed: make setup")

from fixtures import Legato
from legato.envs import Intervals
from legato.envs.clcc_reward import ClccReward, burst_loss_ratio
from legato.envs.intervals import COLUMNS
from legato.envs.rewards import named
from legato.errors import Error
from legato.plan import shipped
from legato_studies.codecs import vmaf
from legato_studies.papers.clcc import behaviour as clcc_behaviour
from legato_studies.papers.clcc import causes, setups
from legato_studies.papers.clcc import figures as clcc_figures
from legato_studies.papers.clcc import study as clcc
from legato_studies.papers.clcc.scores import qoe_frame, qoe_packet
from legato_studies.papers.reproduction import AS_PRINTED, STRICTER, Reproduction, Row


def intervals(*calls: dict[str, float]) -> Intervals:
    """An interval of each call: a quiet one but for the given values."""
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


def test_a_picture_whose_full_size_is_known_begins_small():
    # [clcc] eq. (3): r_frame is the share of the original picture, which WebRTC's calls do not begin with.
    reward = ClccReward(full_height=720)
    small = {"frame_height": 360.0, "receiver_rate_bps": 3e5}
    assert reward(intervals(small))[0] == pytest.approx(0.3)
    assert reward(intervals({**small, "frame_psnr_db": 44.0}))[0] == pytest.approx(0.3)
    assert reward(intervals({"receiver_rate_bps": 8e5}))[0] == pytest.approx(0.8)
    assert reward(intervals({"receiver_rate_bps": 9e5, "frame_psnr_db": 43.0}))[0] == pytest.approx(1.6)
    reward.reset(np.array([True]))
    assert reward(intervals({**small, "frame_psnr_db": 44.0}))[0] == pytest.approx(0.3)


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


def call(controller: str, network: int, **figures: Any) -> clcc_figures.Call:
    usual = clcc_figures.Call(
        AS_PRINTED, "random", str(network), 1, controller, 5e5, 0.25, 80.0, 120.0, 55.0, 200.0, 0.03, 40.0, 17.0, 120.0,
        0.04, 720.0, 39.0, 16.0, 150.0,
    )  # fmt: skip
    return replace(usual, **figures)


def test_the_parts_of_the_scores_have_rows():
    """CLCC with 20 ms less of frame delay and 0.5 dB more on random networks, with 5 ms less on LTE."""
    calls = []
    for network in range(6):
        for group, sooner_ms in (("random", 20.0), ("LTE", 5.0)):
            better = {"networks": group, "frame_delay_mean_ms": 120.0 - sooner_ms - 0.1 * network, "psnr_db_mean": 40.5}
            calls.append(call("clcc", network, **better))
            calls.append(call("gcc-receiver", network, networks=group))
    rows = {(row.table, row.name): row for row in clcc_figures.judge_parts(calls)}
    delay = rows[clcc_figures.parts_table("random", "gcc"), "frame score: delay, eq. (12)"]
    assert (delay.mean, delay.verdict) == (pytest.approx(20.25 / 3), "met")
    quality = rows[clcc_figures.parts_table("LTE", "gcc"), "frame score: quality, eq. (11)"]
    # (10^4.05 - 10^4) / (10^4.2 - 10^3.6)
    assert (quality.mean, quality.verdict) == (pytest.approx(100 * 1220.18 / 11867.86, abs=1e-2), "met")
    assert rows[clcc_figures.parts_table("LTE", "gcc"), "packet score: rate, eq. (7)"].verdict == "in reach"
    (beside,) = [row for row in rows.values() if row.table == clcc_figures.LTE_BESIDE_RANDOM]
    assert (beside.mean, beside.published, beside.verdict) == (pytest.approx(-5.0), "lower", "met")


def judged(calls: list[clcc_figures.Call]) -> dict[tuple[str, str], Row]:
    return {(row.table, row.name): row for row in clcc_figures.judge(calls)}


def made(**figures: Any) -> dict[str, Row]:
    """Six networks, of GCC as usual and of CLCC as given; a little apart."""
    calls = []
    for n in range(6):
        calls.append(call("gcc-receiver", n, one_way_delay_mean_ms=79.75 + n / 2))
        calls.append(call("clcc", n, **figures))
    return {name: row for (table, name), row in judged(calls).items() if table == "random"}


def test_a_change_is_of_means_and_met_where_it_reaches_the_printed_one():
    # [clcc] §V: 5, 8 and 17 % less delay, loss and frame delay, and 0.4 dB more, on random networks.
    rows = made(one_way_delay_mean_ms=76.0, psnr_db_mean=40.5, frame_delay_mean_ms=110.0)
    assert rows["packet delay (%)"].mean == pytest.approx(100 * (76 / 81 - 1))
    assert (rows["packet delay (%)"].published, rows["packet delay (%)"].verdict) == (-5.0, "met")
    assert rows["packet delay (%)"].setup == AS_PRINTED
    assert rows["frame PSNR (dB)"].mean == pytest.approx(0.5)
    assert rows["frame PSNR (dB)"].verdict == "met"
    assert rows["frame delay (%)"].mean == pytest.approx(-100 / 12)
    assert rows["frame delay (%)"].verdict == "not met"
    assert rows["packet loss (%)"].verdict == "not met"
    assert rows["SSIM (dB)"].verdict == "no claim"
    assert rows["frame QoE"].verdict == "met"
    assert "VMAF" not in rows


def test_the_paper_says_that_less_is_received():
    assert made(receiver_rate_bps=4e5)["receiving rate (%)"].verdict == "met"
    higher = made(receiver_rate_bps=6e5)["receiving rate (%)"]
    assert (higher.published, higher.mean, higher.verdict) == ("lower", pytest.approx(20.0), "not met")


def test_a_score_must_be_above_gccs_with_its_interval():
    assert made()["packet QoE"].verdict == "in reach"  # equal
    assert made(utilisation_ratio=0.3)["packet QoE"].verdict == "met"
    assert made(utilisation_ratio=0.2)["packet QoE"].verdict == "not met"


def test_the_stricter_set_up_charges_what_was_never_shown():
    """Pictures and delays are as viewed, and GCC is the sender's."""
    shown = {"psnr_db_mean": 45.0, "frame_delay_mean_ms": 10.0, "viewed_psnr_db_mean": 38.0}
    calls = [call("gcc", n, setup=STRICTER) for n in range(6)]
    calls += [call("clcc", n, setup=STRICTER, viewed_delay_mean_ms=165.0, **shown) for n in range(6)]
    rows = judged(calls)
    assert rows["random", "frame PSNR (dB)"].mean == pytest.approx(-1.0)
    assert rows["random", "frame delay (%)"].mean == pytest.approx(10.0)
    assert {row.setup for row in rows.values()} == {STRICTER}


def test_the_second_rival_has_tables_of_its_own():
    """[clcc] §V: all is better than HRCC's but the receiving rate, and on LTE the pictures."""
    calls = []
    for n in range(6):
        calls.append(call("gcc-receiver", n))
        calls.append(call("hrcc", n, one_way_delay_mean_ms=119.75 + n / 2, loss_ratio=0.02))
        calls.append(call("clcc", n))
    calls += [replace(each, networks="LTE") for each in calls]
    rows = judged(calls)
    delay = rows["random, hrcc", "packet delay (%)"]
    assert (delay.published, delay.verdict) == (clcc_figures.BETTER, "met")
    assert delay.mean == pytest.approx(100 * (80 / 121 - 1))
    assert delay.values == pytest.approx({"clcc": 80.0, "hrcc": 121.0})
    assert rows["random, hrcc", "packet loss (%)"].verdict == "not met"
    assert rows["random, hrcc", "frame PSNR (dB)"].verdict == "in reach"  # equal
    assert rows["LTE, hrcc", "frame PSNR (dB)"].verdict == "no claim"
    assert rows["random", "packet delay (%)"].mean == pytest.approx(0.0)


@pytest.mark.parametrize(("held_by", "verdict"), [(1, "undecidable"), (4, "undecidable"), (6, "in reach")])
def test_a_figure_that_few_networks_hold_is_too_rare_to_judge(held_by: int, verdict: str):
    """Nine networks; the loss is in some of them, and next to none in the others."""
    losses = [0.02 if n < held_by else 1e-4 for n in range(9)]
    calls = [call(name, n, loss_ratio=loss) for n, loss in enumerate(losses) for name in ("gcc-receiver", "clcc")]
    row = judged([*calls, *(replace(each, networks="LTE") for each in calls)])["LTE", "packet loss (%)"]
    assert (row.mean, row.verdict) == (0.0, "undecidable" if verdict == "undecidable" else "not met")
    assert (row.low is None) == (verdict == "undecidable")


def test_a_rival_without_any_loss_leaves_nothing_to_compare():
    calls = [call("clcc", n) for n in range(6)] + [call("gcc-receiver", n, loss_ratio=0.0) for n in range(6)]
    row = judged(calls)["random", "packet loss (%)"]
    assert (row.mean, row.verdict) == (None, "not comparable")


def test_a_call_without_its_packets_has_no_packet_score():
    calls = [call(name, 1, largest_delay_ms=None) for name in ("gcc-receiver", "clcc")]
    assert ("random", "frame QoE") in judged(calls)
    assert ("random", "packet QoE") not in judged(calls)


def test_what_is_said_of_figure_7_is_read_from_the_target():
    """Reaches 1 Mbit/s at 8 s, rises by a fifth over the last 5 s, and falls to 0.3 Mbit/s."""
    target = [(0.1 * n, 1e5) for n in range(80)] + [(0.1 * n, 1e6) for n in range(80, 150)]
    target += [(0.1 * n, 1e6 + 2e5 * (n - 150) / 49) for n in range(150, 200)]
    target += [(0.1 * n, 3e5) for n in range(200, 240)] + [(0.1 * n, 1e5) for n in range(260, 300)]
    found = clcc_behaviour.behaviour(AS_PRINTED, "a link", "clcc", [*target, (30.0, None)])
    assert found.climb_s == pytest.approx(8.0)
    assert found.late_rise_ratio == pytest.approx(0.2)
    assert found.lowest_bps == 3e5
    never = clcc_behaviour.behaviour(AS_PRINTED, "a link", "clcc", [(0.1 * n, 5e5) for n in range(300)])
    assert never.climb_s == clcc_behaviour.CLIFF_S


def test_figure_7_asks_for_sooner_lower_and_slower():
    """Six links on which CLCC climbs 2 s sooner, falls 100 kbit/s deeper and rises as GCC does."""
    found = [
        clcc_behaviour.Behaviour(AS_PRINTED, str(n), name, climb_s, lowest_bps, 0.1)
        for n in range(6)
        for name, climb_s, lowest_bps in (("clcc", 3.0 + n / 100, 2e5), ("gcc-receiver", 5.0, 3e5 + n * 100))
    ]
    sooner, lower, slower = clcc_behaviour.judge(found)
    assert (sooner.mean, sooner.verdict) == (pytest.approx(1.975), "met")
    assert (lower.mean, lower.verdict) == (pytest.approx(-100.25), "met")
    assert (slower.mean, slower.verdict) == (0.0, "in reach")


def test_vmaf_is_read_between_the_points_of_a_table():
    table = {360: np.array([[30.0, 20.0], [40.0, 60.0]]), 720: np.array([[30.0, 40.0], [40.0, 80.0]])}
    assert vmaf.vmaf_of(table, 360, np.array([25.0, 35.0, 45.0])).tolist() == [20.0, 40.0, 60.0]
    assert vmaf.vmaf_of(table, 540, np.array([35.0])).tolist() == [50.0]
    assert vmaf.vmaf_of(table, 1080, np.array([35.0])).tolist() == [60.0]


def test_the_clips_table_rises_with_psnr_and_a_larger_picture_has_more(tmp_path: Path):
    talker = next(path for path in shipped.profiles() if path.stem == setups.TALKER)
    table = vmaf.read(talker)
    assert list(table) == [180, 360, 720]
    for points in table.values():
        assert (np.diff(points, axis=0) >= 0).all()
        assert points[:, 1].min() >= 0 and points[:, 1].max() <= 100
    (tmp_path / "talker.vmaf.json").write_text('{"format": 2}')
    with pytest.raises(Error, match="format = 2: this reads 1"):
        vmaf.read(tmp_path / "talker.safetensors")
    with pytest.raises(Error, match=r"none\.vmaf\.json"):
        vmaf.read(tmp_path / "none.safetensors")


def test_both_set_ups_pace_alike_and_only_the_printed_one_is_capped():
    printed, stricter = setups.SETUPS
    assert printed.options["limits.max_bps"] == 2_500_000
    assert not stricter.options
    for spec in (*printed.specs, *stricter.specs):
        assert not spec.startswith("gcc@") or "pacing_ratio=2.5" in spec
    for name, recipe, steps in (("printed", "clcc-table-iii", 648_000), ("table-ii", "clcc-printed", 3_240_000)):
        manifest = tomllib.loads((shipped.policies_folder() / "clcc" / name / "policy.toml").read_text("utf-8"))
        assert (manifest["trained"]["recipe"], manifest["trained"]["steps"]) == (recipe, steps)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return clcc.reproduce(tmp_path_factory.mktemp("clcc") / "out", seeds=2, quick=True)


def test_a_small_reproduction_has_every_row(small: Reproduction):
    assert {row.table for row in small.rows} <= set(clcc.PAPER.tables)
    assert {(row.table, row.setup) for row in small.rows} >= {
        ("random", AS_PRINTED), ("random", STRICTER), ("LTE", AS_PRINTED), ("LTE", STRICTER), ("wider", STRICTER),
        ("LTE at a fifth", STRICTER), ("random, hrcc", AS_PRINTED), ("random, constant rate", AS_PRINTED),
        ("random, gcc in the module", AS_PRINTED), ("random, gcc at the sender", AS_PRINTED),
        ("random, parts", AS_PRINTED), ("LTE, parts", STRICTER), ("Fig. 7", AS_PRINTED), ("Fig. 7", STRICTER),
    }  # fmt: skip
    printed, stricter = setups.SETUPS
    assert len(small.calls) == 2 * (len(printed.specs) * (4 + 2) + len(stricter.specs) * (4 + 2 + 2 + 4))
    # A file's stretches are one network.
    assert len({c.network for c in small.calls if c.networks == "LTE"}) == 2
    logged = {(c.setup, c.networks, c.repeat) for c in small.calls if c.largest_delay_ms is not None}
    assert logged == {(setup.name, group, 1) for setup in setups.SETUPS for group in ("random", "LTE")}
    for each in small.calls:
        assert each.largest_delay_ms is None or each.largest_delay_ms >= each.one_way_delay_p95_ms
        assert 0.0 <= each.value("qoe_frame") <= 70.0
        assert ("vmaf" in each.parts) == (each.setup == AS_PRINTED and each.repeat == 1)


def test_the_parts_of_a_frames_delay_and_of_its_drops_are_the_whole(small: Reproduction):
    """Each call's parts against its summary, which the simulator sums up itself."""
    logged = [each for each in small.calls if each.parts]
    assert logged
    for each in logged:
        delay = sum(each.parts[part] for part in ("pacer_ms", "path_ms", "queue_ms", "repair_ms"))
        assert delay == pytest.approx(each.frame_delay_mean_ms, rel=1e-3)
        drops = sum(each.parts[part] for part in ("skipped_percent", "undecodable_percent", "overtaken_percent"))
        assert drops == pytest.approx(100 * each.frame_drop_ratio, abs=1e-6)
        lost = each.parts["random_loss_percent"] + each.parts["full_queue_percent"]
        assert lost == pytest.approx(100 * each.loss_ratio, abs=0.1)  # packets in flight at the end count in none
    assert set(causes.PARTS) | {"vmaf"} == set(logged[0].parts)


def test_the_page_and_the_annotated_run_are_made(small: Reproduction):
    text = html.unescape((small.folder / "reproduction.html").read_text(encoding="utf-8"))
    assert all(title in text for table, title in clcc.PAPER.tables.items() if table in {r.table for r in small.rows})
    assert text.count("<svg viewBox=") == 3
    document = json.loads((small.folder / "reproduction.json").read_text(encoding="utf-8"))
    behaviour = document["figure_7"]["behaviour"]
    assert {each["controller"] for each in behaviour if each["setup"] == AS_PRINTED} >= {"clcc", "gcc-receiver", "hrcc"}
    assert len(document["figure_7"]["series"]["gcc-receiver"]["target_bps"]) == 450


def test_a_folder_in_use_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(Error, match="not empty"):
        clcc.reproduce(tmp_path)


def test_the_policy_is_loaded_by_name(legato: Legato, tmp_path: Path):
    shown = legato(
        "run", "clcc", "--controller", "clcc", "-o", "duration_s=3", "--log", "summary", "--out", str(tmp_path / "o")
    )
    assert shown.returncode == 0, shown.stderr
