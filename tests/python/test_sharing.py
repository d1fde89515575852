"""The report of sessions in which flows share links: stacks that add up, rows of figures, calls told apart."""

from __future__ import annotations

import json
import re
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

import legato
from legato import report
from legato.report.sharing import sharing
from legato.report.timelines import choose_calls
from legato.results.store import Store
from run_folders import write_run

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="module")
def beside_tcp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sharing") / "run"
    legato.run(GOLDEN / "beside_tcp.toml", out=folder, controllers=["gcc", "nada"], seeds=2)
    return folder


@pytest.fixture(scope="module")
def two_links(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sharing") / "links"
    legato.run("rfc8867/6_3", out=folder, controllers=["gcc"])
    return folder


def unpacked(packed: list[int | None]) -> list[int | None]:
    known = iter(list(accumulate(step for step in packed if step is not None)))
    return [None if step is None else next(known) for step in packed]


def test_a_stack_adds_up_to_no_more_than_the_capacity(beside_tcp: Path) -> None:
    sessions = sharing(Store([beside_tcp]))
    assert [session["variant"] for session in sessions] == [0, 1]
    assert {session["seed"] for session in sessions} == {1}
    session = sessions[0]
    (link,) = session["links"]
    call, tcp = session["flows"]
    assert (link["name"], link["flows"]) == ("forward", [0, 1])
    assert [flow["kind"] for flow in (call, tcp)] == ["call", "tcp-reno"]
    assert set(unpacked(link["capacity"])) == {2_500}
    rates = [unpacked(flow["rate"]) for flow in (call, tcp)]
    # A packet of 1,500 bytes more or less in 100 ms are 120 kbit/s.
    assert session["bin_ms"] == 100
    assert max((one or 0) + (other or 0) for one, other in zip(*rates, strict=True)) <= 2_500 + 120
    # TCP lives from 6 to 16 s, and its mean is over that time.
    lives = [at for at, rate in enumerate(rates[1]) if rate is not None]
    assert (lives[0] * session["bin_ms"], (lives[-1] + 1) * session["bin_ms"]) == (6_000, 16_000)
    mean_mbps = sum(rates[1][at] for at in lives) / len(lives) / 1e3
    assert mean_mbps == pytest.approx(tcp["receiver_mbps"], rel=0.01)
    assert tcp["again_percent"] > 0 and call["delay_ms"] > 25


def test_each_link_has_the_flows_that_pass_it(two_links: Path) -> None:
    (session,) = sharing(Store([two_links]))
    # The fullest comes first, and two that are nearly full take turns from seed to seed.
    links = sorted(session["links"], key=lambda link: link["name"])
    assert [(link["name"], link["flows"]) for link in links] == [("A-B", [0, 1]), ("C-D", [0, 2])]
    assert [unpacked(link["capacity"])[5] for link in links] == [2_000, 1_500]


def test_calls_of_a_session_are_compared_by_flow(two_links: Path) -> None:
    store = Store([two_links])
    assert [call.flow for call in choose_calls(store, 60)] == ["call 1", "call 2", "call 3"]
    assert store.rows("SELECT count(DISTINCT condition) FROM summary") == [(3,)]


def test_calls_that_share_with_nobody_have_no_stacks(tmp_path: Path) -> None:
    folder = tmp_path / "alone"
    legato.run(GOLDEN / "step.toml", out=folder, controllers=["gcc"])
    assert sharing(Store([folder])) == []
    # Neither has a folder of before there were sessions.
    assert sharing(Store([write_run(tmp_path / "old", ("gcc",), ("lte/a",), ("anna",), duration_s=5.0)])) == []


def test_a_run_without_time_series_is_no_error(tmp_path: Path) -> None:
    legato.run(GOLDEN / "beside_tcp.toml", out=tmp_path / "run", controllers=["gcc"], log="summary")
    assert sharing(Store([tmp_path / "run"])) == []


def data_of(page: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="legato-data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found
    return json.loads(found[1])


def test_the_page_holds_the_stacks(beside_tcp: Path, tmp_path: Path) -> None:
    page = report.write(beside_tcp, tmp_path / "report.html")
    assert len(data_of(page)["sharing"]) == 2
    assert data_of(report.write(beside_tcp, tmp_path / "bare.html", max_timelines=0))["sharing"] == []
