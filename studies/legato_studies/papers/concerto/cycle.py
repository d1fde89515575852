"""The vicious cycle of [concerto] section 2.3: GCC alone against GCC with video over the same links, Fig. 7, 9, 10, 14.

GCC alone sends whatever it decides, in one packet after another, as a bulk transfer does. With video there is a
packet only where the encoder made one. What the paper leaves open is read so:

- *delay* (Fig. 7) is the mean round-trip time, which its Fig. 8 draws;
- a *reduction* (Fig. 9) is a fall of the target by a tenth or more from a peak, down to where it begins to rise. Its
size is the share of the peak that is lost;
- it has *recovered* (Fig. 10) once the target is within a tenth of the rate at the peak, or of the capacity at that
time if that is less. A call that ends before has not, and its time until the end counts, which is too short;
- an *update* (Fig. 14) is a report of packets that arrived within 5 ms, the paper's example.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from legato.links import HELD_OUT, TUNED, access_networks
from legato.plan import Choice, Plan
from legato.results.query import query
from legato.results.stats import Estimate
from legato_studies.papers.concerto.calibration import DELAY_MS, LOSS_RATIO
from legato_studies.papers.concerto.estimates import difference, direction, mean, percent, ratio, scaled, turned
from legato_studies.papers.concerto.setups import WEBRTC, OnNetwork, Setup
from legato_studies.papers.reproduction import Row
from legato_studies.papers.verdict import Lead

ALONE = "gcc alone"
BULK_FPS = 240
"""Of the source that stands for a bulk transfer: about a packet every 4 ms."""
FULL_PACKET_BYTES = 1_228
"""A packet of a bulk transfer, on the wire: one of its updates."""
REDUCTION_RATIO = 0.1
"""The smallest fall that counts, and how near to the peak's rate a call has recovered."""
BIN_S = 0.1
LIMIT_BPS = 2.5e6
"""The highest target of the scenario."""

# [concerto] section 2.3. Of video over GCC alone, but for Fig. 7's loss and delay.
THROUGHPUT_LESS_PERCENT = 21.6
ALONE_LOSS_RATIO, ALONE_DELAY_MS = 0.0044, 141.0
REDUCTION, RECOVERY, UPDATES = 1.2, 4.8, 0.506


@dataclass(frozen=True)
class Session(OnNetwork):
    """GCC alone or with video over one network."""

    throughput_bps: float
    loss_ratio: float
    delay_ms: float
    reduction_ratio: float
    """Mean share of the target lost at a reduction; NaN: there was none."""
    recovery_s: float
    """Mean time to recover; NaN as above."""
    updates_per_recovery: float
    """Mean number of updates until it has recovered; NaN as above."""
    updates_per_s: float
    """While it recovers; NaN as above."""


def networks(setup: Setup, folder: Path, quick: bool) -> list[str]:
    """A window of every recording, or of three of each kind of access: nothing here was trained."""
    most, parts = 3 if quick else None, (TUNED, HELD_OUT)
    return [spec for access in access_networks.ACCESSES for spec in setup.one_each(access, parts, folder, most)]


def cycle_plans(setup: Setup, specs: Sequence[str]) -> Iterator[tuple[str, Plan]]:
    """With video, and alone: by scheme."""
    clips = access_networks.TEST_CLIPS[:1]
    length = {"duration_s": setup.duration_s}
    video = {**setup.encoder(prompt=False), **length}
    bulk = {"video": {"fps": BULK_FPS}, "sender.pad_to_target": True, "receiver.nack": False, **length}
    bulk["sender.encoder_interval_ms"] = 0
    for scheme, options, clip in ((WEBRTC, video, clips), (ALONE, bulk, ())):
        yield (
            scheme,
            Choice(
                setup.scenario,
                options=options,
                controllers=[f"{setup.gcc}@label={scheme}"],
                traces=specs,
                clips=clip,
                log="packets",
            ).plan(),
        )


def read_sessions(folder: Path, plan: Plan, specs: Sequence[str]) -> list[Session]:
    """The figures of every call of a run folder."""
    sql = """select call, session, controller, receiver_rate_bps, coalesce(loss_ratio, 0) as loss_ratio,
        rtt_mean_ms from summary where rtt_mean_ms is not null order by call"""
    bins = _by_call(folder, "select call, target_bitrate_bps, capacity_bps from series order by call, time_ms")
    arrivals = (
        "select call, floor(arrived_ns / 1e8)::bigint as bin, count(distinct floor(arrived_ns / 5e6)) as groups, "
        "sum(size_bytes) as bytes from packets where arrived_ns is not null group by call, bin order by call, bin"
    )
    arrived = _by_call(folder, arrivals)
    found = []
    for row in query(folder, sql):
        target_bps, capacity_bps = bins[row["call"]].T
        updates = np.zeros(len(target_bps) + 100)
        times, groups, size = arrived[row["call"]].T
        inside = times < len(updates)
        counted = groups if row["controller"] == WEBRTC else size / FULL_PACKET_BYTES
        updates[times[inside].astype(int)] = counted[inside]
        phases = list(reductions(target_bps, capacity_bps))
        found.append(
            Session(
                row["controller"],
                Path(specs[plan.places(row["session"])[1]]).name,
                row["receiver_rate_bps"],
                row["loss_ratio"],
                row["rtt_mean_ms"],
                **_of_phases(phases, updates),
            )
        )
    return found


def _by_call(folder: Path, sql: str) -> dict[int, NDArray[np.float64]]:
    rows = query(folder, sql)
    by_call: dict[int, list[list[float]]] = {}
    for row in rows:
        call, *values = row.values()
        by_call.setdefault(call, []).append([math.nan if value is None else value for value in values])
    return {call: np.array(values, dtype=np.float64) for call, values in by_call.items()}


@dataclass(frozen=True)
class Phase:
    """A reduction of the target and the recovery from it, in bins of the series."""

    lost_ratio: float
    trough: int
    recovered: int
    """The first bin in which it is back, or the number of bins."""


def reductions(target_bps: Sequence[float], capacity_bps: Sequence[float]) -> Iterator[Phase]:
    """The reductions of a target, each with its recovery; the next one begins after the fall."""
    target, capacity = np.asarray(target_bps), _second_means(capacity_bps)
    peak = trough = 0
    falling = False
    for at in range(1, len(target)):
        if not falling and target[at] >= target[peak]:
            peak = at
        elif not falling and target[at] <= (1 - REDUCTION_RATIO) * target[peak]:
            falling, trough = True, at
        elif falling and target[at] < target[trough]:
            trough = at
        elif falling and target[at] > (1 + REDUCTION_RATIO / 2) * target[trough]:
            yield _phase(target, capacity, peak, trough)
            falling, peak = False, at
    if falling:
        yield _phase(target, capacity, peak, trough)


def _phase(target: NDArray[np.float64], capacity: NDArray[np.float64], peak: int, trough: int) -> Phase:
    goal = (1 - REDUCTION_RATIO) * np.minimum(np.minimum(target[peak], capacity[trough:]), LIMIT_BPS)
    back = np.flatnonzero(target[trough:] >= goal)
    recovered = trough + int(back[0]) if back.size else len(target)
    return Phase(1.0 - float(target[trough] / target[peak]), trough, recovered)


def _second_means(capacity_bps: Sequence[float]) -> NDArray[np.float64]:
    """The mean of the second that ends with each bin."""
    bins = round(1 / BIN_S)
    total = np.concatenate([[0.0], np.cumsum(np.asarray(capacity_bps, dtype=np.float64))])
    ends = np.arange(1, len(total))
    starts = np.maximum(ends - bins, 0)
    return np.asarray((total[ends] - total[starts]) / (ends - starts))


def _of_phases(phases: Sequence[Phase], updates: NDArray[np.float64]) -> Mapping[str, float]:
    if not phases:
        return dict.fromkeys(("reduction_ratio", "recovery_s", "updates_per_recovery", "updates_per_s"), math.nan)
    lengths_s = [(phase.recovered - phase.trough) * BIN_S for phase in phases]
    counts = [float(updates[phase.trough : phase.recovered].sum()) for phase in phases]
    total_s = sum(lengths_s)
    return {
        "reduction_ratio": float(np.mean([phase.lost_ratio for phase in phases])),
        "recovery_s": float(np.mean(lengths_s)),
        "updates_per_recovery": float(np.mean(counts)),
        "updates_per_s": sum(counts) / total_s if total_s > 0 else math.nan,
    }


def judge_cycle(sessions: Sequence[Session], setup: Setup) -> list[Row]:
    """Fig. 7, 9, 10 and 14 in one set-up: each claim by its printed size, and by its direction alone."""
    of = {"setup": setup.name}
    rows = []

    def judge(table: str, name: str, found: Estimate, claim: Lead) -> None:
        rows.append(Row.judged(table, name, claim.printed, found, claim, **of))
        side = replace(claim, printed=None)
        rows.append(Row.judged(table, f"{name}: direction", direction(side), found, side, **of))

    def show(table: str, name: str, figure: str, scale: float, printed: Mapping[str, float], why: str) -> None:
        for scheme, label in ((WEBRTC, "with video"), (ALONE, "GCC alone")):
            found = scaled(mean(sessions, figure, scheme), scale)
            rows.append(Row.of(table, f"{name}, {label}", printed.get(scheme), found, "not comparable", why, **of))

    less = percent(turned(ratio(sessions, "throughput_bps", WEBRTC, ALONE)))
    judge("Fig. 7", "throughput with video below GCC's alone (%)", less, Lead(THROUGHPUT_LESS_PERCENT))
    why = "round-trip time and queue were chosen for it" if setup.by_second else "other links than the paper's"
    for figure, scale, name, printed in (
        ("loss_ratio", 100.0, "loss (%)", {WEBRTC: 100 * LOSS_RATIO, ALONE: 100 * ALONE_LOSS_RATIO}),
        ("delay_ms", 1.0, "round-trip time (ms)", {WEBRTC: DELAY_MS, ALONE: ALONE_DELAY_MS}),
    ):
        more = scaled(difference(sessions, figure, WEBRTC, ALONE), scale)
        judge("Fig. 7", f"{name}, with video minus alone", more, Lead(printed[WEBRTC] - printed[ALONE]))
        show("Fig. 7", name, figure, scale, printed, why)
    fewer = Lead(UPDATES, 1.0, more_is_better=False)
    for table, name, unit, figure, scale, claim in (
        ("Fig. 9", "size of a reduction", "% of the peak", "reduction_ratio", 100.0, Lead(REDUCTION, 1.0)),
        ("Fig. 10", "time to recover", "s", "recovery_s", 1.0, Lead(RECOVERY, 1.0)),
        ("Fig. 14", "updates in a recovery", "", "updates_per_recovery", 1.0, fewer),
        ("Fig. 14", "updates a second of recovery", "", "updates_per_s", 1.0, fewer),
    ):
        judge(table, f"{name}, with video over alone", ratio(sessions, figure, WEBRTC, ALONE), claim)
        show(table, f"{name} ({unit})" if unit else name, figure, scale, {}, "the figure itself")
    return rows
