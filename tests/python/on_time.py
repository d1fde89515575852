"""Tests of real calls hold only on a machine that gives them its processors when they need them.

A test marked ``calls`` that fails while the machine is late says nothing about the code: it is tried again, and after
three times skipped with one line. A failure while the machine keeps its times is one.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

TRIES = 3
TICK_S = 0.002
# Of a hundred sleeps one may end this much too late: Python's own threads wait 5 ms for each other.
LATE_S = 0.015
# However late the machine is, these are faults of the program or of the test.
FAULTS = ("AttributeError", "ImportError", "KeyError", "ModuleNotFoundError", "NameError", "TypeError")


class TooLateError(Exception):
    """The link of a call was late, so that its figures are not those of the scenario."""


def only_on_time(*machines: dict[str, Any]) -> None:
    """The rest is asked only of calls that count, by the lateness in their records (``calls/00000.json``)."""
    if not all(machine["valid"] for machine in machines):
        raise TooLateError(f"the link was {max(machine['lateness_p999_ms'] for machine in machines)} ms late")


class Stopwatch:
    """Sleeps a tick at a time and records how much later than that it wakes up."""

    def __enter__(self) -> Stopwatch:
        self._late_s: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._late_s or not self._over.is_set():
            begun = time.perf_counter()
            time.sleep(TICK_S)
            self._late_s.append(time.perf_counter() - begun - TICK_S)

    def late_s(self) -> float:
        """What 99 of 100 sleeps stayed within."""
        return sorted(self._late_s)[len(self._late_s) * 99 // 100]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if item.get_closest_marker("calls") is None:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for _ in range(TRIES):
        with Stopwatch() as stopwatch:
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
        failed = [report for report in reports if report.failed]
        raised = [str(getattr(getattr(report.longrepr, "reprcrash", None), "message", "")) for report in failed]
        late = stopwatch.late_s() > LATE_S or any("TooLateError" in message for message in raised)
        if not failed or not late or any(message.startswith(FAULTS) for message in raised):
            break
        # As pytest's own runner does before a first try.
        item._initrequest()  # type: ignore[attr-defined]
    else:
        for report in failed:
            report.outcome = "skipped"
            why = f"the machine is too busy, {TRIES} times: {1e3 * stopwatch.late_s():.1f} ms late"
            report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {why}")
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
