"""Whether a case's source follows its target as RFC 8867 section 4.3 wants, before a controller is judged by it.

The section asks for a source that answers a new rate within 100 ms and keeps within 5 % of it over a second. Here the
case's own source (its clip, encoder and sizes) codes a schedule of targets without a call: down to a quarter and back,
several times. A source that overshoots for half a second after a fall fills a queue that no controller could have kept
short.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from legato import _core
from legato.conformance.case import MAX_BPS, Case
from legato.conformance.criteria import SOURCE_DEVIATION, SOURCE_RESPONSE_S, SOURCE_WINDOW_S
from legato.plan import scenarios

FALL_RATIO = 0.25
CHANGES = 12
"""Falls, and as many rises."""
HOLD_S = 5.0
"""From one change to the next; each time a little more, so that it meets other pictures."""
_DEVIATION_QUANTILE = 0.95
_STEP_S = 0.0371


@dataclass(frozen=True)
class Source:
    """What a source made of the schedule. Ratios are bits over target."""

    name: str
    """Clip and encoder."""
    high_bps: int
    low_bps: int
    after_fall_ratio: float
    """Over the second that begins 100 ms after a fall; mean over the falls."""
    after_rise_ratio: float
    deviation_ratio: float
    """Of the later whole seconds, the 95th percentile of how far they are from the target."""

    @property
    def meets(self) -> bool:
        """Whether RFC 8867 section 4.3 allows it."""
        changes = (self.after_fall_ratio, self.after_rise_ratio)
        return self.deviation_ratio <= SOURCE_DEVIATION and all(abs(r - 1) <= SOURCE_DEVIATION for r in changes)


def of_case(case: Case) -> Source:
    """That of a case."""
    path, text = scenarios.read(case.scenario, case.options)
    return of_scenario(text, str(path))


def of_scenario(text: str, path: str) -> Source:
    """That of a scenario, read from the file ``path``."""
    whole = tomllib.loads(_core.resolve_scenario(text, path))
    video = whole["video"]
    clip = Path(video["clip"]).stem if "clip" in video else "statistical source"
    encoder = video["encoder"] + (f", {video['vbv_ms']} ms" if video["encoder"] == "x264" else "")
    name = f"{clip}, {encoder}" if "clip" in video else clip
    # What else a scenario says does not change its source: many cases share one.
    key = repr((video, whole["limits"])), str(Path(path).parent)
    if key not in _KNOWN:
        _KNOWN[key] = _follow(name, min(whole["limits"]["max_bps"], int(MAX_BPS)), text, path)
    return _KNOWN[key]


_KNOWN: dict[tuple[str, str], Source] = {}


def _follow(name: str, high_bps: int, text: str, path: str) -> Source:
    low_bps = round(FALL_RATIO * high_bps)
    times = np.array([row[0] for row in _core.code_alone(text, path, [high_bps] * 300)])
    fps = (len(times) - 1) / (times[-1] - times[0])
    holds = [round((HOLD_S + n * _STEP_S) * fps) for n in range(2 * CHANGES + 1)]
    # The first hold is there for the first key frame to be paid for.
    targets = [high_bps if n % 2 == 0 else low_bps for n, hold in enumerate(holds) for _ in range(hold)]
    bits = 8.0 * np.array([row[1] for row in _core.code_alone(text, path, targets)])
    starts = np.cumsum(holds)[:-1]
    window, response = round(SOURCE_WINDOW_S * fps), round(SOURCE_RESPONSE_S * fps)
    changes = [_ratio(bits, targets, start + response, window, fps) for start in starts]
    later = [
        _ratio(bits, targets, first, window, fps)
        for start, hold in zip(starts, holds[1:], strict=True)
        for first in range(start + response + window, start + hold - window + 1, window)
    ]
    return Source(
        name=name,
        high_bps=high_bps,
        low_bps=low_bps,
        after_fall_ratio=float(np.mean(changes[0::2])),
        after_rise_ratio=float(np.mean(changes[1::2])),
        deviation_ratio=float(np.quantile(np.abs(np.array(later) - 1.0), _DEVIATION_QUANTILE)),
    )


def _ratio(bits: np.ndarray, targets: Sequence[int], first: int, frames: int, fps: float) -> float:
    """Bits of some frames over what their target allows them."""
    return float(bits[first : first + frames].sum() / (sum(targets[first : first + frames]) / fps))
