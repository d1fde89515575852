"""What Concerto costs: the size of its network, the time of a decision, the speed of the simulator it is trained in.

The hardware differs from the paper's, so size and time appear next to the printed figures without a verdict. Simulation
400 times faster than real time is a separate claim. Times differ from run to run.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from legato import _core
from legato.links import access_networks
from legato.plan import Choice, shipped
from legato.results.stats import Estimate
from legato.results.totals import mean_above_zero
from legato.runs.sweep import sweep
from legato_studies.papers.concerto.setups import CONCERTO
from legato_studies.papers.reproduction import Row
from legato_studies.papers.verdict import Lead

REPEATS = 5
"""Of each measurement; intervals of times are over these."""
DECISIONS = 100
SHIPPED = "as shipped"

# [concerto] sections 4 and 1: megabytes on a phone; "a few milliseconds" on an iPhone 7; 24 h in 3.6 minutes.
SIZE_MB, DECISION_MS, SPEED_RATIO = 17.2, 3.0, 24 * 60 / 3.6


def judge_cost() -> list[Row]:
    """Measure, and the rows."""
    where = f"other hardware: here {machine()}"
    rows = []
    for size, policy, weights_bytes in policies():
        megabytes = _exact(weights_bytes / 1e6)
        name = f"weights, {size} (MB)"
        why = "the paper's is a frozen graph of TensorFlow, this one weights alone"
        table = "Costs" if size == SHIPPED else "Costs printed"
        rows.append(Row.of(table, name, SIZE_MB, megabytes, "not comparable", why))
        took = mean_above_zero(enumerate(_decision_ms(policy)))
        rows.append(Row.of(table, f"a decision, {size} (ms)", DECISION_MS, took, "not comparable", where))
    name = "simulated over elapsed time, one processor"
    speed = mean_above_zero(enumerate(_speed_ratios()))
    rows.append(Row.judged("Costs", name, SPEED_RATIO, speed, Lead(SPEED_RATIO, no_effect=1.0)))
    return rows


def _exact(value: float) -> Estimate:
    return Estimate(value, None, None, 1)


def policies() -> Iterator[tuple[str, _core.Policy, int]]:
    """The network that comes with Legato, and with torch one of the paper's size, untrained: its time is the same."""
    folder = shipped.policies_folder() / CONCERTO
    toml, weights = (folder / "policy.toml").read_text(encoding="utf-8"), (folder / "weights.safetensors").read_bytes()
    yield SHIPPED, _core.Policy(toml, weights), len(weights)
    if importlib.util.find_spec("torch") is None:
        return
    import safetensors.numpy
    import tomli_w

    from legato.train.network import Network
    from legato.train.recipes import concerto

    layers = [dict(layer) for layer in concerto.layers(concerto.PUBLISHED)]
    tensors = {name: tensor.detach().numpy() for name, tensor in Network(layers).tensors().items()}
    weights = safetensors.numpy.save(tensors)
    manifest = {"format": 1, **concerto.MANIFEST, "network": {"weights": "weights.safetensors", "layers": layers}}
    yield "the paper's size", _core.Policy(tomli_w.dumps(manifest), weights), len(weights)


def _decision_ms(policy: _core.Policy) -> list[float]:
    observation = np.random.default_rng(1).random(policy.inputs, dtype=np.float32)
    found = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        for _ in range(DECISIONS):
            policy.act(observation)
        found.append(1e3 * (time.perf_counter() - started) / DECISIONS)
    return found


def _speed_ratios() -> list[float]:
    clips = access_networks.TEST_CLIPS
    plan = Choice("mobile", controllers=[CONCERTO], clips=clips, seeds=20, log="summary").plan()
    found = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            run = sweep(plan, Path(folder) / "run", threads=1)
        found.append(run.simulated_s / run.wall_s)
    return found


def machine() -> str:
    """What this runs on, in words."""
    info, names = Path("/proc/cpuinfo"), []
    if info.is_file():
        lines = info.read_text(encoding="utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} processors"
