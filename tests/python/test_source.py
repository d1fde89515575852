"""Whether the sources of cases follow their targets, and the page that says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from legato.conformance import conformance, page
from legato.conformance.cases import CASES
from legato.conformance.source import Source, of_case, of_scenario
from legato.plan import scenarios


def source_of(options: dict[str, object]) -> Source:
    path, text = scenarios.read("rfc8867/5_1_a_50ms", options)
    return of_scenario(text, str(path))


def test_the_default_source_is_one_that_section_4_3_allows() -> None:
    source = source_of({})
    assert source.name == "foreman, openh264" and (source.high_bps, source.low_bps) == (1_500_000, 375_000)
    assert source.meets, source


def test_x264_with_half_a_second_of_buffer_is_none() -> None:
    source = source_of({"video.encoder": "x264"})
    assert source.name == "foreman, x264, 500 ms" and not source.meets
    assert source.after_fall_ratio > 1.1 and source.after_rise_ratio < 0.9, source


def test_a_shorter_buffer_answers_a_fall_sooner() -> None:
    short, long = (source_of({"video.encoder": "x264", "video.vbv_ms": ms}) for ms in (100, 1000))
    assert short.after_fall_ratio < long.after_fall_ratio - 0.2, (short, long)


def test_the_statistical_source_holds_off_longer_than_that() -> None:
    """RFC 8593's encoder ignores further requests for 200 ms: it is a model of something else."""
    path, text = scenarios.read("r3net")
    assert of_scenario(text, str(path)).name == "statistical source"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
def test_every_case_is_judged_on_a_source_that_is_allowed(case) -> None:
    source = of_case(case)
    assert source.meets, source


def test_the_page_and_the_verdicts_say_what_the_source_does(tmp_path: Path) -> None:
    suite = conformance(["fixed"], out=tmp_path / "c", cases=["5.3a"])
    assert not suite.slow_sources
    [said, *_] = json.loads((tmp_path / "c" / "verdicts.json").read_text())["sources"]
    assert said["meets"] and said["name"] == "foreman, openh264"
    html = page.write(suite, tmp_path / "c.html").read_text()
    assert "the source of every case answers" in html and "Source: foreman, openh264." in html
