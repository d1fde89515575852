"""Networks made of recorded capacity: windows of the traces that come with Legato, over paths drawn at random.

R3Net was trained on about 10,000 traces of capacity, delay and loss and tested on 1,150 others, none of them public.
These replace them ([r3net] §2.3). A trace is a window of a recording, scaled; delay, loss and queue are drawn.

Recordings are split by file within each family (:data:`legato.links.PATHS`): a fifth is held out and never trained on,
a tenth is for validation, which measures progress during a training. Two parts never share a file.

No data that may be redistributed records capacity and delay of one path together. :data:`AS_PRINTED` plays the delay
and loss of one recording with the capacity of another, and adds audio and TCP, which the paper's simulator had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from legato import links
from legato.links import PARTS, Part, Recording
from legato.plan import shipped

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

CONDITIONS = "hairpin"
"""The family whose delay and loss over time are played: in Legato's source, and not in the wheel (its licence)."""
AUDIO_BPS = 20_000
"""Coded audio, RFC 8867's value."""
TCP_S = 10.0
"""How long a TCP flow sends."""

LTE_RATIO = 1 / 6
"""Share of cellular paths; the others are broadband."""


@dataclass(frozen=True)
class Beside:
    """The additions of a call to video over a constant delay and random loss."""

    audio: bool = False
    replayed_every: int = 0
    """One path in this many plays the delay and loss of a recording of :data:`CONDITIONS`; 0: none."""
    tcp_every: int = 0
    """One path in this many has a TCP flow for :data:`TCP_S`; 0: none."""
    tcp_start_s: float = 20.0
    """When it begins at the latest, uniform from 0."""


NOTHING = Beside()
AS_PRINTED = Beside(audio=True, replayed_every=2, tcp_every=3)
"""[r3net] §2.1, §3.1: synthetic audio and video, cross traffic "e.g., from TCP senders", delay and loss replayed. How
many paths have which is not printed."""


def available(beside: Beside) -> Beside:
    """Without the replayed delay and loss where their recordings are absent, as in an installed wheel."""
    return beside if links.files(CONDITIONS) else replace(beside, replayed_every=0)


@dataclass(frozen=True)
class Network:
    """What several calls share, as keys of a scenario, and their capacities, as ``FILE@OPTION=VALUE,…``."""

    options: Mapping[str, Any]
    traces: tuple[str, ...]


@cache
def recordings(family: str, part: Part) -> tuple[Recording, ...]:
    """The recordings of a family that are in a part of the split."""
    return tuple(links.recording(path) for path in links.PATHS.of(links.files(family), part))


def draw(
    part: Part,
    seed: int,
    paths: int,
    traces_each: int,
    *,
    lte_traces_each: int | None = None,
    lte_ratio: float = LTE_RATIO,
    clips: Sequence[str] = (),
    beside: Beside = NOTHING,
    duration_s: float = 30.0,
) -> list[Network]:
    """Random networks; the same arguments give the same networks.

    Args:
        part: of :data:`legato.links.PATHS`.
        seed: of the draw.
        paths: number of delays, loss ratios and queues.
        traces_each: number of windows of recordings played over each.
        lte_traces_each: the same for cellular paths, whose recordings are long and slow to read.
        lte_ratio: share of the paths that are cellular.
        clips: profiles whose frames every other path carries, one per path; empty: the scenario's source alone.
        beside: audio, TCP, and recorded delay and loss; it changes nothing else of what is drawn.
        duration_s: of a window.
    """
    random = np.random.default_rng([PARTS.index(part), seed])
    lte = round(lte_ratio * paths)
    made = []
    for number in range(paths):
        clip = clips[int(random.integers(len(clips)))] if clips and number % 2 else None
        family = FAMILIES[1] if number < lte else FAMILIES[0]
        propagation_ms = round(random.uniform(*PROPAGATION_MS), 1)
        options: dict[str, float | str] = {
            "forward.propagation_ms": propagation_ms,
            "reverse.propagation_ms": propagation_ms,
            "forward.queue.limit_ms": round(_log_uniform(random, QUEUE_MS), 1),
            "forward.loss_ratio": round(random.uniform(*LOSS_RATIO), 4) if random.random() < 0.5 else 0.0,
        }
        if clip is not None:
            options["video.clip"] = str(shipped.profile(clip))
        pool = recordings(family, part)
        windows = lte_traces_each if lte_traces_each is not None and number < lte else traces_each
        cuts = tuple(_cut(pool[random.integers(len(pool))], random, duration_s) for _ in range(windows))
        made.append(Network(options | _beside(beside, part, seed, number, duration_s), cuts))
    return made


def _beside(beside: Beside, part: Part, seed: int, number: int, duration_s: float) -> dict[str, Any]:
    """Further keys of a path, drawn apart: a path without them is the same path."""
    random = np.random.default_rng([PARTS.index(part), seed, number])
    options: dict[str, Any] = {"audio.bitrate_bps": AUDIO_BPS} if beside.audio else {}
    if beside.replayed_every and number % beside.replayed_every == 1 % beside.replayed_every:
        pool = recordings(CONDITIONS, part)
        played = pool[random.integers(len(pool))]
        start_s = random.uniform(0.0, max(0.0, played.duration_s - duration_s))
        # By its name: the same wherever Legato is installed.
        name = shipped.trace_names()[played.path]
        options |= {"forward.conditions.trace": name, "forward.conditions.start_s": round(start_s, 2)}
    if beside.tcp_every and number % beside.tcp_every == 0:
        start_s = round(random.uniform(0.0, beside.tcp_start_s), 2)
        flow = {"start_s": start_s, "stop_s": start_s + TCP_S, "config": {"congestion_control": "cubic"}}
        options["tcp"] = [flow]
    return options


def _cut(recording: Recording, random: np.random.Generator, duration_s: float) -> str:
    start_s = random.uniform(0.0, max(0.0, recording.duration_s - duration_s))
    scale = _log_uniform(random, MEAN_MBPS) * 1e6 / recording.mean_rate_bps
    return f"{recording.path}@scale={scale:.5g},start_s={start_s:.2f}"


def _log_uniform(random: np.random.Generator, bounds: tuple[float, float]) -> float:
    return float(np.exp(random.uniform(*np.log(bounds))))
