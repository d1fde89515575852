"""``legato reproduce``: verdicts by hand-made calls, and a small matrix for real."""

from __future__ import annotations

import json
import tomllib
from itertools import product
from pathlib import Path

import pytest

from fixtures import Legato
from legato.errors import Error
from legato.plan import shipped
from legato.results.stats import Estimate
from legato_studies.papers.reproduction import AS_PRINTED, STRICTER, Paper, Reproduction, Row
from legato_studies.papers.vtfrc import cells as vtfrc_cells
from legato_studies.papers.vtfrc import study as vtfrc


def call(controller: str, clip: str, seed: int, f: float, coded_db: float, viewed_db: float) -> vtfrc.Call:
    return vtfrc.Call(
        controller,
        clip,
        seed,
        packets_per_s=30.0 * f,
        tcp_packets_per_s=30.0,
        sending_bps=250e3 * f,
        tcp_sending_bps=360e3,
        coded_psnr_db=coded_db,
        viewed_psnr_db=viewed_db,
        loss_ratio=0.01 * f,
        shown_psnr_db=viewed_db + 1.0,
        tcp_loss_ratio=0.02,
        queue_ms=500.0,
        arrived_ratio=0.5,
        shared_psnr_db=viewed_db + 2.0,
    )


def made(video_f: float = 1.0, plain_f: float = 0.8, gain_db: float = 1.5) -> list[vtfrc.Call]:
    """Five clips and five seeds, a little apart."""
    calls = []
    for (n, clip), seed in product(enumerate(("qcif-foreman", "a", "b", "c", "d")), range(1, 6)):
        off = 0.01 * n + 0.001 * seed
        calls.append(call("vtfrc", clip, seed, video_f + off, 40.0 + gain_db + off, 38.0 + gain_db + off))
        calls.append(call("jm-tfrc", clip, seed, plain_f - off, 40.0, 38.0))
    return calls


def by_name(calls: list[vtfrc.Call]) -> dict[str, Row]:
    return {row.name: row for row in vtfrc.judge(calls)}


def test_the_means_are_those_of_the_printed_tables():
    rows = by_name(made())
    # (0.92 + 1.07 + 0.78 + 1.02 + 1.02) / 5 and (0.52 + 0.58 + 0.98 + 1.15 + 0.72) / 5.
    assert rows["F of vtfrc, mean"].published == pytest.approx(0.962)
    assert rows["sender-end gain, mean (dB)"].published == pytest.approx(0.79)
    assert rows["receiver-end gain, mean (dB)"].published == pytest.approx(1.272)
    # |F - 1|: (0.2 + 0.03 + 0.43 + 0.2 + 0.07 - 0.08 - 0.07 - 0.22 - 0.02 - 0.02) / 5.
    assert rows["F closer to 1 than jm-tfrc's by"].published == pytest.approx(0.104)


def test_what_the_paper_claims_is_met_or_not_and_the_rest_has_no_verdict():
    rows = by_name(made())
    # 1.003 is within 0.1 of the printed 1.07, 0.77 not of the 0.97 of jm-tfrc.
    assert rows["F of vtfrc, qcif-foreman"].verdict == "met"
    assert rows["F of jm-tfrc, qcif-foreman"].verdict == "not met"
    assert rows["F of vtfrc, mean"].verdict == "met"
    assert rows["F of vtfrc, qcif-foreman"].published == 1.07
    assert rows["F of jm-tfrc, a"].verdict == "no claim"
    assert rows["F closer to 1 than jm-tfrc's by"].verdict == "met"
    assert rows["sender-end gain, qcif-foreman (dB)"].verdict == "met"
    assert rows["sender-end gain, a (dB)"].verdict == "no claim"
    assert rows["receiver-end gain, mean (dB)"].verdict == "met"
    assert rows["receiver-end gain, mean (dB)"].mean == pytest.approx(1.523)


def test_that_vtfrc_is_the_more_aggressive_can_fail():
    rows = by_name(made(video_f=0.7, plain_f=1.5))
    for name in ("qcif-foreman", "a", "mean"):
        row = rows[f"F of vtfrc minus F of jm-tfrc, {name}"]
        assert row.verdict == "not met" and row.high is not None and row.high < 0
    assert rows["F of vtfrc minus F of jm-tfrc, a"].published == "larger"
    # [vtfrc] Table II: 1.07 - 0.97, and the mean of 0.12, 0.10, 0.21, 0.22 and 0.09.
    assert rows["F of vtfrc minus F of jm-tfrc, qcif-foreman"].published == pytest.approx(0.10)
    assert rows["F of vtfrc minus F of jm-tfrc, mean"].published == pytest.approx(0.148)
    assert by_name(made(1.0, 0.8))["F of vtfrc minus F of jm-tfrc, d"].verdict == "met"


def test_within_a_factor_of_two_is_so_above_and_below():
    name = "factor between the rates of vtfrc and TCP, mean"
    assert by_name(made(video_f=1.6))[name].verdict == "met"
    assert by_name(made(video_f=0.6))[name].verdict == "met"
    assert by_name(made(video_f=0.4))[name].verdict == "not met"
    assert by_name(made(video_f=2.2))[name].verdict == "not met"


def test_congestion_is_held_against_that_of_the_rival():
    rows = by_name(made(video_f=1.0, plain_f=0.8))
    assert rows["video packets lost, vtfrc (%)"].published is None
    # 1.0 % of the packets for 0.8 %: more than a tenth more.
    assert rows["video packets lost, vtfrc's over jm-tfrc's"].verdict == "not met"
    assert rows["TCP packets lost, vtfrc's over jm-tfrc's"].verdict == "met"
    # [vtfrc] Table III: the means of 2.12, 2.56, 1.92, 1.6, 4.09 and of 2.72, 3.34, 1.29, 1.65, 5.72.
    assert rows["sender's minus receiver's PSNR, vtfrc (dB)"].published == pytest.approx(2.458)
    assert rows["sender's minus receiver's PSNR, jm-tfrc (dB)"].published == pytest.approx(2.944)
    assert rows["sender's minus receiver's PSNR, vtfrc (dB)"].verdict == "met"
    assert "frames received by the end of the call, vtfrc (%)" not in rows, "as printed alone"
    printed = {row.name: row for row in vtfrc.judge(made(), AS_PRINTED)}
    assert printed["frames received by the end of the call, vtfrc (%)"].mean == pytest.approx(50.0)


def test_as_printed_the_encoder_has_the_rate_control_of_jm_and_stricter_x264s():
    for cell in vtfrc_cells.cells():
        assert {tomllib.loads(plan.scenario)["video"]["encoder"] for plan in cell.plans(1).values()} == {"jm"}
    scenario = tomllib.loads(shipped.scenario("vtfrc").read_text(encoding="utf-8"))
    assert scenario["video"]["encoder"] == "x264"


def test_a_claim_that_does_not_come_out_is_not_met():
    rows = by_name(made(video_f=0.3, plain_f=0.9, gain_db=-0.2))
    assert rows["F of vtfrc, a"].verdict == "no claim", "the paper did not use it"
    assert rows["F of vtfrc, mean"].verdict == "not met"
    assert rows["F closer to 1 than jm-tfrc's by"].verdict == "not met"
    assert rows["receiver-end gain, mean (dB)"].verdict == "not met"
    assert rows["receiver-end gain, qcif-foreman (dB)"].verdict == "not met"


def test_the_interval_of_a_mean_is_over_clips():
    row = by_name(made())["sender-end gain, mean (dB)"]
    # The clips' gains are 1.503, 1.513 … 1.543: Student's 2.776 times a standard error of 0.0158 / sqrt(5).
    assert (row.low, row.high, row.groups) == (
        pytest.approx(1.523 - 0.01963, abs=1e-4),
        pytest.approx(1.523 + 0.01963, abs=1e-4),
        5,
    )
    few = [call for call in made() if call.clip in ("a", "b")]
    assert by_name(few)["F closer to 1 than jm-tfrc's by"].verdict == "undecidable"


def test_as_printed_the_testbed_has_the_papers_lengths_tcp_and_bottleneck():
    plans = vtfrc_cells.AS_PRINTED.plans(1)
    scenarios = {name.rpartition("/")[2]: tomllib.loads(plan.scenario) for name, plan in plans.items()}
    # [vtfrc] Table I: 300, 400, 870, 961 and 449 frames at 20 a second.
    lengths = {name: scenario["duration_s"] for name, scenario in scenarios.items()}
    assert lengths == {
        "Container": 15.0,
        "Foreman": 20.0,
        "Grandma": 43.5,
        "Mother-Daughter": pytest.approx(48.05),
        "Salesman": pytest.approx(22.45),
    }
    for scenario in scenarios.values():
        kinds = [(flow["config"]["congestion_control"], flow["start_s"]) for flow in scenario["tcp"]]
        assert kinds == [("cubic", 5.0)] * 3
        assert scenario["forward"]["capacity"] == {"constant_bps": 1_500_000}
        assert scenario["forward"]["queue"]["limit_packets"] == 100
        assert scenario["forward"]["propagation_ms"] + scenario["reverse"]["propagation_ms"] == 160.0
        assert scenario["video"]["gop_frames"] == 50
        # Eq. (8) as printed: what exceeds eq. (9) waits.
        assert scenario["sender"]["max_pacer_queue_ms"] == 60_000
    (stricter,) = (tomllib.loads(plan.scenario) for plan in vtfrc_cells.STRICTER.plans(1).values())
    assert {flow["config"]["congestion_control"] for flow in stricter["tcp"]} == {"reno"}
    assert "max_pacer_queue_ms" not in stricter["sender"]
    assert len([clip for clip in vtfrc.CLIPS if shipped.profile(clip)]) >= 5


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    out = tmp_path_factory.mktemp("vtfrc") / "out"
    return vtfrc.reproduce(out, clips=["qcif-foreman", "qcif-asl-night"], seeds=2, duration_s=12.0)


def test_a_small_matrix_gives_every_row_and_curve(small: Reproduction):
    assert len(small.calls) == 8
    assert vtfrc.clips_of(small.calls) == ("qcif-foreman", "qcif-asl-night")
    for made_call in small.calls:
        assert made_call.packets_per_s > 0
        assert made_call.tcp_packets_per_s > 0
        # Coding alone loses less than coding and the network.
        assert made_call.coded_psnr_db >= made_call.viewed_psnr_db > 15.0
    document = json.loads((small.folder / "reproduction.json").read_text(encoding="utf-8"))
    assert document["format"] == 1
    assert set(document["figures"]) == {"qcif-foreman", "qcif-asl-night"}
    for curves in document["figures"].values():
        assert set(curves["sending"]) == set(vtfrc.CONTROLLERS)
        assert len(curves["coded_psnr_db"]["vtfrc"]) == 240
        # TCP flows have nothing to show before they begin.
        assert curves["sending"]["vtfrc"]["tcp_mean_bps"][0][0] == vtfrc.TCP_START_S


def test_the_page_shows_both_tables_and_four_figures(small: Reproduction):
    text = (small.folder / "reproduction.html").read_text(encoding="utf-8")
    assert "Table II" in text and "Table III" in text
    assert text.count("<svg viewBox=") == 4
    assert "http" not in text.replace("http-equiv", "")


def test_the_same_matrix_comes_out_the_same(small: Reproduction, tmp_path: Path):
    again = vtfrc.reproduce(
        tmp_path / "again", clips=["qcif-foreman", "qcif-asl-night"], seeds=2, duration_s=12.0, threads=1
    )
    assert again.rows == small.rows


def test_a_folder_in_use_and_a_call_too_short_are_refused(tmp_path: Path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("x")
    with pytest.raises(Error, match="not empty"):
        vtfrc.reproduce(tmp_path / "there")
    with pytest.raises(Error, match=r"duration_s = 5\.0"):
        vtfrc.reproduce(tmp_path / "new", duration_s=5.0)


def test_the_verb_prints_published_beside_ours(legato: Legato, tmp_path: Path):
    shown = legato(
        "reproduce",
        "vtfrc",
        "--clips",
        "qcif-foreman",
        "--seeds",
        "1",
        "--duration-s",
        "8",
        "--out",
        str(tmp_path / "o"),
    )
    assert shown.returncode == 0, shown.stderr
    assert "Table II" in shown.stdout and "published" in shown.stdout
    assert (tmp_path / "o" / "reproduction.html").is_file()


def test_a_claim_in_two_set_ups_is_one_line_with_two_verdicts(tmp_path: Path):
    paper = Paper("x", "X", {"1": "Table 1"}, digits=".1f")
    rows = (
        Row.of("1", "gain", 1.6, Estimate(0.5, 0.2, 0.8, 9, 9), "not met", "too little", setup=STRICTER),
        Row.of("1", "gain", 1.6, Estimate(1.7, 1.2, 2.2, 9, 9), "met", "enough", setup=AS_PRINTED),
        Row.of("1", "extra", None, Estimate(0.1, 0.0, 0.2, 9, 9), "not comparable", "ours", setup=STRICTER),
    )
    done = Reproduction(paper, tmp_path, "0.1", rows).write(["About it."])
    page = (tmp_path / "reproduction.html").read_text(encoding="utf-8")
    assert page.count(">gain<") == 1 and page.index("1.2 … 2.2") < page.index("0.2 … 0.8")
    assert "As printed: Intervals are over 9 networks." in page and "too little" in page
    document = json.loads((done.folder / "reproduction.json").read_text(encoding="utf-8"))
    assert [row["setup"] for row in document["rows"]] == [STRICTER, AS_PRINTED, STRICTER]


def test_the_paper_leaves_24_set_ups_open():
    cells = vtfrc_cells.cells()
    assert len({cell.name for cell in cells}) == len(cells) == 24
    assert vtfrc_cells.AS_PRINTED in cells and vtfrc_cells.STRICTER in cells
    plans = vtfrc_cells.AS_PRINTED.plans(seeds=2)
    # [vtfrc] Table I: 300 to 961 frames at 20 per second.
    seconds = {name.split("/")[1]: tomllib.loads(plan.scenario)["duration_s"] for name, plan in plans.items()}
    assert seconds["Container"] == 15.0 and seconds["Mother-Daughter"] == 48.05
    assert all(plan.sessions == 4 for plan in plans.values())


def test_a_cell_is_as_far_off_as_its_farthest_figure():
    f, rival, gain = 0.962, 0.814, 0.79
    cell = vtfrc_cells.STRICTER
    assert vtfrc.Found(cell, f, rival, gain, 9.9).off == pytest.approx(0.0, abs=1e-9)
    assert vtfrc.Found(cell, f + 0.05, rival - 0.2, gain, 0.0).off == pytest.approx(2.0)
    assert vtfrc.Found(cell, f, rival, gain - 3.0, 0.0).off == pytest.approx(6.0)


def test_a_table_says_what_its_intervals_are_over_and_why_some_are_missing():
    paper = Paper("x", "X", {}, over="recordings")
    many, few, one = (
        Row.of("1", "figure", None, Estimate(1.0, *ends, groups, groups), "met", "because")
        for groups, ends in ((7, (0.5, 1.5)), (4, (None, None)), (1, (None, None)))
    )
    assert paper.note([many, few]) == "Intervals are over 7 recordings; rows over fewer than 5 have none."
    assert paper.note([few, one]) == "No intervals: 4 recordings at most, and an interval takes 5."
    assert paper.note([]) == ""
    assert [paper.interval(row) for row in (many, few, one)] == ["0.50 … 1.50", "none: 4 recordings", "none: only one"]
    assert "an interval takes 5" in few.why and few.document()["groups"] == 4
