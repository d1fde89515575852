"""Real calls with a headless Chromium on the loopback interface.

They take as long as they last. On a machine that is busy with other things the emulated link is late. Properties that
hold on any machine are always tested, the figures of the link only of a call that counts.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pytest

import legato
from legato import _core
from legato.call import Pictures, browser, camera, ends, log, session
from legato.plan import Choice
from on_time import only_on_time

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [pytest.mark.browser, pytest.mark.slow]

SCENARIO = """
name = "loopback"
duration_s = 15.0
controller = { name = "fixed", config = { target_bitrate_bps = 1_000_000 } }
[forward]
propagation_ms = 20.0
capacity = { constant_bps = 4_000_000 }
[reverse]
propagation_ms = 20.0
"""


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not hasattr(_core, "RealCall"):
        pytest.skip("this build makes no real calls: it lacks the feature `calls`")
    file = tmp_path_factory.mktemp("scenario") / "loopback.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def called(scenario: Path) -> Iterator[Path]:
    folder = scenario.parent / "run"
    legato.real_calls(scenario, out=folder, log="packets")
    yield folder


def rows(folder: Path, table: str, columns: str) -> list[tuple]:
    return duckdb.sql(f"SELECT {columns} FROM read_parquet('{folder}/{table}/*.parquet')").fetchall()


def test_the_browser_gets_the_constant_rate_and_shows_the_frames(called: Path):
    machine = json.loads((called / "calls" / "00000.json").read_text(encoding="utf-8"))
    assert machine["misnumbered"] == 0
    assert machine["odd_sizes"] == 0
    [(sent, arrived, captured, encoded, rendered, rate_bps)] = rows(
        called,
        "summary",
        "packets_sent, packets_received, frames_captured, frames_encoded, frames_rendered, receiver_rate_bps",
    )
    assert (arrived / sent, captured) == (pytest.approx(1, abs=0.01), pytest.approx(450, abs=5))
    only_on_time(machine)
    assert rate_bps == pytest.approx(1e6, rel=0.1)
    # A picture is left out where the one before is not coded yet.
    assert encoded > 0.8 * captured
    told = rows(
        called, "receiver", "time_ms, bytes_received + header_bytes_received, freezes, packets_lost, frames_decoded"
    )
    # Reported once per second: the last report does not cover the whole call.
    assert told[-1][4] > 0.9 * encoded * told[-1][0] / 15_000
    # Without a screen, on processors that others want too, of two pictures that are decoded together one is put up:
    # 397 of 446 in a call that counts. Freezes are by Chromium's count, which leaves the first frames out: the key
    # frame holds the next ones up.
    assert rendered > 0.5 * encoded
    if machine.get("busy_ratio", 0.0) < 0.9 and machine.get("stolen_ratio", 0.0) < 0.01:
        assert rendered > 0.75 * encoded
        assert told[-1][2] <= 1
    steps = [8e3 * (later[1] - before[1]) / (later[0] - before[0]) for before, later in itertools.pairwise(told[1:])]
    # Chromium counts no IP, UDP or SRTP bytes: 44 of about 1,200.
    assert statistics.median(steps) == pytest.approx(0.95e6, rel=0.1)
    assert told[-1][3] == 0


@pytest.mark.parametrize(("codec", "most"), [("vp8", 127), ("vp9", 255)])
def test_a_call_by_libvpx_gets_its_changing_rates_and_shows_the_frames(
    scenario: Path, tmp_path: Path, codec: str, most: int
):
    why_not = _core.codecs()[codec].why_not
    if why_not:
        pytest.skip(why_not)
    folder = tmp_path / codec
    steps = {"target_bitrate_bps": 1_200_000, "steps": [[7.0, 500_000]]}
    options = {"duration_s": 14.0, "controller.config": steps}
    legato.real_calls(scenario, out=folder, options=options, pictures=Pictures(codec=codec), log="packets")
    machine = json.loads((folder / "calls" / "00000.json").read_text(encoding="utf-8"))
    assert (machine["misnumbered"], machine["odd_sizes"]) == (0, 0)
    assert machine["encoder"] == f"libvpx {codec} (real)"
    [(captured, encoded, rendered, loss_ratio)] = rows(
        folder, "summary", "frames_captured, frames_encoded, frames_rendered, loss_ratio"
    )
    assert captured == pytest.approx(420, abs=5)
    [(quantiser, height, psnr_db)] = rows(folder, "frames", "max(qp), min(height), avg(coded_psnr_db)")
    assert quantiser <= most
    assert height == 720
    assert psnr_db > 25
    only_on_time(machine)
    assert loss_ratio == 0
    assert encoded > 0.5 * captured
    assert rendered > 0.5 * encoded
    # From the second after the key frame, and after the step, on.
    for from_ms, to_ms, target_bps in ((2_000, 7_000, 1.2e6), (9_000, 14_000, 0.5e6)):
        within = f"avg(receiver_rate_bps) FILTER (time_ms >= {from_ms} AND time_ms < {to_ms})"
        [(rate_bps,)] = rows(folder, "series", within)
        assert rate_bps == pytest.approx(target_bps, rel=0.1)


def test_the_link_of_the_scenario_is_the_link_of_the_call(called: Path):
    [(delay_ms,)] = rows(called, "summary", "one_way_delay_p50_ms")
    machine = json.loads((called / "calls" / "00000.json").read_text(encoding="utf-8"))
    only_on_time(machine)
    # 20 ms of propagation, 1,200 bytes at 4 Mbit/s are 2.4 ms, and some wait for each other.
    assert 22 < delay_ms < 40


# What the page's video shows now, as the decoder made it: luma in base64.
SCREEN = """async () => {
  const frame = new VideoFrame(document.querySelector("video"));
  const samples = new Uint8Array(frame.allocationSize());
  const [luma] = await frame.copyTo(samples);
  const { width, height } = frame.visibleRect;
  const format = frame.format;
  frame.close();
  let text = "";
  for (let row = 0; row < height; row++) {
    text += String.fromCharCode(...samples.subarray(luma.offset + row * luma.stride).subarray(0, width));
  }
  return { format, width, height, text: btoa(text) };
}"""


def test_the_viewed_quality_is_that_of_the_pixels_on_the_screen(scenario: Path, tmp_path: Path):
    width, height, fps = 640, 360, 15
    clip, folder = tmp_path / "scene.y4m", tmp_path / "run"
    _core.write_scene(str(clip), width, height, fps, 8 * fps)
    options = {"duration_s": 6.0, "controller.config.target_bitrate_bps": 250_000}
    made = Choice(scenario, options=options).plan().to_json()
    screens: list[dict] = []
    with browser.launched() as chromium:
        _core.open_call_folder(made, str(folder))
        pictures = Pictures(width=width, height=height, fps=fps)
        call = _core.RealCall(made, 0, str(folder), pictures=pictures)
        peer = browser.Peer(chromium)
        way = session.Way(receiver=peer)
        way.connect(call)
        session.wait_until(call, "connected", [peer])
        look = lambda: screens.append(peer._page.evaluate(SCREEN))  # noqa: E731
        session.follow(call, [way], 0, 1, None, each_second=look)
        [(report, _)] = call.finish([way.log.shown()])
        peer.close()
    assert report["compared"]
    psnr_db = dict(rows(folder, "frames", "frame, psnr_db"))
    raw = np.frombuffer(clip.read_bytes().split(b"\n", 1)[1], np.uint8).reshape(-1, 6 + width * height * 3 // 2)
    seen = {}
    for screen in screens:
        assert (screen["format"], screen["width"], screen["height"]) == ("I420", width, height)
        luma = np.frombuffer(base64.b64decode(screen["text"]), np.uint8).reshape(height, width)
        bits = luma[2:8:4, 2:64:4].ravel() > 128
        number = int("".join(str(int(bit)) for bit in bits), 2)
        source = raw[number, 6 : 6 + width * height].reshape(height, width)
        error = np.mean((luma.astype(float) - source) ** 2)
        if psnr_db.get(number) is not None:
            seen[number] = (10 * np.log10(255**2 / error), psnr_db[number])
    assert len(seen) >= 3
    assert all(pixels == pytest.approx(told_db, abs=0.02) for pixels, told_db in seen.values()), seen
    [(viewed_db, mean_db)] = rows(folder, "summary", "viewed_psnr_db_mean, psnr_db_mean")
    assert 20 < viewed_db <= mean_db + 0.5


def test_a_report_is_made_of_real_calls_and_simulated_ones(called: Path, scenario: Path):
    simulated = scenario.parent / "simulated"
    legato.run(scenario, out=simulated)
    page = legato.write_report([called, simulated], scenario.parent / "report.html")
    assert page.stat().st_size > 10_000


def test_two_browsers_call_each_other_over_the_scenarios_link(scenario: Path, tmp_path: Path):
    folder = tmp_path / "reference"
    options = {"duration_s": 15.0, "forward.capacity.constant_bps": 1_500_000}
    legato.real_calls(scenario, out=folder, options=options, peers="chromium-chromium", log="packets")
    machine = json.loads((folder / "calls" / "00000.json").read_text(encoding="utf-8"))
    [(controller, sent, arrived, loss_ratio, delay_ms)] = rows(
        folder,
        "summary",
        "controller, packets_sent, packets_received, loss_ratio, one_way_delay_p50_ms",
    )
    assert controller == "chromium"
    assert sent > 500
    # The last ones are on their way when the call ends.
    assert arrived == pytest.approx(sent * (1 - loss_ratio), abs=40)
    assert delay_ms > 20
    [(frames, decoded)] = rows(folder, "receiver", "max(frames_received), max(frames_decoded)")
    assert decoded > 0.9 * frames > 100
    only_on_time(machine)
    # Its own rate control keeps to the link, and is recorded as the target.
    [(estimate_bps,)] = rows(folder, "outbound", "median(available_bitrate_bps) FILTER (time_ms > 8000)")
    assert 0.5e6 < estimate_bps < 2.5e6
    [(target_bps,)] = rows(folder, "series", "median(target_bitrate_bps) FILTER (time_ms > 8000)")
    assert target_bps == pytest.approx(estimate_bps, rel=0.3)


def test_a_browser_that_sends_to_us_keeps_to_the_receiver_side_controllers_target(scenario: Path, tmp_path: Path):
    folder = tmp_path / "received"
    options = {
        "duration_s": 12.0,
        "limits.start_bps": 1_000_000,
        "limits.max_bps": 1_500_000,
        "forward.capacity": {"steps": [[0.0, 4_000_000], [7.0, 500_000]]},
    }
    legato.real_calls(scenario, out=folder, options=options, controllers=["ukf"], direction="receive")
    [(controller, received, feedback_bps)] = rows(folder, "summary", "controller, packets_received, feedback_rate_bps")
    assert controller == "ukf"
    assert received > 100
    assert feedback_bps > 0
    targets = rows(folder, "series", "time_ms, target_bitrate_bps")
    said = rows(folder, "outbound", "time_ms, available_bitrate_bps")
    for at_ms, estimate_bps in said[2:-1]:
        # Of the last 1.5 s; REMB has 18 bits of mantissa.
        allowed = [target_bps for time_ms, target_bps in targets if at_ms - 1_500 <= time_ms <= at_ms]
        assert estimate_bps <= 1.02 * max(allowed), at_ms
    late = [target_bps for time_ms, target_bps in targets if time_ms > 9_000]
    assert 0 < statistics.median(late) < 1e6
    # The frames were decoded: the camera's file goes on from picture to picture, round after round.
    [(captured, rendered)] = rows(folder, "summary", "frames_captured, frames_rendered")
    shown = rows(folder, "shown", "picture, rtp_timestamp, received_ms, shown_ms")
    assert len(shown) >= rendered > 0.7 * captured > 50
    assert all(received_ms <= shown_ms for *_, received_ms, shown_ms in shown)
    steps = [later[0] - before[0] for before, later in itertools.pairwise(shown) if None not in (later[0], before[0])]
    assert len(steps) > 0.9 * len(shown)
    assert sum(step <= 0 for step in steps) <= 2
    machine = json.loads((folder / "calls" / "00000.json").read_text(encoding="utf-8"))
    only_on_time(machine)
    delays = rows(folder, "frames", "decodable_ms - captured_ms, rendered_ms - captured_ms, captured_ms")
    early = [(whole, eye) for whole, eye, at_ms in delays if whole is not None and eye is not None and at_ms < 7_000]
    # 20 ms of propagation and a frame's packets on a link of 4 Mbit/s; playout keeps more against what the browser's
    # encoder does where it changes the size: up to 0.4 s were seen.
    assert 20 < statistics.median(whole for whole, _ in early) < 60
    assert statistics.median(whole for whole, _ in early) <= statistics.median(eye for _, eye in early) < 600


def test_without_transport_feedback_remb_decides_what_a_browser_sends(scenario: Path, tmp_path: Path):
    folder = tmp_path / "decided"
    options = {
        "duration_s": 10.0,
        "limits.start_bps": 300_000,
        "limits.max_bps": 1_500_000,
        "forward.capacity": {"constant_bps": 3_000_000},
    }
    legato.real_calls(
        scenario, out=folder, options=options, controllers=["legato-receiver"], direction="receive", feedback="remb"
    )
    targets = rows(folder, "series", "time_ms, target_bitrate_bps")
    said = rows(folder, "outbound", "time_ms, available_bitrate_bps")
    for at_ms, estimate_bps in said[2:-1]:
        allowed = [target_bps for time_ms, target_bps in targets if at_ms - 1_500 <= time_ms <= at_ms]
        assert 0.98 * min(allowed) <= estimate_bps <= 1.02 * max(allowed), at_ms
    # Up as well, at once: its own estimate would climb from the first 300 kbit/s on.
    assert max(estimate_bps for at_ms, estimate_bps in said if at_ms < 6_000) > 1e6


@pytest.mark.parametrize("codec", ["vp8", "vp9"])
def test_what_a_browser_sends_in_another_codec_is_decoded_and_shown(scenario: Path, tmp_path: Path, codec: str):
    why_not = _core.codecs()[codec].why_not
    if why_not:
        pytest.skip(why_not)
    folder = tmp_path / f"{codec}-received"
    options = {"duration_s": 10.0, "limits.start_bps": 600_000, "limits.max_bps": 800_000}
    pictures = Pictures(width=640, height=360, codec=codec)
    how = {"controllers": ["ukf"], "direction": "receive", "pictures": pictures}
    legato.real_calls(scenario, out=folder, options=options, **how)
    machine = json.loads((folder / "calls" / "00000.json").read_text(encoding="utf-8"))
    assert (machine["encoder"], machine["controller"]) == (f"chromium's {codec}", "ukf")
    [(decoder, captured, rendered)] = rows(folder, "summary", "decoder, frames_captured, frames_rendered")
    assert decoder == f"libvpx {codec} (real)"
    shown = rows(folder, "shown", "picture, width, height")
    assert len(shown) >= rendered > 0.7 * captured > 30
    assert all(16 <= width <= 640 and width * 9 == height * 16 for _, width, height in shown)
    read = [picture for picture, *_ in shown if picture is not None]
    assert len(read) > 0.8 * len(shown)
    assert sum(later <= before for before, later in itertools.pairwise(read)) <= 2


def test_the_limits_of_the_scenario_reach_the_browsers_rate_control():
    answer = "a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1\r\na=fmtp:103 apt=102\r\n"
    limited = camera.with_limits(answer, 50_000, 300_000, 2_000_000).splitlines()
    limits = "x-google-min-bitrate=50;x-google-start-bitrate=300;x-google-max-bitrate=2000"
    assert limited[0].endswith(limits)
    assert limited[1] == "a=fmtp:103 apt=102"
    answer = "a=rtpmap:96 VP8/90000\r\na=rtcp-fb:96 nack\r\n"
    limited = camera.with_limits(answer, 50_000, 300_000, 2_000_000).splitlines()
    assert limited == ["a=rtpmap:96 VP8/90000", f"a=fmtp:96 {limits}", "a=rtcp-fb:96 nack"]
    limited = camera.with_limits("a=fmtp:98 profile-id=0\r\n", 50_000, 300_000, 2_000_000).splitlines()
    assert limited == [f"a=fmtp:98 profile-id=0;{limits}"]


def test_a_clip_is_known_by_its_header(tmp_path: Path):
    clip = tmp_path / "clip.y4m"
    clip.write_bytes(b"YUV4MPEG2 W640 H360 F30000:1001 Ip\nFRAME\n")
    assert camera.picture_format(clip) == (640, 360, 30)
    clip.write_bytes(b"GIF89a")
    with pytest.raises(legato.CallError, match="no Y4M file"):
        camera.picture_format(clip)


def test_a_real_call_cannot_be_replayed(called: Path, tmp_path: Path):
    with pytest.raises(legato.RunFolderError, match="no call is the same twice"):
        legato.replay(called, 0, out=tmp_path / "again")


def test_a_codec_that_is_not_there_is_refused(scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(legato.CallError, match="codec av1: one of h264, vp8, vp9"):
        legato.real_calls(scenario, out=tmp_path / "run", pictures=Pictures(codec="av1"))
    missing = SimpleNamespace(
        why_not="this build has no VP8", remedy=_core.codecs()["vp8"].remedy, ours_alone=False, recoveries=["nack"]
    )
    monkeypatch.setattr(_core, "codecs", lambda: {"vp8": missing})
    # Where we receive we decode.
    for how in ({}, {"peers": "legato"}, {"direction": "receive"}):
        with pytest.raises(legato.CallError, match="no VP8") as refused:
            legato.real_calls(scenario, out=tmp_path / "run", pictures=Pictures(codec="vp8"), **how)
        assert "libvpx-dev" in (refused.value.hint or "")
    assert not (tmp_path / "run").exists()


def test_a_call_without_a_browser_says_what_to_install(scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LEGATO_CHROMIUM", str(tmp_path / "nothing"))
    with pytest.raises(legato.CallError, match="no Chromium") as refused:
        legato.real_calls(scenario, out=tmp_path / "run")
    assert "install" in (refused.value.hint or "")
    assert not (tmp_path / "run").exists()


def test_a_call_that_ends_before_any_media_says_why_in_both_directions(scenario: Path, tmp_path: Path):
    made = Choice(scenario, options={"limits.max_bps": 1_500_000}).plan().to_json()
    pictures = Pictures(width=320, height=180, fps=15)
    with camera.film(pictures) as film, browser.launched(camera=film.file) as chromium:
        peer = browser.Peer(chromium)
        _core.open_call_folder(made, str(tmp_path))
        how = {"pictures": pictures, "others": film.others()}
        receiving = _core.RealCall(made, 0, str(tmp_path), ends.Session(direction="receive"), **how)
        receiving.offer(0, peer.offer(film.width, film.height, film.fps))
        sending = _core.RealCall(made, 0, str(tmp_path), pictures=pictures)
        for call in (receiving, sending):
            call.stop()
            session.wait_until(call, "connected", [peer])
            with pytest.raises(legato.CallError, match="stopped before media began"):
                call.finish()
        peer.close()


def test_stopping_a_call_leaves_no_process_and_no_port(scenario: Path, tmp_path: Path):
    code = "from legato.cli import main; main()"
    command = [sys.executable, "-c", code, "call", str(scenario), "--out", str(tmp_path / "run")]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(timeout=9)
        group = os.getpgid(running.pid)
        os.killpg(group, 2)
        assert running.wait(timeout=20) == 130
    finally:
        if running.poll() is None:
            running.kill()
    assert "stopped" in (running.stderr.read() if running.stderr else "")
    with pytest.raises(ProcessLookupError):
        os.killpg(group, 0)


def descendants(pid: int) -> list[int]:
    """Children of a process, their children and so on, in the order they began."""
    found = [pid]
    for parent in found:
        listed = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, text=True, check=False).stdout
        found += [int(word) for word in listed.split()]
    return found[1:]


def test_a_browser_that_dies_ends_the_call_with_one_line(scenario: Path, tmp_path: Path):
    code = "from legato.cli import main; main()"
    command = [sys.executable, "-c", code, "call", str(scenario), "--out", str(tmp_path / "run")]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    group = os.getpgid(running.pid)
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(timeout=7)
        for pid in descendants(running.pid):
            if "chrom" in Path(f"/proc/{pid}/exe").readlink().name:
                os.kill(pid, 9)
                break  # the first is the browser itself, which takes the others with it
        assert running.wait(timeout=20) == 2
    finally:
        if running.poll() is None:
            running.kill()
    said = (running.stderr.read() if running.stderr else "").splitlines()
    assert any(line.startswith("error: the browser went away") for line in said), said
    assert not any("Traceback" in line for line in said)
    with pytest.raises(ProcessLookupError):
        os.killpg(group, 0)


def test_the_only_thing_that_listens_is_one_socket_on_loopback(scenario: Path, tmp_path: Path):
    call = _core.RealCall(Choice(scenario).plan().to_json(), 0, str(tmp_path))
    try:
        [port] = {int(line.split()[5]) for line in call.offer().splitlines() if line.startswith("a=candidate:")}
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other, pytest.raises(OSError):
            other.bind(("127.0.0.1", port))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outside:
            # Anything that is no part of the call is dropped, whatever it is.
            for byte in range(256):
                outside.sendto(bytes([byte]) * (byte + 1), ("127.0.0.1", port))
        assert not call.progress()["over"]
        with pytest.raises(legato.CallError, match="no line m=video"):
            call.answer(0, "v=0\r\n")
    finally:
        call.stop()


def test_the_clock_is_set_by_the_quickest_exchange():
    kept = log.BrowserLog()
    kept.clocks(100.0, 40.0, 110.0)
    kept.clocks(200.0, 139.0, 202.0)
    kept.clocks(300.0, 200.0, 320.0)
    assert (kept.offset_ms, kept.uncertainty_ms) == (62.0, 1.0)
