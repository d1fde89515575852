"""RFC 8868's figures of flows, on made-up rates worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from legato.conformance.figures import (
    SessionFigures,
    fairness,
    flow_figures,
    passages,
    rtt_growth,
    session_figures,
)
from legato.conformance.flow_tables import tables
from legato.conformance.flows import BIN_S, Flow, Session

ROW = {
    "sending_rate_bps": 1e6, "receiver_rate_bps": 0.9e6, "goodput_bps": 0.8e6, "packets_sent": 1_000,
    "packets_lost": 25, "loss_ratio": 0.1, "residual_loss_ratio": 0.01, "one_way_delay_mean_ms": 60.0,
    "one_way_delay_std_ms": 5.5, "one_way_delay_p95_ms": 70.0, "feedback_rate_bps": 12_000.0,
}  # fmt: skip


def flow(rates_bps: np.ndarray, kind: str = "call", name: str = "call 1", start_s: float = 0.0) -> Flow:
    nothing = np.full_like(rates_bps, np.nan)
    return Flow(name, kind, start_s, rates_bps.size * BIN_S, rates_bps, rates_bps, nothing, nothing, nothing, ROW)


def constant(bps: float, seconds: float) -> np.ndarray:
    return np.full(round(seconds / BIN_S), bps)


def session(*calls: Flow, beside: tuple[Flow, ...] = ()) -> Session:
    return Session("gcc", 1, max(call.stop_s for call in calls), tuple(calls), beside)


# [rfc8868] §3: an oscillation is a passage between the watermarks in no more than the time.
def test_a_passage_counts_only_where_it_is_fast_enough() -> None:
    fast = np.array([0.5, 1.0, 1.0, 2.0, 1.0, 0.4])
    # Low to high takes three bins, high to low two.
    assert passages(fast, 0.5, 2.0, 0.5) == 2
    assert passages(fast, 0.5, 2.0, 0.2) == 1
    assert passages(fast, 0.5, 2.0, 0.1) == 0
    # What stays near a watermark leaves it last, not first.
    assert passages(np.array([0.5, 0.4, 0.5, 0.3, 2.5]), 0.5, 2.0, 0.1) == 1
    assert passages(np.array([0.5, np.nan, 2.0, np.nan]), 0.5, 2.0, 0.5) == 1
    assert passages(np.array([2.0, 1.0, 2.0, 0.51, 2.0]), 0.5, 2.0, 0.5) == 0


# [rfc8868] §3: watermarks follow the rate of the 10 s around, so that a link that changes is no oscillation.
def test_a_step_of_the_capacity_is_no_swing_and_a_pump_is() -> None:
    step = np.concatenate([constant(2.5e6, 30), constant(0.6e6, 30)])
    assert (flow_figures(flow(step)).swings, flow_figures(flow(step)).near_swings) == (0, 1)
    # 0.3 and 1.7 of the mean, a second each, ten times: 19 changes between.
    pump = np.tile(np.concatenate([constant(0.3e6, 1), constant(1.7e6, 1)]), 10)
    figures = flow_figures(flow(np.concatenate([constant(1e6, 5), pump, constant(1e6, 5)])))
    assert (figures.swings, figures.near_swings) == (0, 19)
    deep = np.tile(np.concatenate([constant(0.1e6, 1.5), constant(2.5e6, 0.9)]), 10)
    assert flow_figures(flow(np.concatenate([constant(1e6, 5), deep, constant(1e6, 5)]))).swings == 19


# [rfc8868] §3: ratios of mean rates over 1, 5 and 20 s.
def test_fairness_depends_on_the_length_of_the_window() -> None:
    # They take turns: 5 s of 1.6 and 0.4 Mbit/s each.
    turns = [np.tile(np.concatenate([constant(a, 5), constant(b, 5)]), 6) for a, b in ((1.6e6, 0.4e6), (0.4e6, 1.6e6))]
    short, middle, long = fairness(session(flow(turns[0]), flow(turns[1])))
    assert [row.window_s for row in (short, middle, long)] == [1, 5, 20]
    # 50 s from 10 s on: 50, 46 and 31 windows.
    assert [row.windows for row in (short, middle, long)] == [50, 46, 31]
    assert (short.worst_ratio, short.within_ratio) == (pytest.approx(4.0), 0.0)
    assert (middle.worst_ratio, long.worst_ratio) == (pytest.approx(4.0), pytest.approx(1.0))
    # The ten that begin with a turn have the whole of it; one that begins 1 s later has 6.8 to 3.2.
    assert (middle.within_ratio, long.within_ratio) == (pytest.approx(36 / 46), 1.0)
    # (1.6 + 0.4)² / (2 (1.6² + 0.4²)) = 4 / 5.44.
    assert short.jain_least_ratio == pytest.approx(4 / 5.44) and short.jain_mean_ratio == pytest.approx(4 / 5.44)
    assert short.against_tcp_ratio is None


def test_who_pauses_shares_nothing_meanwhile_nor_as_it_comes_back() -> None:
    paused = np.concatenate([constant(1e6, 30), constant(0.0, 10), constant(0.3e6, 10), constant(1e6, 30)])
    rows = fairness(session(flow(constant(1e6, 80)), flow(paused)))
    assert [row.worst_ratio for row in rows] == [pytest.approx(1.0)] * 3


def test_the_growth_of_round_trips_is_the_worst_of_any_join() -> None:
    first = replace(flow(constant(1e6, 60)), rtt_ms=np.concatenate([np.full(200, 100.0), np.full(400, 250.0)]))
    second = replace(flow(constant(1e6, 60), start_s=20.0), rtt_ms=np.full(600, 250.0))
    assert rtt_growth(session(first, second)) == pytest.approx(2.5)
    # A flow that joins with the first, or when no other is left, makes no round trip grow.
    assert rtt_growth(session(first, replace(second, start_s=0.0))) is None
    assert rtt_growth(session(first, replace(second, start_s=55.0))) is None
    udp = replace(flow(constant(1e6, 60), kind="udp"), start_s=40.0)
    assert rtt_growth(session(first, beside=(udp,))) == pytest.approx(1.0)


def test_a_call_alone_shares_with_nobody_and_one_beside_tcp_with_that() -> None:
    call = flow(constant(0.5e6, 60))
    assert fairness(session(call)) == []
    tcp = flow(constant(1e6, 60), kind="tcp-reno", name="tcp 1")
    rows = fairness(session(call, beside=(tcp,)))
    assert [row.against_tcp_ratio for row in rows] == [pytest.approx(0.5)] * 3
    assert rows[0].worst_ratio is None and rows[0].jain_mean_ratio is None
    # Connections that pause most of the time are no flow to share with.
    short = flow(np.tile(np.concatenate([constant(1e6, 1), constant(0.0, 9)]), 6), kind="tcp-reno")
    assert fairness(session(call, beside=(short,))) == []


def test_the_figures_of_a_flow_are_those_of_its_row() -> None:
    figures = flow_figures(flow(constant(1e6, 30)))
    assert (figures.loss_ratio, figures.delay_std_ms, figures.feedback_bps) == (0.1, 5.5, 12_000.0)
    beside = flow_figures(flow(constant(1e6, 30), kind="udp", name="udp 1"))
    assert (beside.loss_ratio, beside.swings) == (0.025, None)


# [rfc8868] §3, by hand: 200 ms of 1, 2, 2 and 3 Mbit/s have the mean 2, the variance 0.5 and the deviation 0.707.
def test_rates_have_their_extremes_mean_deviation_and_variance_over_200_ms() -> None:
    halves = np.array([0.5e6, 1.5e6, 2e6, 2e6, 1e6, 3e6, 3e6, 3e6, 9e6])
    with_life = np.concatenate([np.full(3, np.nan), halves])
    delay = np.array([np.nan, 40.0, 90.0])
    figures = flow_figures(replace(flow(with_life), delay_ms=delay))
    sending, delay_ms = figures.sending, figures.delay
    assert sending is not None and delay_ms is not None and sending == figures.receiving
    by_hand = {"minimum": 1e6, "maximum": 3e6, "mean": 2e6, "std": 0.707107e6, "variance": 0.5e12}
    assert sending == pytest.approx(by_hand, rel=1e-5)
    # Of packets, 60 ± 5.5 ms; of the means over 100 ms, 40 to 90.
    assert delay_ms == {"minimum": 40.0, "maximum": 90.0, "mean": 60.0, "std": 5.5, "variance": 30.25}
    assert flow_figures(flow(with_life)).delay is None


def test_the_tables_have_a_row_a_flow_and_say_what_they_leave_out() -> None:
    calls = [flow(constant(1e6, 60), name=f"call {n}") for n in range(1, 17)]
    figures = session_figures(session(*calls))
    found = tables({"gcc": figures, "nada": SessionFigures(figures.flows[:2], (), None)})
    assert [(name, len(rows)) for name, rows in found.rows] == [("gcc", 6), ("nada", 2)]
    assert (found.shown, found.left_out, found.joins) == (6, 10, False)
    names = [column.name for column in found.sharing_columns]
    assert names == ["furthest", "≤ 3", "Jain", "minimum"]
    # Each of four columns over windows of 1, 5 and 20 s; equal calls share equally, and the second has no records.
    assert found.sharing == [("gcc", ["1.00", "100 %", "1.00", "1.00"] * 3), ("nada", ["—"] * 12)]
    assert not tables({"gcc": replace(figures, fairness=())}).sharing
