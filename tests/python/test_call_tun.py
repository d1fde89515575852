"""The link between network namespaces: foreign programs over it, two browsers over it, and its remains when Legato ends
in any way.

For the superuser, on Linux; others see why these are skipped. They take as long as the links last. On a machine that is
busy with other things the link is late. Properties that hold on any machine are always tested, the figures of the link
only where it counts.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

import legato
from legato.call import Pictures, check, tun
from on_time import only_on_time

WHY_NOT = tun.problem()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))

SCENARIO = """
name = "between"
duration_s = 4.0
controller = { name = "fixed", config = { target_bitrate_bps = 1_000_000 } }
[forward]
propagation_ms = 30.0
capacity = { constant_bps = 10_000_000 }
[reverse]
propagation_ms = 20.0
"""

ECHO = """
import os, socket
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind((os.environ["LEGATO_OWN"], 7))
while True:
    datagram, sender = here.recvfrom(2048)
    here.sendto(datagram, sender)
"""
ASK = """
import json, os, socket, sys, time
there = (os.environ["LEGATO_PEER"], 7)
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.settimeout(1)
time.sleep(0.3)
times_ms = []
for number in range(40):
    begun = time.monotonic()
    here.sendto(bytes([number]) * 100, there)
    try:
        assert here.recv(2048) == bytes([number]) * 100
    except TimeoutError:
        sys.exit(3)
    times_ms.append((time.monotonic() - begun) * 1e3)
    time.sleep(0.01)
open(sys.argv[1], "w").write(json.dumps(times_ms))
"""
# RTP of payload type 96 with 1,160 bytes each, at 4 Mbit/s, in packets that may be marked.
FLOOD = """
import os, socket, struct, time
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 1)
time.sleep(0.3)
begun, number = time.monotonic(), 0
while (now := time.monotonic() - begun) < 3:
    while number < now * 4e6 / 8 / 1200:
        rtp = struct.pack(">BBHII", 0x80, 96, number & 0xFFFF, number // 4, 77) + bytes(1160)
        here.sendto(rtp, (os.environ["LEGATO_PEER"], 5004))
        number += 1
    time.sleep(0.002)
"""
SINK = """
import json, os, socket, sys
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
here.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
here.bind((os.environ["LEGATO_OWN"], 5004))
here.settimeout(1.5)
packets = marked = 0
try:
    while True:
        _, ancillary, _, _ = here.recvmsg(2048, 64)
        packets += 1
        marked += ancillary[0][2][0] == 3
except TimeoutError:
    open(sys.argv[1], "w").write(json.dumps([packets, marked]))
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "between.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    return file


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., str]:
    """A command line that runs Python code."""

    def write(name: str, code: str, *arguments: str | Path) -> str:
        file = tmp_path / f"{name}.py"
        file.write_text(code, encoding="utf-8")
        return " ".join(map(str, ("exec", sys.executable, file, *arguments)))

    return write


def rows(folder: Path, table: str, columns: str) -> list[tuple]:
    return duckdb.sql(f"SELECT {columns} FROM read_parquet('{folder}/{table}/*.parquet')").fetchall()


def machine_of(folder: Path) -> dict:
    return json.loads((folder / "calls" / "00000.json").read_text(encoding="utf-8"))


def namespaces() -> set[int]:
    """The network namespaces of all processes, by their numbers."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            found.add(entry.stat().st_ino)
        except OSError:
            continue
    return found


def held(pid: int) -> set[int]:
    """The network namespaces that a process holds as open files."""
    found = set()
    for entry in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            if str(entry.readlink()).startswith("net:"):
                found.add(entry.stat().st_ino)
        except OSError:
            continue
    return found


def started(scenario: Path, out: Path, *how: str) -> subprocess.Popen[str]:
    code = "from legato.cli import main; main()"
    command = [sys.executable, "-c", code, *how, str(scenario), "--out", str(out)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)


def until(true: Callable[[], object], within_s: float) -> bool:
    end = time.monotonic() + within_s
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_a_round_trip_takes_what_the_scenario_says(scenario: Path, tmp_path: Path, program: Callable[..., str]):
    times = tmp_path / "times.json"
    near, far = program("ask", ASK, times), program("echo", ECHO)
    run = legato.link(scenario, near=near, far=far, out=tmp_path / "run", log="packets")
    machine = machine_of(run.folder)
    assert (machine["near_status"], machine["far_status"], machine["link"]) == (0, None, "tun")
    # Each of the 40 there and back, once.
    assert rows(run.folder, "summary", "packets_sent, packets_received, frames_captured") == [(40, 40, 0)]
    assert {size for (size,) in rows(run.folder, "packets", "size_bytes")} == {128}
    times_ms = json.loads(times.read_text(encoding="utf-8"))
    # 128 bytes at 10 Mbit/s take 0.1 ms.
    assert min(times_ms) > 50.1
    if machine["valid"]:
        assert statistics.median(times_ms) < 52.1


def test_the_rate_of_the_link_is_held_and_what_is_too_much_is_lost(
    scenario: Path, tmp_path: Path, program: Callable[..., str]
):
    counts = tmp_path / "counts.json"
    options = {
        "duration_s": 6.0,
        "forward.capacity.constant_bps": 1_000_000,
        "forward.queue": {"limit_ms": 100.0, "mark_above_ms": 20.0},
    }
    near, far = program("flood", FLOOD), program("sink", SINK, counts)
    out = tmp_path / "run"
    run = legato.link(scenario, near=near, far=far, out=out, options=options, name="flood", log="packets")
    packets, marked = json.loads(counts.read_text(encoding="utf-8"))
    columns = "controller, packets_sent, packets_received, one_way_delay_p95_ms"
    [(name, sent, received, delay_ms)] = rows(run.folder, "summary", columns)
    assert name == "flood"
    assert 1_150 <= sent <= 1_251
    assert received == packets
    # Nearly all packets that got through waited longer than 20 ms.
    assert packets > marked > 0.85 * packets
    assert set(rows(run.folder, "packets", "ssrc, size_bytes")) == {(77, 1_200)}
    if machine_of(run.folder)["valid"]:
        # 100 ms of queue and 30 ms of propagation behind it.
        assert 110 < delay_ms < 145
        [(arrived, over_s)] = rows(
            run.folder, "packets", "count(arrived_ns), (max(arrived_ns) - min(arrived_ns)) / 1e9"
        )
        assert 8 * 1_200 * (arrived - 1) / over_s == pytest.approx(1e6, rel=0.01)
    page = legato.write_report([run.folder], tmp_path / "report.html")
    assert page.stat().st_size > 10_000


def test_nothing_comes_through_a_link_that_loses_all_and_the_status_says_that_a_program_failed(
    scenario: Path, tmp_path: Path, program: Callable[..., str]
):
    near, far = program("ask", ASK, tmp_path / "times.json"), program("echo", ECHO)
    command = ("link", "-o", "forward.loss_ratio=1.0", "--near", near, "--far", far)
    running = started(scenario, tmp_path / "run", *command)
    assert running.wait(timeout=30) == 1
    said = running.stderr.read() if running.stderr else ""
    assert "call 0: the near program ended with status 3" in said
    assert "call 0: the far program was ended with the scenario" in said
    assert rows(tmp_path / "run", "summary", "packets_sent, packets_received") == [(1, 0)]


# Detached processes and processes with children are to be found, too.
STAYING = "sleep 300 & setsid sleep 300 & wait"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, -15)])
def test_nothing_is_left_however_legato_ends(scenario: Path, tmp_path: Path, number: int, status: int):
    before = namespaces()
    command = ("link", "-o", "duration_s=60", "--near", STAYING, "--far", STAYING)
    running = started(scenario, tmp_path / "run", *command)
    try:
        # Two shells with two programs each, and Legato's own.
        assert until(lambda: len(namespaces() - before) == 2, 20)
        made = namespaces() - before
        assert held(running.pid) == made
        assert until(lambda: len(inside(made)) == 6, 5)
        os.kill(running.pid, number)
        assert running.wait(timeout=20) == status
    finally:
        if running.poll() is None:
            running.kill()
    assert until(lambda: not inside(made), 3)
    # Nothing holds them any more, so they are gone, and their devices with them.
    assert until(lambda: not any(made & held(int(entry.name)) for entry in Path("/proc").glob("[0-9]*")), 3)


def inside(numbers: set[int]) -> list[int]:
    pids = []
    for entry in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            if entry.stat().st_ino in numbers:
                pids.append(int(entry.parts[2]))
        except OSError:
            continue
    return pids


def gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_where_there_can_be_none_one_line_says_why(scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(legato.CallError, match="no nsenter") as refused:
        legato.link(scenario, near="true", far="true", out=tmp_path / "run")
    assert "superuser" in (refused.value.hint or "")
    assert not (tmp_path / "run").exists()
    found = check._namespaces()
    assert (found.ok, found.optional) == (False, True)
    assert "not needed for the link inside" in found.remedy


def test_one_who_may_not_make_namespaces_is_told_so(tmp_path: Path):
    code = "from legato import _core\ntry: _core.TunPair()\nexcept Exception as error: print(error)"
    # Without any capability the superuser may do nothing.
    command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert "a network namespace: Operation not permitted" in said


def test_our_own_calls_have_their_link_inside(scenario: Path, tmp_path: Path):
    with pytest.raises(legato.CallError, match="link tun: with peers legato both ends are in this process"):
        legato.real_calls(scenario, out=tmp_path / "run", peers="legato", link="tun")
    with pytest.raises(legato.CallError, match="link kernel: one of inside, tun"):
        legato.real_calls(scenario, out=tmp_path / "run", link="kernel")


@pytest.mark.browser
@pytest.mark.slow
def test_two_browsers_call_each_other_between_namespaces(scenario: Path, tmp_path: Path):
    before = namespaces()
    folder = tmp_path / "run"
    options = {"duration_s": 10.0, "forward.capacity.constant_bps": 1_500_000}
    how = {"pictures": Pictures(width=640, height=360), "peers": "chromium-chromium", "link": "tun"}
    legato.real_calls(scenario, out=folder, options=options, log="packets", **how)
    machine = machine_of(folder)
    assert machine["link"] == "tun"
    [(sent, arrived, loss_ratio, delay_ms, captured, rendered)] = rows(
        folder,
        "summary",
        "packets_sent, packets_received, loss_ratio, one_way_delay_p50_ms, frames_captured, frames_rendered",
    )
    [(came, decoded)] = rows(folder, "receiver", "max(frames_received), max(frames_decoded)")
    assert sent > 300
    # The last ones are on their way when the call ends.
    assert arrived == pytest.approx(sent * (1 - loss_ratio), abs=40)
    assert delay_ms > 30
    assert decoded > 0.9 * came > 50
    # Where others want the processors, of two that are decoded together the screen gets one.
    assert rendered > 0.5 * captured > 50
    assert not namespaces() - before
    only_on_time(machine)
    # 30 ms of propagation and 6.4 ms for a packet; the browsers' rate control keeps the queue short.
    assert delay_ms < 70


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("direction", ["send", "receive", "both"])
def test_we_and_a_browser_in_a_namespace_call_each_other(scenario: Path, tmp_path: Path, direction: str):
    before = namespaces()
    folder = tmp_path / "run"
    options = {"duration_s": 8.0, "limits.max_bps": 600_000}
    how = {"pictures": Pictures(width=320, height=180), "direction": direction, "link": "tun"}
    legato.real_calls(scenario, out=folder, options=options, controllers=["gcc"], log="packets", **how)
    assert not namespaces() - before
    calls = 2 if direction == "both" else 1
    machines = [json.loads(file.read_text(encoding="utf-8")) for file in sorted((folder / "calls").glob("*.json"))]
    assert [machine["link"] for machine in machines] == calls * ["tun"]
    assert all((machine["misnumbered"], machine["odd_sizes"]) == (0, 0) for machine in machines)
    columns = "call, packets_sent, packets_received, one_way_delay_p50_ms, frames_captured, frames_rendered"
    ways = sorted(rows(folder, "summary", columns))
    assert len(ways) == calls
    for call, sent, arrived, delay_ms, captured, rendered in ways:
        # The last ones are on their way when the call ends.
        assert sent > 100 and arrived == pytest.approx(sent, abs=40), call
        assert delay_ms > (20 if call else 30), call
        assert rendered > 0.5 * captured > 40, call
    only_on_time(*machines)
    # 30 ms of propagation forward and 20 in reverse, and 1 ms for a packet at 10 Mbit/s.
    assert all(delay_ms < (30 if call else 40) for call, _, _, delay_ms, _, _ in ways), ways


@pytest.mark.browser
@pytest.mark.slow
def test_browsers_in_namespaces_are_gone_when_legato_is_killed(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # A short name: the browser has a socket in it.
    scratch = Path(tempfile.mkdtemp())
    monkeypatch.setenv("TMPDIR", str(scratch))
    before = namespaces()
    command = ("call", "--peers", "chromium-chromium", "--link", "tun", "--size", "320x180", "-o", "duration_s=60")
    running = started(scenario, tmp_path / "run", *command)
    try:
        assert until(lambda: len(namespaces() - before) >= 2, 20)
        time.sleep(3)
        made = namespaces() - before
        assert len(inside(made)) > 4
        assert list(scratch.glob("legato-*"))
        running.kill()
        running.wait(timeout=10)
    finally:
        if running.poll() is None:
            running.kill()
    assert until(lambda: not inside(made), 5)
    assert until(lambda: gone(running.pid), 10)
    # The camera's file, too, which is large.
    assert until(lambda: not list(scratch.glob("legato-*")), 5)
    shutil.rmtree(scratch)
