"""Curves in a terminal and as SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from legato.report import chart


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
    picture = chart.picture([chart.Axes([chart.Line("", [(0, 0), (1, 1), (2, 0)])])], "<a & b>")
    root = ElementTree.fromstring(picture)
    assert root.findtext("{http://www.w3.org/2000/svg}title") == "<a & b>"
    drawn = chart.draw([chart.Axes([chart.Line("c0", [(0, 0), (2, 1)])])], "<a & b>")
    assert ElementTree.fromstring(drawn).attrib["aria-label"] == "<a & b>"
    axes = [chart.Axes([chart.Line("c0", [(0, 0), (2, 1)])])]
    root = ElementTree.fromstring(chart.figure(axes, title="<a & b>", names=["x < y"], unit=" s"))
    assert root.findtext("{http://www.w3.org/2000/svg}text") == "x < y"


def test_ticks_are_round_and_few():
    assert chart.ticks(0, 60) == [0, 10, 20, 30, 40, 50, 60]
    assert chart.ticks(12.0, 58.0) == [20, 30, 40, 50]
    assert chart.ticks(0, 0.7) == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    assert len(chart.ticks(0, 12_345)) <= 9


def test_a_line_keeps_within_its_axes_and_nan_lifts_the_pen():
    points = [(0.0, 1.0), (1.0, float("nan")), (2.0, 9.0), (4.0, -9.0)]
    axes = chart.Axes([chart.Line("c1", points)], low=0.0, high=2.0, height=100)
    drawn = ElementTree.fromstring(chart.draw([axes], "x", width=452))
    (line,) = (path for path in drawn.iter("path") if "line" in path.attrib["class"])
    # 400 wide from 44, 100 high from 6; values beyond the axis are drawn at its end.
    assert line.attrib == {"class": "line c1", "d": "M44.0,56.0M244.0,6.0L444.0,106.0"}


def test_axes_stand_above_each_other_on_one_time_axis():
    first = chart.Axes([chart.Line("c0", [(0.0, 0.0), (10.0, 1.0)])], height=50)
    second = chart.Axes((), [chart.Dot("c0", (5.0, 1.0), "a <dot>", 0.5)], height=30, labels=((1.0, "one"),))
    drawn = ElementTree.fromstring(chart.draw([first, second], "x", width=452, unit=" s", x_marks=(5.0,)))
    (dot,) = drawn.iter("circle")
    assert (dot.attrib["cx"], dot.attrib["cy"], dot.findtext("title")) == ("244.0", "68.0", "a <dot>")
    texts = [text.text for text in drawn.iter("text")]
    assert "one" in texts and "10 s" in texts


def test_the_last_label_of_an_axis_stays_within_the_picture() -> None:
    drawn = chart.draw([chart.Axes([chart.Line("c0", [(0.0, 1.0), (100.0, 2.0)])])], "title", width=400, unit=" s")
    assert '<text x="400.0" y="202" text-anchor="end">100 s</text>' in drawn
