"""What [concerto] section 2.3 says of the encoder alone: how its bitrate varies (Fig. 11, 12) and lags (Fig. 13).

The paper names ffmpeg's encoder and no rate buffer; ffmpeg at an average bitrate has none. As printed here is therefore
x264's model with the longest buffer it has, 10 s, and stricter the one that calls are made with, 1 s. Every clip is
coded for a minute over a link that never fills.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from legato.errors import Error
from legato.links import access_networks
from legato.plan import Choice, Plan, shipped
from legato.results.query import query
from legato.results.stats import FEWEST, Estimate, grouped_mean, of_groups
from legato_studies.papers.concerto.estimates import direction, percent, shifted
from legato_studies.papers.concerto.setups import PRINTED, SMOOTH_ENCODER_MS
from legato_studies.papers.reproduction import AS_PRINTED, STRICTER, Row
from legato_studies.papers.verdict import Lead

CLIPS = (*access_networks.TRAINING_CLIPS, *access_networks.TEST_CLIPS)
VBV_MS = {AS_PRINTED: 10_000, STRICTER: SMOOTH_ENCODER_MS}
TARGETS_BPS = tuple(range(100_000, 2_000_001, 100_000))
"""[concerto] Fig. 12."""
SHOWN_BPS = 1_000_000
"""[concerto] Fig. 11."""
LOW_BPS, HIGH_BPS = 500_000, 1_500_000
"""Targets up to the first are low ones, from the second on high."""
FALL_BPS = (1_600_000, 400_000)
HALF_PERIOD_S = 7.3
"""Of the steps in Fig. 13's link: falls meet every part of the encoder's second."""
STEPS_S = 70.0
NEAR_RATIO = 0.1
"""How near to its target an encoder follows it."""

# [concerto] section 2.3: "as high as 2x over the average value"; "needs at least 1 second to approximate the target".
HIGHEST, LAG_S = 2.0, 1.0


@dataclass(frozen=True)
class Coded:
    """A clip at a target: coded bits of each second."""

    setup: str
    clip: str
    target_bps: float
    highest_ratio: float
    """The highest second over the mean."""
    std_ratio: float
    """Standard deviation over the target."""


def encoder_plans(quick: bool) -> Iterator[tuple[str, Plan]]:
    """By set-up, and `lag`."""
    clips = CLIPS[:2] if quick else CLIPS
    targets = TARGETS_BPS[9:10] if quick else TARGETS_BPS
    wide = {"forward.capacity": {"constant_bps": 50_000_000}, "duration_s": 60.0}
    for name, vbv_ms in VBV_MS.items():
        yield (
            name.replace(" ", "-"),
            Choice(
                "mobile",
                options={**wide, "video.vbv_ms": vbv_ms},
                controllers=[f"fixed@target_bitrate_bps={target},label=at {target}" for target in targets],
                clips=clips,
                log="series",
            ).plan(),
        )
    starts = np.arange(0.0, STEPS_S, HALF_PERIOD_S)
    steps = [[round(float(start), 3), FALL_BPS[index % 2]] for index, start in enumerate(starts)]
    yield (
        "lag",
        Choice(
            PRINTED.scenario,
            options={"forward.capacity": {"steps": steps}, "duration_s": STEPS_S},
            controllers=["oracle@horizon_ms=100"],
            clips=clips,
            log="series",
        ).plan(),
    )


def read_coded(folder: Path, setup: str) -> list[Coded]:
    """Of every clip and target of a run folder."""
    sql = """select clip, target_bitrate_mean_bps as target_bps, floor(captured_ms / 1000) as second,
        8 * sum(size_bytes) as bits from frames join summary using (call) where encoded
        group by call, clip, target_bps, second order by call, second"""
    by_call: dict[tuple[str, float], list[float]] = {}
    for row in query(folder, sql):
        if 1 <= row["second"] < 59:  # without the key frame that a call begins with, and its end
            by_call.setdefault((row["clip"], round(row["target_bps"], -4)), []).append(row["bits"])
    return [
        Coded(setup, clip, target_bps, max(bits) / float(np.mean(bits)), float(np.std(bits)) / target_bps)
        for (clip, target_bps), bits in by_call.items()
    ]


def read_lags(folder: Path) -> list[tuple[str, float]]:
    """The clip and seconds from each fall of the target until the encoder is near it."""
    frames = """select call, clip, captured_ms, size_bytes from frames join summary using (call) where encoded
        order by call, captured_ms"""
    by_call: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for row in query(folder, frames):
        by_call.setdefault((row["call"], row["clip"]), []).append((row["captured_ms"] / 1e3, 8.0 * row["size_bytes"]))
    targets: dict[int, list[tuple[float, float]]] = {}
    for row in query(folder, "select call, time_ms, target_bitrate_bps from series order by call, time_ms"):
        targets.setdefault(row["call"], []).append((row["time_ms"] / 1e3 + 0.1, row["target_bitrate_bps"]))
    return [
        (clip, lag_s)
        for (call, clip), sizes in by_call.items()
        for lag_s in lags(np.array(sizes), np.array(targets[call]))
    ]


def lags(coded: NDArray[np.float64], target: NDArray[np.float64]) -> list[float]:
    """Seconds from each fall of a target to less than half until the bits coded in a second are near it.

    Args:
        coded: times in s and bits of frames, (frames, 2).
        target: times in s and bit/s, (bins, 2).
    """
    falls = [at for at in range(1, len(target)) if target[at, 1] < 0.5 * target[at - 1, 1]]
    found = []
    for fall in falls:
        start_s, goal_bps = target[fall]
        rises = np.flatnonzero(target[fall:, 1] > 2 * goal_bps)
        end_s = target[fall + int(rises[0]), 0] if rises.size else target[-1, 0]
        window_s = 0.5
        for time_s in np.arange(start_s, end_s - window_s, 0.1):
            inside = (coded[:, 0] >= time_s) & (coded[:, 0] < time_s + window_s)
            if coded[inside, 1].sum() / window_s <= (1 + NEAR_RATIO) * goal_bps:
                found.append(float(time_s - start_s))
                break
        else:
            found.append(float(end_s - start_s))
    return found


def judge_encoder(coded: Sequence[Coded], lag_s: Sequence[tuple[str, float]]) -> list[Row]:
    """Fig. 11 to 13."""
    rows = []
    for setup in VBV_MS:
        here = [each for each in coded if each.setup == setup]
        highest = grouped_mean((each.clip, each.highest_ratio) for each in here if each.target_bps == SHOWN_BPS)
        claim = Lead(HIGHEST, no_effect=1.0)
        name = "highest second over the mean, 1 Mbit/s"
        rows.append(Row.judged("Fig. 11", name, HIGHEST, highest, claim, setup=setup))
        rows += _by_motion([each for each in here if each.target_bps == SHOWN_BPS], setup)
        low, high = (_by_clip(here, *ends) for ends in ((0.0, LOW_BPS), (HIGH_BPS, math.inf)))
        more = grouped_mean((clip, low[clip] / high[clip]) for clip in low if clip in high)
        name = "std over target, low targets over high ones"
        claim = Lead(no_effect=1.0)
        rows.append(Row.judged("Fig. 12", name, direction(claim), more, claim, setup=setup))
        for label, of_clip in (("up to 0.5 Mbit/s", low), ("from 1.5 Mbit/s", high)):
            found, why = percent(grouped_mean(of_clip.items())), "read off no table: the figure itself"
            name = f"std over target, {label} (%)"
            rows.append(Row.of("Fig. 12", name, None, found, "not comparable", why, setup=setup))
    lag = grouped_mean(lag_s)
    name = "time to follow a fall to a quarter (s)"
    rows.append(Row.judged("Fig. 13", name, LAG_S, lag, Lead(LAG_S), setup=AS_PRINTED))
    return rows


def motion(clip: str) -> float:
    """The mean absolute luma difference between pictures that follow each other, in 8-bit steps."""
    import safetensors.numpy

    profile = shipped.profile(clip)
    if profile is None:
        raise Error(f"{clip}: no such profile")
    return float(safetensors.numpy.load_file(profile)["complexity"].mean())


def _by_motion(coded: Sequence[Coded], setup: str) -> list[Row]:
    """Fig. 11 (ii): a clip with more static scenes has a relatively stable bitrate."""
    if len(coded) < FEWEST:
        return []
    moves = {each.clip: motion(each.clip) for each in coded}
    claim, name = Lead(), "correlation of a clip's motion with its highest second over the mean, 1 Mbit/s"
    found = correlation(np.array([[moves[each.clip], each.highest_ratio] for each in coded]).T)
    rows = [Row.judged("Fig. 11", name, direction(claim), found, claim, setup=setup)]
    for label, chosen in (
        ("lowest", min(moves, key=moves.__getitem__)),
        ("highest", max(moves, key=moves.__getitem__)),
    ):
        own = grouped_mean((each.clip, each.highest_ratio) for each in coded if each.clip == chosen)
        name = f"highest second over the mean, the clip of {label} motion ({chosen})"
        rows.append(Row.of("Fig. 11", name, None, own, "not comparable", "the figure itself", setup=setup))
    return rows


def correlation(figures: NDArray[np.float64]) -> Estimate:
    """Of two rows of figures over independent things, with an interval over those, on Fisher's scale."""

    def of(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        shares = weights / weights.sum(axis=1, keepdims=True)
        off = figures[None] - (shares @ figures.T)[:, :, None]
        (one, other), both = ((shares[:, None] * off**2).sum(axis=2).T), (shares * off[:, 0] * off[:, 1]).sum(axis=1)
        return np.asarray(np.arctanh(both / np.sqrt(one * other)))

    return shifted(of_groups(of, np.ones(figures.shape[1])), np.tanh)


def _by_clip(coded: Sequence[Coded], above_bps: float, most_bps: float) -> Mapping[str, float]:
    found: dict[str, list[float]] = {}
    for each in coded:
        if above_bps <= each.target_bps <= most_bps:
            found.setdefault(each.clip, []).append(each.std_ratio)
    return {clip: float(np.mean(ratios)) for clip, ratios in found.items()}
