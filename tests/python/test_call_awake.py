"""Processors of a virtual machine are kept awake while calls are made, by processes that never get in the way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from legato.call import awake, wakes
from legato.call.processor import Processor

pytestmark = pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="this system has no class for idle work")


@pytest.fixture
def on_a_guest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(awake, "_virtual", lambda: True)
    monkeypatch.setattr(awake, "_helps", lambda: True)


def gone(pid: int, within_s: float) -> bool:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


def test_a_process_counts_on_each_processor_when_nothing_else_wants_it(on_a_guest: None):
    with awake.kept() as kept:
        assert kept
        pids = [process.pid for process in awake._counting]
        assert len(pids) == len(os.sched_getaffinity(0))
        until = time.monotonic() + 20
        while any(os.sched_getscheduler(pid) != os.SCHED_IDLE for pid in pids):
            assert time.monotonic() < until
            time.sleep(0.02)
        with awake.kept() as again:
            assert again
            assert [process.pid for process in awake._counting] == pids
    assert all(gone(pid, 1.0) for pid in pids)


def test_what_they_count_is_not_held_against_the_machine(on_a_guest: None):
    with awake.kept():
        processor = Processor()
        time.sleep(0.5)
        counted = awake.counted_s()
        told = processor.since()
    assert counted > 0
    assert 0 <= told["busy_ratio"] <= 1


def test_they_end_with_their_parent_however_it_ends(on_a_guest: None):
    code = """
import os, sys, time
from legato.call import awake
awake._virtual = awake._helps = lambda: True
with awake.kept():
    print(*(process.pid for process in awake._counting), flush=True)
    time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    parent.kill()
    parent.wait()
    assert pids
    assert all(gone(pid, 20.0) for pid in pids)


def test_a_machine_of_its_own_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(awake, "_virtual", lambda: False)
    with awake.kept() as kept:
        assert not kept
        assert awake.counted_s() == 0


@pytest.mark.parametrize(
    ("asleep", "counting", "kept_awake"),
    [(0.0, None, False), (0.015, None, False), (0.5, 0.01, True), (0.5, 0.4, False), (0.05, 0.06, False)],
)
def test_they_count_only_where_sleepers_are_woken_in_time_more_often_then(
    monkeypatch: pytest.MonkeyPatch, asleep: float, counting: float | None, kept_awake: bool
):
    def late(_seconds: float) -> float:
        told = counting if awake.counting() else asleep
        assert told is not None, "few sleeps are late: nothing else needs to be tried"
        return told

    monkeypatch.setattr(awake, "_virtual", lambda: True)
    monkeypatch.setattr(awake, "_found", None)
    monkeypatch.setattr(awake.wakes, "late_ratio", late)
    with awake.kept() as kept:
        assert kept is kept_awake is awake.counting()
        assert Processor().since()["kept_awake"] is kept_awake
    assert not awake.counting()
    monkeypatch.setattr(awake.wakes, "late_ratio", lambda _seconds: pytest.fail("tried again at once"))
    with awake.kept() as kept:
        assert kept is kept_awake


def test_a_late_wake_is_seen(monkeypatch: pytest.MonkeyPatch):
    slept = time.sleep
    monkeypatch.setattr(wakes.time, "sleep", lambda seconds: slept(seconds + 0.005))
    assert wakes.late_ratio(0.1) == 1.0
