"""``legato reproduce r3net``: verdicts by hand-made calls, and a few networks for real."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Legato
from legato import shipped
from legato.published import r3net
from legato.published.reproduction import Row


def made(lead: float) -> list[r3net.Call]:
    """Twelve networks of six recordings; R3Net leads by so much in everything."""
    calls = []
    for network in range(12):
        off = 0.1 * network
        for controller, ahead in (("ukf", 0.0), ("gcc", 0.0), ("r3net", lead)):
            ahead *= 1 + 0.1 * off
            calls.append(
                r3net.Call(
                    controller, network, f"recording {network % 6}", 1, 75 + off + ahead, 120 + off - ahead,
                    100 + off - ahead, 280 + off - ahead, 3 + off - ahead, 0.5 + off + ahead,
                )
            )  # fmt: skip
    return calls


def by_name(calls: list[r3net.Call]) -> dict[str, Row]:
    return {row.name: row for row in r3net.judge(calls)}


def test_the_printed_differences_are_those_of_table_1():
    rows = by_name(made(0.5))
    # 77.8 - 73.5, 268 - 288, 1.9 - 3.8, 0.60 - 0.56.
    assert rows["bandwidth utilisation (%), less ukf's"].published == pytest.approx(4.3)
    assert rows["RTT, p95 (ms), less ukf's"].published == pytest.approx(-20)
    assert rows["packet loss (%), less ukf's"].published == pytest.approx(-1.9)
    assert rows["reward, mean, less ukf's"].published == pytest.approx(0.04)
    assert rows["RTT, p50 (ms), less ukf's"].verdict == "not comparable"
    assert rows["reward, mean, less gcc's"].published is None


def test_a_lead_whose_interval_excludes_zero_is_met_and_a_lag_is_not():
    ahead, behind = by_name(made(0.5)), by_name(made(-0.5))
    for figure in r3net.CLAIMED:
        name = f"{r3net.FIGURES[figure][0]}, less gcc's"
        assert (ahead[name].verdict, behind[name].verdict) == ("met", "not met")
    together = {row.table: row for row in r3net.judge(made(0.5)) if "together" in row.name}
    assert (together["against gcc"].verdict, together["against gcc"].mean) == ("met", len(r3net.CLAIMED))
    # Ahead, but not by the printed 4.3 points; by 30 it is, in everything.
    assert together["against ukf"].verdict == "not met"
    far = {row.table: row for row in r3net.judge(made(30.0)) if "together" in row.name}
    assert far["against ukf"].verdict == "met"


@pytest.mark.slow
@pytest.mark.skipif(
    not (shipped.policies_folder() / "r3net" / "policy.toml").is_file(), reason="no policy is shipped yet"
)
def test_a_few_networks_are_played_for_real_and_the_page_says_so(tmp_path: Path, legato: Legato):
    out = tmp_path / "r3net"
    legato("reproduce", "r3net", "--quick", "--seeds", "1", "--out", out)
    document = json.loads((out / "reproduction.json").read_text(encoding="utf-8"))
    assert {call["controller"] for call in document["calls"]} == {"ukf", "gcc", "r3net"}
    assert len({call["network"] for call in document["calls"]}) == r3net.QUICK_PATHS * r3net.QUICK_WINDOWS
    assert all(0.0 <= call["loss_percent"] <= 100.0 for call in document["calls"])
    assert {"capacity", "r3net", "ukf", "gcc"} <= document["figures"]["one_run"].keys()
    assert "Table 1" in (out / "reproduction.html").read_text(encoding="utf-8")
