"""Real calls between two Legato ends: real encoder, decoder, sockets and encryption, and no browser.

They take as long as they last. On a machine that is busy with other things the emulated link is late. Properties that
hold on any machine are always tested, the figures of the link only of a call that counts.
"""

from __future__ import annotations

import itertools
import json
import statistics
from pathlib import Path

import duckdb
import pytest

import legato
from legato import _core
from legato.call import Pictures, check
from on_time import only_on_time

pytestmark = pytest.mark.skipif(
    not hasattr(_core, "RealCall"), reason="this build makes no real calls: it lacks the feature `calls`"
)

SCENARIO = """
name = "loopback"
duration_s = 6.0
controller = { name = "fixed", config = { target_bitrate_bps = 1_000_000 } }
[forward]
propagation_ms = 20.0
capacity = { constant_bps = 4_000_000 }
[reverse]
propagation_ms = 20.0
"""
SMALL = Pictures(width=640, height=360)


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("scenario") / "loopback.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return file


def rows(folder: Path, table: str, columns: str) -> list[tuple]:
    return duckdb.sql(f"SELECT {columns} FROM read_parquet('{folder}/{table}/*.parquet')").fetchall()


def machine_of(folder: Path) -> dict:
    return json.loads((folder / "calls" / "00000.json").read_text(encoding="utf-8"))


def test_frames_come_whole_and_in_time_over_the_scenarios_link(scenario: Path, tmp_path: Path):
    folder = tmp_path / "run"
    said = []
    legato.real_calls(scenario, out=folder, pictures=SMALL, peers="legato", on_progress=said.append)
    machine = machine_of(folder)
    assert (machine["misnumbered"], machine["odd_sizes"], machine["misread"], machine["browser"]) == (0, 0, 0, None)
    assert len(said) >= 4
    [(captured, encoded, rendered, residual)] = rows(
        folder, "summary", "frames_captured, frames_encoded, frames_rendered, residual_loss_ratio"
    )
    assert captured == pytest.approx(180, abs=3)
    # The last ones are on their way when the call ends.
    assert encoded - 8 <= rendered <= encoded
    assert residual == 0
    shown = rows(folder, "shown", "picture, rtp_timestamp, received_ms, shown_ms, width, height")
    assert len(shown) >= rendered
    assert [row[0] for row in shown] == sorted(row[0] for row in shown)
    assert all(row[2] <= row[3] and row[4:] == (640, 360) for row in shown)
    only_on_time(machine)
    [(rate_bps, delay_ms, quality_db)] = rows(
        folder, "summary", "receiver_rate_bps, one_way_delay_p50_ms, ssim_db_mean"
    )
    assert rate_bps == pytest.approx(1e6, rel=0.1)
    # 20 ms of propagation, 1,200 bytes at 4 Mbit/s are 2.4 ms, and some wait for each other.
    assert 22 < delay_ms < 40
    assert quality_db > 5
    # Capture to screen: the link, the pacer's spreading, and what playout keeps against jitter.
    delays = rows(folder, "frames", "rendered_ms - captured_ms, decodable_ms - captured_ms")
    whole = [decodable for rendered_ms, decodable in delays if decodable is not None and rendered_ms is not None]
    assert 20 < statistics.median(whole) < 60
    assert 20 < statistics.median(d for d, _ in delays if d is not None) < 110


@pytest.mark.parametrize("codec", ["vp8", "vp9"])
def test_a_call_by_libvpx_is_decoded_by_our_own_receiving_end(scenario: Path, tmp_path: Path, codec: str):
    why_not = _core.codecs()[codec].why_not
    if why_not:
        pytest.skip(why_not)
    folder = tmp_path / codec
    options = {"duration_s": 10.0, "forward.loss_ratio": 0.01}
    pictures = Pictures(width=640, height=360, codec=codec)
    legato.real_calls(scenario, out=folder, options=options, pictures=pictures, peers="legato")
    machine = machine_of(folder)
    assert (machine["misnumbered"], machine["odd_sizes"], machine["misread"]) == (0, 0, 0)
    names = "encoder, decoder, frames_captured, frames_encoded, frames_rendered, viewed_ssim_db_mean"
    [(encoder, decoder, captured, encoded, rendered, viewed_db)] = rows(folder, "summary", names)
    assert (encoder, decoder) == (f"libvpx {codec} (real)", f"libvpx {codec} (real)")
    assert rendered > 0.8 * encoded > 0.5 * captured
    assert viewed_db > 5
    assert all(size == (640, 360) for size in rows(folder, "shown", "width, height"))
    only_on_time(machine)
    [(rate_bps,)] = rows(folder, "series", "avg(receiver_rate_bps) FILTER (time_ms >= 2000)")
    assert rate_bps == pytest.approx(1e6, rel=0.15)


@pytest.mark.parametrize("controller", ["constant", "nvc-cc"])
def test_the_hybrid_codec_shows_what_came_of_every_frame(scenario: Path, tmp_path: Path, controller: str):
    options = {"duration_s": 8.0, "forward.loss_ratio": 0.1}
    pictures = Pictures(width=320, height=180, codec="hybrid")
    controllers = [] if controller == "constant" else [controller]
    legato.real_calls(
        scenario, out=tmp_path / "run", options=options, controllers=controllers, pictures=pictures, peers="legato"
    )
    machine = machine_of(tmp_path / "run")
    assert (machine["misnumbered"], machine["odd_sizes"], machine["compared"]) == (0, 0, True)
    names = "encoder, decoder, frames_encoded, frames_rendered, keyframes, viewed_ssim_db_mean, loss_ratio"
    [(encoder, decoder, encoded, rendered, keyframes, viewed_db, loss)] = rows(tmp_path / "run", "summary", names)
    assert (encoder, decoder) == ("hybrid (real)", "hybrid (real)")
    only_on_time(machine)
    assert loss == pytest.approx(0.1, abs=0.05)
    assert rendered > 0.97 * encoded
    assert keyframes == 1, "nothing has to begin again"
    assert viewed_db > 8
    parts = rows(tmp_path / "run", "frames", "count(*) FILTER (lost_packets > 0 AND rendered_ms IS NOT NULL)")
    assert parts[0][0] > 20


def test_h264_recovers_by_references_and_sends_nothing_again(scenario: Path, tmp_path: Path):
    options = {"duration_s": 8.0, "forward.loss_ratio": 0.05}
    pictures = Pictures(width=320, height=180, recovery="references")
    legato.real_calls(scenario, out=tmp_path / "run", options=options, pictures=pictures, peers="legato")
    machine = machine_of(tmp_path / "run")
    assert (machine["misnumbered"], machine["odd_sizes"], machine["compared"]) == (0, 0, True)
    names = "encoder, decoder, frames_encoded, frames_rendered, viewed_ssim_db_mean, loss_ratio"
    [(encoder, decoder, encoded, rendered, viewed_db, loss)] = rows(tmp_path / "run", "summary", names)
    assert (encoder, decoder) == ("openh264 references (real)", "openh264 references (real)")
    only_on_time(machine)
    assert loss == pytest.approx(0.05, abs=0.03)
    assert rendered > 0.95 * encoded
    assert viewed_db > 8
    parts = rows(tmp_path / "run", "frames", "count(*) FILTER (lost_packets > 0 AND rendered_ms IS NOT NULL)")
    assert parts[0][0] > 10


@pytest.mark.parametrize("parity", ["0.3", "adaptive"])
def test_parity_restores_packets_of_a_lossy_link(scenario: Path, tmp_path: Path, parity: str):
    options = {"duration_s": 6.0, "forward.loss_ratio": 0.1}
    pictures = Pictures(width=320, height=180, parity=parity)
    legato.real_calls(scenario, out=tmp_path / "run", options=options, pictures=pictures, peers="legato")
    machine = machine_of(tmp_path / "run")
    assert (machine["misnumbered"], machine["odd_sizes"], machine["compared"]) == (0, 0, True)
    [(fec, encoded, rendered)] = rows(tmp_path / "run", "summary", "fec_ratio, frames_encoded, frames_rendered")
    assert 0.1 < fec < 0.55
    [(restored,)] = rows(tmp_path / "run", "gauges", "max(value) FILTER (name = 'receiver.restored_packets')")
    assert restored > 10
    only_on_time(machine)
    assert rendered > 0.9 * encoded


@pytest.mark.parametrize("peers", ["chromium", "chromium-chromium"])
def test_only_ends_of_ours_know_the_hybrid_codec(scenario: Path, tmp_path: Path, peers: str):
    with pytest.raises(legato.CallError, match="codec hybrid: only Legato ends know it: peers legato") as refused:
        legato.real_calls(scenario, out=tmp_path / "run", pictures=Pictures(codec="hybrid"), peers=peers)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("codec", ["h264", "vp9"])
def test_pictures_grow_with_the_bitrate_and_keep_their_numbers(scenario: Path, tmp_path: Path, codec: str):
    why_not = _core.codecs()[codec].why_not
    if why_not:
        pytest.skip(why_not)
    folder = tmp_path / codec
    # Less than 250 kbit/s begin at no more than 240 rows.
    config = {"target_bitrate_bps": 200_000, "steps": [[3.0, 2_000_000]]}
    options = {"duration_s": 12.0, "controller.config": config, "video.adapt_resolution": True}
    pictures = Pictures(width=640, height=360, codec=codec)
    legato.real_calls(scenario, out=folder, options=options, pictures=pictures, peers="legato")
    machine = machine_of(folder)
    assert (machine["misnumbered"], machine["odd_sizes"], machine["misread"], machine["compared"]) == (0, 0, 0, True)
    frames = rows(folder, "frames", "height, keyframe, psnr_db, captured_ms")
    coded = sorted((row for row in frames if row[0]), key=lambda row: row[3])
    assert coded[0][0] == 180
    steps = [(before[0], later[0]) for before, later in itertools.pairwise(coded) if before[0] != later[0]]
    grown = [later for before, later in itertools.pairwise(coded) if before[0] != later[0]]
    assert steps[0] == (180, 270)
    assert all(row[1] for row in grown), "each size begins with a key frame"
    sizes = {size for size in rows(folder, "shown", "width, height") if size[1] is not None}
    assert {(320, 180), (480, 270)} <= sizes <= {(320, 180), (480, 270), (640, 360)}
    # The comparison is at the clip's size, and a finer picture is seen finer.
    seen = {height: statistics.median(row[2] for row in coded if row[0] == height and row[2]) for height in (180, 270)}
    assert 15 < seen[180] < seen[270]


def test_what_the_link_loses_is_sent_again_and_shown(scenario: Path, tmp_path: Path):
    folder = tmp_path / "lossy"
    options = {"forward.loss_ratio": 0.03}
    legato.real_calls(scenario, out=folder, options=options, pictures=SMALL, peers="legato")
    [(loss, nacks, rtx, encoded, rendered)] = rows(
        folder, "summary", "loss_ratio, nacks, rtx_ratio, frames_encoded, frames_rendered"
    )
    assert loss > 0.005 and nacks > 0 and rtx > 0
    assert rendered > 0.9 * encoded
    assert machine_of(folder)["misread"] == 0


def test_a_receiver_side_controller_steers_by_remb(scenario: Path, tmp_path: Path):
    folder = tmp_path / "receiver-side"
    options = {"duration_s": 8.0, "forward.capacity.constant_bps": 800_000, "limits.max_bps": 3_000_000}
    legato.real_calls(scenario, out=folder, options=options, controllers=["ukf"], pictures=SMALL, peers="legato")
    [(controller, rendered, encoded)] = rows(folder, "summary", "controller, frames_rendered, frames_encoded")
    assert controller == "ukf"
    assert rendered > 0.5 * encoded > 50
    late = rows(folder, "series", "median(target_bitrate_bps) FILTER (time_ms > 5000)")
    assert 0.2e6 < late[0][0] < 1.2e6
    names = {name for (name,) in rows(folder, "gauges", "DISTINCT name")}
    assert "capacity_estimate_bps" in names, "the filter saw when packets had left"


def test_both_ends_are_ours_so_there_is_no_other_direction(scenario: Path, tmp_path: Path):
    with pytest.raises(legato.CallError, match="both ends are ours"):
        legato.real_calls(scenario, out=tmp_path / "run", peers="legato", direction="receive")
    assert not (tmp_path / "run").exists()


def test_the_check_asks_for_no_browser_where_none_is_needed():
    names = {finding.name for finding in check.findings(browser_needed=False)}
    assert {"endpoint", "encoder", "loopback UDP"} <= names
    assert not names & {"Playwright", "browser"}


def test_a_call_that_cannot_begin_leaves_no_folder(tmp_path: Path):
    empty = tmp_path / "empty.y4m"
    empty.touch()
    folder = tmp_path / "run"
    with pytest.raises(legato.CallError, match="no Y4M file"):
        legato.real_calls("steady", out=folder, pictures=Pictures(clip=empty), peers="legato")
    assert not folder.exists()
    folder.mkdir()
    with pytest.raises(legato.CallError, match="no Y4M file"):
        legato.real_calls("steady", out=folder, pictures=Pictures(clip=empty), peers="legato")
    assert folder.exists()
