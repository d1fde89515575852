"""The cost of R3Net's decisions against a UKF's, and the speed of the simulator that trains it ([r3net] §2.1, §3.2).

A receiver's controller has no clock, so its cost is the extra time of a call over the same call whose sender obeys no
receiver. All of them are held at one bitrate, so that the packets are the same. In processor time, which a busy machine
does not change much. The hardware differs from the paper's: the time appears next to the printed one without a verdict,
the two ratios are claims.
"""

from __future__ import annotations

import tempfile
import time
import tomllib
from pathlib import Path

import numpy as np

from legato import _core
from legato.plan import Choice, shipped
from legato.results.totals import mean_above_zero
from legato.runs.sweep import sweep
from legato_studies.papers.concerto.cost import machine
from legato_studies.papers.r3net.setups import OURS
from legato_studies.papers.reproduction import Row
from legato_studies.papers.verdict import AtMost, Lead

TABLE = "costs"
REPEATS = 5
"""Of each measurement; intervals are over these."""
CALLS = 20
HELD_BPS = 1_000_000
INTERVAL_S = 0.05
DECISIONS = 2_000

# Of [r3net], its sections 3.2 and 2.1: "approximately 500 us"; "about 20 times more expensive than UKF and rule-based
# approaches"; "1000x faster than real-time".
DECISION_US, OVER_UKF_RATIO, SPEED_RATIO = 500.0, 20.0, 1000.0


def judge_cost() -> list[Row]:
    """Measure, and the rows."""
    where = f"other hardware: here {machine()}, one thread"
    network = mean_above_zero(enumerate(_decisions_us()))
    rows = [
        Row.of(TABLE, "R3Net's network, one decision (us)", DECISION_US, network, "not comparable", where),
    ]
    made = [_held() for _ in range(REPEATS)]
    per_decision = {name: [of[name] for of in made] for name in ("ukf", OURS)}
    for name, values in per_decision.items():
        ours = mean_above_zero(enumerate(values))
        title = f"{name}, all that it does in 50 ms at {HELD_BPS / 1e6:g} Mbit/s (us)"
        rows.append(Row.of(TABLE, title, None, ours, "not comparable", where))
    ratios = [own / other for own, other in zip(per_decision[OURS], per_decision["ukf"], strict=True) if other > 0]
    name = "R3Net's cost over ukf's, no more than printed"
    rows.append(Row.judged(TABLE, name, OVER_UKF_RATIO, mean_above_zero(enumerate(ratios)), AtMost(OVER_UKF_RATIO)))
    speed = mean_above_zero(enumerate(of["speed_ratio"] for of in made))
    name = "simulated over processor time"
    rows.append(Row.judged(TABLE, name, SPEED_RATIO, speed, Lead(SPEED_RATIO, no_effect=1.0)))
    return rows


def _decisions_us() -> list[float]:
    folder = shipped.policies_folder() / OURS
    toml = (folder / "policy.toml").read_text(encoding="utf-8")
    policy = _core.Policy(toml, (folder / tomllib.loads(toml)["network"]["weights"]).read_bytes())
    observation = np.random.default_rng(1).random(policy.inputs, dtype=np.float32)
    found = []
    for _ in range(REPEATS):
        started = time.process_time()
        for _ in range(DECISIONS):
            policy.act(observation)
        found.append(1e6 * (time.process_time() - started) / DECISIONS)
    return found


def _held() -> dict[str, float]:
    """Microseconds of processor time for every 50 ms of a call, beyond a call without a receiver's controller."""
    took = {name: _processor_s(name) for name in (f"fixed@target_bitrate_bps={HELD_BPS}", "ukf", OURS)}
    (none, simulated), *others = took.values()
    intervals = simulated / INTERVAL_S
    found = {name: 1e6 * (own - none) / intervals for name, (own, _) in zip(("ukf", OURS), others, strict=True)}
    return found | {"speed_ratio": simulated / took[OURS][0]}


def _processor_s(controller: str) -> tuple[float, float]:
    """Processor time of calls, and how long they last, in seconds."""
    held = {"limits.min_bps": HELD_BPS, "limits.start_bps": HELD_BPS, "limits.max_bps": HELD_BPS}
    plan = Choice("r3net", options=held, controllers=[controller], seeds=CALLS, log="summary").plan()
    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        run = sweep(plan, Path(folder) / "run", threads=1)
        return time.process_time() - started, run.simulated_s
