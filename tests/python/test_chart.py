"""Curves in a terminal and as SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from legato import chart


@pytest.mark.parametrize(
    ("value", "ceiling"), [(0, 1), (0.23, 0.3), (1, 1), (1.01, 1.5), (4, 4), (7, 8), (9, 10), (10, 10), (2.5e6, 3e6)]
)
def test_a_scale_ends_at_a_round_number(value: float, ceiling: float):
    assert chart.nice_ceiling(value) == pytest.approx(ceiling)


def test_a_ramp_climbs_from_the_lower_left_to_the_upper_right():
    lines = chart.in_terminal(np.arange(100.0), np.linspace(0, 10, 100), unit="Mbit/s", columns=20, rows=4)
    plot = [line[4:] for line in lines[1:5]]
    assert plot[0][-1] != chr(0x2800)
    assert plot[3][0] != chr(0x2800)
    assert plot[0][0] == chr(0x2800)
    assert lines[1].startswith("10")
    assert lines[-1].strip().startswith("0 s")


def test_an_outage_of_one_sample_is_not_lost():
    values = np.full(10_000, 5.0)
    values[5_000] = 0.0
    lines = chart.in_terminal(np.arange(10_000.0), values, unit="", columns=20, rows=4)
    assert any(cell != chr(0x2800) for cell in lines[4][5:])


def test_the_svg_is_xml_and_its_text_is_escaped():
    picture = chart.as_svg([0, 1, 2], [0, 1, 0], title="<a & b>", unit="Mbit/s")
    root = ElementTree.fromstring(picture)
    assert root.findtext("{http://www.w3.org/2000/svg}title") == "<a & b>"
    assert "<a & b>" not in chart.as_html(picture, title="<a & b>")


def test_time_ticks_are_round_and_few():
    assert chart.time_ticks(0, 60) == [0, 10, 20, 30, 40, 50, 60]
    assert len(chart.time_ticks(0, 12_345)) <= 9
