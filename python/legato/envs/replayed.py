"""Networks made of recorded capacity: windows of the traces that come with Legato, over paths drawn at random.

R3Net was trained on about 10,000 traces of capacity, delay and loss and tested on 1,150 others, none of them public.
These replace them ([r3net] §2.3). A trace is a window of a recording, scaled; delay, loss and queue are drawn.

Recordings are split by file within each family: one fifth is ``test`` and never trained on, one tenth is
``evaluation``, which measures progress during a training, the rest is ``train``. Two splits never share a file.

Missing: recorded delay and loss to go with the recorded capacity, which our files do not hold.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from legato import _core, shipped
from legato.errors import TraceError

SPLITS = ("train", "evaluation", "test")
FAMILIES = ("fcc", "nyc-lte")
"""Broadband and cellular: recordings that may be redistributed under our licence."""

MEAN_MBPS = (0.3, 4.0)
"""Of a whole recording after scaling, log-uniform. The published reward, delay and loss leave 1.1 Mbit/s on average."""
PROPAGATION_MS = (5.0, 75.0)
"""One way, uniform; the published median round trip is 102 ms."""
QUEUE_MS = (50.0, 400.0)
"""Log-uniform, at the recording's mean rate."""
LOSS_RATIO = (0.0, 0.02)
"""Uniform, on half of the paths; the others lose what the queue drops."""

_SPLIT_SEED = 2020
LTE_RATIO = 1 / 6
"""Share of cellular paths; the others are broadband."""


@dataclass(frozen=True)
class Recording:
    """A trace file and what is needed to cut windows from it."""

    path: Path
    duration_s: float
    mean_rate_bps: float


@dataclass(frozen=True)
class Network:
    """What several calls share, as keys of a scenario, and their capacities, as ``FILE@OPTION=VALUE,…``."""

    options: Mapping[str, Any]
    traces: tuple[str, ...]


def files(family: str, split: str) -> list[Path]:
    """The recordings of a family that are in a split, by name."""
    if split not in SPLITS:
        raise TraceError(f"split = {split}: not one of {', '.join(SPLITS)}")
    known = [trace.path for trace in shipped.traces() if trace.family == family]
    if len(known) < 10:
        raise TraceError(f"{family}: {len(known)} recordings; splitting takes at least ten")
    # By name and not by path: the same wherever Legato is installed.
    known.sort(key=lambda path: (path.parent.name, path.name))
    order = np.random.default_rng(_SPLIT_SEED).permutation(len(known))
    tests, evaluations = round(0.2 * len(known)), round(0.1 * len(known))
    chosen = {
        "test": order[:tests],
        "evaluation": order[tests : tests + evaluations],
        "train": order[tests + evaluations :],
    }[split]
    return [known[index] for index in sorted(chosen)]


@functools.cache
def recordings(family: str, split: str) -> tuple[Recording, ...]:
    """The recordings of a family that are in a split."""
    found = []
    for path in files(family, split):
        trace = _core.load_trace(str(path))
        found.append(Recording(path, trace.duration_s, trace.mean_rate_bps))
    return tuple(found)


def draw(
    split: str,
    seed: int,
    paths: int,
    traces_each: int,
    *,
    lte_traces_each: int | None = None,
    lte_ratio: float = LTE_RATIO,
    clips: Sequence[str] = (),
    duration_s: float = 30.0,
) -> list[Network]:
    """Random networks; the same arguments give the same networks.

    Args:
        split: of :data:`SPLITS`.
        seed: of the draw.
        paths: number of delays, loss ratios and queues.
        traces_each: number of windows of recordings played over each.
        lte_traces_each: the same for cellular paths, whose recordings are long and slow to read.
        lte_ratio: share of the paths that are cellular.
        clips: profiles whose frames every other path carries, one per path; empty: the scenario's source alone.
        duration_s: of a window.
    """
    random = np.random.default_rng([SPLITS.index(split), seed])
    lte = round(lte_ratio * paths)
    made = []
    for number in range(paths):
        clip = clips[random.integers(len(clips))] if clips and number % 2 else None
        family = FAMILIES[1] if number < lte else FAMILIES[0]
        propagation_ms = round(random.uniform(*PROPAGATION_MS), 1)
        options = {
            "forward.propagation_ms": propagation_ms,
            "reverse.propagation_ms": propagation_ms,
            "forward.queue.limit_ms": round(_log_uniform(random, QUEUE_MS), 1),
            "forward.loss_ratio": round(random.uniform(*LOSS_RATIO), 4) if random.random() < 0.5 else 0.0,
        }
        if clip is not None:
            options["video.clip"] = str(shipped.profile(clip))
        pool = recordings(family, split)
        windows = lte_traces_each if lte_traces_each is not None and number < lte else traces_each
        cuts = tuple(_cut(pool[random.integers(len(pool))], random, duration_s) for _ in range(windows))
        made.append(Network(options, cuts))
    return made


def _cut(recording: Recording, random: np.random.Generator, duration_s: float) -> str:
    start_s = random.uniform(0.0, max(0.0, recording.duration_s - duration_s))
    scale = _log_uniform(random, MEAN_MBPS) * 1e6 / recording.mean_rate_bps
    return f"{recording.path}@scale={scale:.5g},start_s={start_s:.2f}"


def _log_uniform(random: np.random.Generator, bounds: tuple[float, float]) -> float:
    return float(np.exp(random.uniform(*np.log(bounds))))
