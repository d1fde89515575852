"""An estimator of AlphaRTC's interface decides a call from its file."""

from __future__ import annotations

from pathlib import Path

import pytest

import legato
from legato.errors import ControllerError

ESTIMATOR = """
class Estimator:
    \"\"\"Nine tenths of what arrived over the last interval, and a little more where nothing was queued.\"\"\"

    def __init__(self):
        self.bytes, self.least_ms, self.queued_ms, self.first_ms = 0, None, 0, None

    def report_states(self, stats):
        assert set(stats) == {
            "send_time_ms", "arrival_time_ms", "payload_type", "sequence_number", "ssrc", "padding_length",
            "header_length", "payload_size",
        }
        assert stats["payload_type"] in (120, 122, 124, 125) and 0 <= stats["sequence_number"] < 65536
        self.bytes += stats["payload_size"] + stats["header_length"] + stats["padding_length"]
        delay_ms = stats["arrival_time_ms"] - stats["send_time_ms"]
        self.least_ms = delay_ms if self.least_ms is None else min(self.least_ms, delay_ms)
        self.queued_ms = delay_ms - self.least_ms

    def get_estimated_bandwidth(self):
        rate_bps = self.bytes * 8 / 0.2
        self.bytes = 0
        return int(rate_bps * (0.9 if self.queued_ms > 20 else 1.2))
"""
STEADY = {"duration_s": 12.0, "forward.capacity.constant_bps": 1_000_000}


def run(estimator: Path, out: Path, **options: object) -> dict[str, object]:
    spec = f"opennetlab@file={estimator}"
    (call,) = legato.run("steady", controllers=[spec], options=STEADY | options, out=out).summary()
    return call


def test_a_files_estimator_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(ESTIMATOR)
    call = run(tmp_path / "mine.py", tmp_path / "run")
    assert str(call["controller"]).startswith("opennetlab(file=")
    assert 0.5 < call["utilisation_ratio"] < 1.0, call["utilisation_ratio"]
    again = run(tmp_path / "mine.py", tmp_path / "again")
    assert again["utilisation_ratio"] == call["utilisation_ratio"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("class Estimator:\n    pass\n", "its Estimator has no method report_states"),
        ("x = 1\n", "it has no class Estimator"),
        ("import a_module_that_is_not\n", "No module named 'a_module_that_is_not'"),
        (None, "there is no such file"),
    ],
)
def test_a_file_without_an_estimator_is_refused_in_one_line(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "bad.py").write_text(text)
    with pytest.raises(ControllerError, match=said) as refused:
        run(tmp_path / "bad.py", tmp_path / "run")
    assert "bad.py" in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_an_estimate_that_is_no_number_is_reported_at_the_calls_end(tmp_path: Path, value: str) -> None:
    broken = ESTIMATOR.replace("return int(rate_bps", f"return float('{value}') + (0 * rate_bps")
    (tmp_path / "broken.py").write_text(broken)
    with pytest.raises(ControllerError, match=rf"get_estimated_bandwidth\(\) returned (?i:{value})"):
        run(tmp_path / "broken.py", tmp_path / "run")


def test_an_exception_in_a_call_is_reported_at_its_end(tmp_path: Path) -> None:
    broken = ESTIMATOR.replace("return int(rate_bps", "return int(1 / 0 * rate_bps")
    (tmp_path / "broken.py").write_text(broken)
    with pytest.raises(ControllerError, match=r"broken.py: ZeroDivisionError: "):
        run(tmp_path / "broken.py", tmp_path / "run")
