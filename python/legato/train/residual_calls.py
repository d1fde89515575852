"""The calls that `legato`'s residual is trained by, and what they are worth: headroom gained over `legato` without it.

Recorded links are those that `legato` itself was tuned on, every second file of a family; of these the first, third …
are trained on and the others judge. To them come networks of the generator ``broad``. What surrounds a link is drawn
anew for each round: encoder, feedback, delay, queue, clock; cross traffic is that of the family `ibox`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from legato import _core, plan, shipped
from legato.sweep import parts, sweep

Array = npt.NDArray[np.float64]

SCALES = {
    "fcc": 1.0,
    "nyc-lte": 0.25,
    "mahimahi": 0.5,
    "nyu-mets": 0.4,
    "starlink-mobile": 0.2,
    "ucc-5g": 0.15,
    "wifi-zhuge": 0.15,
    "hairpin": 0.25,
    "ibox": 1.0,
}
"""Families of recorded links, and what their rates are multiplied by: most are too fast for a call."""
CLIPS = ("asl-sister", "camera")
WINDOW_S = 20
"""How long a call lasts."""
SLOWEST_BPS = 150_000
"""Windows with a lower mean are left out: there is nothing to decide."""
PICTURE = "viewed_ssim_db_mean"
GAPS = {
    PICTURE: 1.6,
    "viewed_delay_p95_ms": -0.75,
    "viewed_delay_p98_ms": -1.1,
    "on_time_150ms_ratio": 0.23,
}
"""From `gcc` to `clairvoyant` on live links (docs/rivals.md), delays as natural logarithms: what a call is better by is
counted in these. Below zero: less is better. Stalls are left out: few and long, they are chance in calls so short, and
the delays show what leads to them."""
WEIGHTS = np.array([0.4, 0.2, 0.2, 0.2])
"""Of the axes. A shorter or longer frame budget trades the picture for delay at two to one (shorter by a fifth, it
loses 0.067 of the headroom on the picture and gains 0.055, 0.043 and 0.039 on the other axes): so weighted that is
worth nothing, and what is left to gain is what depends on the moment."""
MOST_GAPS = 0.5
"""No call counts for more than so much of an axis."""
WORST_SHARE, WORST_WEIGHT, MOST_WORSE = 0.1, 0.1, 3.0
"""The worst tenth of the calls counts once more, by a tenth."""
SURROUNDINGS, RECORDED, DRAWN = 8, 12, 24
"""Of a round: surroundings, recorded windows in each, and networks of the generator."""


@dataclass(frozen=True)
class Games:
    """Calls in the same surroundings."""

    options: Mapping[str, Any]
    clip: str
    traces: Sequence[str] = ()
    seeds: Sequence[int] = (1,)


class ResidualJudge:
    """Plays the calls."""

    def __init__(self, evaluated_windows: int = 160) -> None:
        self.evaluated = evaluated_games(evaluated_windows)

    def worth(self, policies: Sequence[Path], random: np.random.Generator) -> list[float]:
        base, *others = np.concatenate([played(policies, games) for games in round_games(random)], axis=1)
        return [worth_of(own, base) for own in others]

    def evaluation(self, policy: Path) -> dict[str, float]:
        base, own = np.concatenate([played([policy], games) for games in self.evaluated], axis=1)
        gains = gains_of(own, base).mean(axis=0)
        axes = {name.removesuffix("_mean"): float(gain) for name, gain in zip(GAPS, gains, strict=True)}
        return {"reward": worth_of(own, base), **axes, "worst": worst_of(own) - worst_of(base)}


def worth_of(own: Array, base: Array) -> float:
    """Of calls (rows) by axes (columns), in shares of the headroom: the mean gain, and a tenth of the gain of the
    worst tenth, which need not be the same calls. The worst of the *differences* would be below zero for whatever
    changes anything, since calls differ by chance."""
    axes = gains_of(own, base).mean(axis=0)
    return float(axes @ WEIGHTS) + WORST_WEIGHT * (worst_of(own) - worst_of(base))


def gains_of(own: Array, base: Array) -> Array:
    """Of each call and axis. A call that showed nothing has no figures: that loses the most an axis can lose."""
    gains = own - base
    gains = np.where(np.isnan(own) & ~np.isnan(base), -MOST_GAPS, gains)
    gains = np.where(~np.isnan(own) & np.isnan(base), MOST_GAPS, gains)
    return np.clip(np.nan_to_num(gains), -MOST_GAPS, MOST_GAPS)


def worst_of(figures: Array) -> float:
    """The mean of the worst tenth of the calls, each bounded to three times the headroom below the middle one."""
    calls = np.nan_to_num(figures, nan=-MOST_WORSE) @ WEIGHTS
    calls = np.sort(np.maximum(calls, np.median(calls) - MOST_WORSE))
    return float(calls[: max(1, round(WORST_SHARE * len(calls)))].mean())


def round_games(random: np.random.Generator) -> list[Games]:
    """The calls of one round of training."""
    windows = windows_of_files(0)
    chosen = random.choice(len(windows), size=SURROUNDINGS * RECORDED, replace=False)
    seeds = [int(seed) for seed in random.integers(1, 2**31, size=DRAWN)]
    games = [
        Games(surroundings(random), str(random.choice(CLIPS)), [windows[at] for at in some])
        for some in np.split(chosen, SURROUNDINGS)
    ]
    options = {**surroundings(random, network=False), "forward.capacity": {"generator": "broad"}}
    return [*games, Games(options, str(random.choice(CLIPS)), seeds=seeds)]


def evaluated_games(windows: int) -> list[Games]:
    """Always the same: recorded windows of other files in four surroundings, and networks of other seeds."""
    random = np.random.default_rng(2)
    known = windows_of_files(2)
    chosen = np.array_split(random.permutation(len(known))[:windows], 4)
    games = [
        Games(surroundings(random), CLIPS[at % 2], [known[window] for window in some]) for at, some in enumerate(chosen)
    ]
    options = {**surroundings(random, network=False), "forward.capacity": {"generator": "broad"}}
    return [*games, Games(options, CLIPS[0], seeds=range(1, 1 + windows // 4))]


def surroundings(random: np.random.Generator, *, network: bool = True) -> dict[str, Any]:
    """Options of a scenario. ``network``: of its delays and its queue too."""
    options: dict[str, Any] = {
        "duration_s": float(WINDOW_S),
        "clock.drift_ppm": float(random.uniform(-100, 100)),
        "video.encoder": str(random.choice(["openh264", "x264"])),
        "receiver.feedback_timing": str(random.choice(["controller", "controller", "rtcp"])),
    }
    vbv_ms = int(random.choice([100, 300]))
    if options["video.encoder"] == "x264":
        options["video.vbv_ms"] = vbv_ms
    one_way_ms, queue_ms = float(random.uniform(10, 60)), float(random.choice([150.0, 300.0, 600.0]))
    if network:
        options |= {"forward.propagation_ms": one_way_ms, "reverse.propagation_ms": one_way_ms}
        options["forward.queue.limit_ms"] = queue_ms
    return options


@cache
def windows_of_files(first: int) -> tuple[str, ...]:
    """Trace specs of windows of every fourth file of each family from this one on: as many of each family."""
    found = []
    for family, scale in SCALES.items():
        files = sorted(trace.path for trace in shipped.traces() if trace.family == family)[first::4]
        of_family = [window for file in files for window in windows_of(file, scale)]
        found.append([of_family[(2 * n + 1) * len(of_family) // 160] for n in range(80)] if of_family else [])
    return tuple(dict.fromkeys(window for of_family in found for window in of_family))


def windows_of(path: Path, scale: float) -> list[str]:
    """Windows of a trace in which something passes."""
    trace = _core.load_trace(str(path))
    _, rates = trace.rates(1.0)
    starts = range(0, max(1, int(trace.duration_s) - WINDOW_S + 1), WINDOW_S)
    means = ((start, float(rates[start : start + WINDOW_S].mean()) * scale) for start in starts)
    kept = [start for start, mean in means if mean >= SLOWEST_BPS]
    return [f"{path}@scale={scale:g},start_s={start},duration_s={WINDOW_S}" for start in kept]


def played(policies: Sequence[Path], games: Games) -> Array:
    """Figures in units of the headroom, more is better: of `legato` without a policy and with each; calls by axes."""
    specs = ["legato", *(f"legato@residual={path.resolve()},label=c{at}" for at, path in enumerate(policies))]
    made = plan.make(
        "cellular",
        options=games.options,
        controller_specs=specs,
        trace_specs=games.traces,
        clip_specs=[str(shipped.profile(games.clip))],
        seed_spec=list(games.seeds),
        log="summary",
    )
    with tempfile.TemporaryDirectory() as folder:
        files = [str(path) for path in parts(sweep(made, Path(folder) / "run").folder, "summary")]
        sql = f"SELECT {', '.join(GAPS)} FROM read_parquet(?) WHERE controller = ? ORDER BY trace, seed"
        names = ["legato", *(f"c{at}" for at in range(len(policies)))]
        figures = np.array([duckdb.execute(sql, [files, name]).fetchall() for name in names], float)
    for at, name in enumerate(GAPS):
        figures[..., at] = (np.log(np.maximum(figures[..., at], 1.0)) if "delay" in name else figures[..., at]) / GAPS[
            name
        ]
    return figures
