"""A failing test of real calls is tried again on a late machine, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest
from on_time import only_on_time
tries = []

{body}
"""


def outcomes(pytester: pytest.Pytester, body: str) -> dict[str, int]:
    pytester.makeconftest("from on_time import pytest_runtest_protocol")
    pytester.makepyfile(TESTS.format(body=body))
    pytester.syspathinsert(Path(__file__).parent)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-W", "ignore")
    return result.parseoutcomes()


LATE = "only_on_time({'valid': False, 'lateness_p999_ms': 9.0})"


def test_a_late_call_is_made_again(pytester: pytest.Pytester):
    body = f"""
@pytest.mark.calls
def test_a(tmp_path):
    (tmp_path / "run").mkdir()
    tries.append(1)
    if len(tries) < 3:
        {LATE}

def test_tries():
    assert len(tries) == 3
"""
    assert outcomes(pytester, body) == {"passed": 2}


def test_a_machine_that_stays_late_skips_the_test(pytester: pytest.Pytester):
    assert outcomes(pytester, f"@pytest.mark.calls\ndef test_a():\n    {LATE}\n") == {"skipped": 1}


def test_a_late_machine_excuses_a_failure_and_one_that_keeps_its_times_does_not(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    import on_time

    body = """
@pytest.mark.calls
def test_a():
    tries.append(1)
    assert False

def test_tries():
    assert len(tries) == {tries}
"""
    monkeypatch.setattr(on_time.Stopwatch, "late_s", lambda _: 0.1)
    assert outcomes(pytester, body.format(tries=3)) == {"skipped": 1, "passed": 1}
    monkeypatch.setattr(on_time.Stopwatch, "late_s", lambda _: 0.0)
    assert outcomes(pytester, body.format(tries=1)) == {"failed": 1, "passed": 1}


def test_a_fault_of_the_program_is_never_excused(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("on_time.Stopwatch.late_s", lambda _: 0.1)
    assert outcomes(pytester, "@pytest.mark.calls\ndef test_a():\n    len(1)\n") == {"failed": 1}


def test_a_test_without_calls_is_not_excused(pytester: pytest.Pytester):
    assert outcomes(pytester, f"def test_a():\n    {LATE}\n") == {"failed": 1}
