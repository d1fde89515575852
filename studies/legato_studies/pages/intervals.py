"""How often a 95 % interval contains the truth, by method, shape of the differences and number of networks.

    python -m legato_studies.pages intervals [--repetitions 5000]

Writes docs/measured/intervals.md with --write, else prints its tables. A study is a comparison of two controllers over
networks with three clips and three seeds: each call's difference is the network's (of a shape below, mean 0 and
standard deviation 1), plus the clip's on this network (0.4), plus the seed's (0.6). Clips have a separate effect too,
which stays, for an interval speaks of these clips. At the level of calls two thirds of the variance are the network's,
as measured (docs/measured/intervals.md). "Recorded" differences are drawn from those of real comparisons over 89 traces
(network_differences.csv), each controller minus gcc: there the truth is the mean over the 89.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from legato.report.pages import Section
from legato.results import stats
from legato_studies.page import Found, Options, Page

Array = NDArray[np.float64]
Ends = tuple[Array, Array]
Method = Callable[[Array], Ends]

RECORDED = Path(__file__).with_name("network_differences.csv")
NETWORKS = (5, 6, 8, 12, 20, 44, 60)
CLIP_EFFECTS = (0.5, -0.2, -0.3)
SEEDS = 3
RESAMPLES = 999

Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]
_LOG_SD = 0.75

SHAPES: dict[str, Draw] = {
    "normal": lambda draw, shape: draw.normal(size=shape),
    "uniform": lambda draw, shape: draw.uniform(-np.sqrt(3), np.sqrt(3), size=shape),
    "heavy tails (t, 3)": lambda draw, shape: draw.standard_t(3, size=shape) / np.sqrt(3),
    "exponential": lambda draw, shape: draw.exponential(size=shape) - 1,
    "lognormal (0.75)": lambda draw, shape: (
        (draw.lognormal(0, _LOG_SD, size=shape) - np.exp(_LOG_SD**2 / 2))
        / np.sqrt((np.exp(_LOG_SD**2) - 1) * np.exp(_LOG_SD**2))
    ),
}
"""Of the networks' own differences; each with mean 0 and standard deviation 1."""


def study(shape: Draw, networks: int, repetitions: int, draw: np.random.Generator) -> Array:
    """Differences of calls: (networks, clips × seeds, repetitions). Their true mean is 0."""
    own = shape(draw, (networks, 1, 1, repetitions))
    clips = np.array(CLIP_EFFECTS)[None, :, None, None]
    of_clip = 0.4 * draw.normal(size=(networks, len(CLIP_EFFECTS), 1, repetitions))
    of_seed = 0.6 * draw.normal(size=(networks, len(CLIP_EFFECTS), SEEDS, repetitions))
    return np.asarray(own + clips + of_clip + of_seed).reshape(networks, -1, repetitions)


def recorded() -> dict[str, Array]:
    """Every figure's differences over the traces of a real comparison: (controllers, traces), by figure."""
    with RECORDED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    figures: dict[str, list[list[float]]] = {}
    for column in (name for name in rows[0] if name != "trace"):
        figures.setdefault(column.split(" ", 1)[1], []).append([float(row[column]) for row in rows])
    return {figure: np.array(values) for figure, values in figures.items()}


# --- the methods: ends of intervals, (repetitions,), of the differences of calls ------------------------------------


def legato(calls: Array) -> Ends:
    """`legato.results.stats`, as reports use it."""
    found = stats.mean_intervals(calls.sum(axis=1), np.full((calls.shape[0], calls.shape[2]), float(calls.shape[1])))
    return np.array([one.low for one in found], dtype=float), np.array([one.high for one in found], dtype=float)


def percentile_over_calls(calls: Array) -> Ends:
    """The wrong way: each call resampled as if it were a separate network."""
    return _percentile(calls.reshape(-1, calls.shape[2]))


def percentile(calls: Array) -> Ends:
    """Percentile bootstrap over networks."""
    return _percentile(calls.mean(axis=1))


def student(calls: Array) -> Ends:
    """Student's interval of the networks' means."""
    mean, error, _ = _moments(calls)
    reach = stats._student_quantile(calls.shape[0] - 1)
    return mean - reach * error, mean + reach * error


def johnson(calls: Array) -> Ends:
    """Johnson's 1978: Student's, moved by the skewness."""
    mean, error, skewness = _moments(calls)
    reach = stats._student_quantile(calls.shape[0] - 1)
    moved = mean + skewness * error / 6
    return moved - reach * error, moved + reach * error


def hall(calls: Array) -> Ends:
    """[hall1992] alone."""
    mean, error, skewness = _moments(calls)
    reach = stats._student_quantile(calls.shape[0] - 1)
    ends = [
        np.array([stats._untransformed(side * reach, of_one) for of_one in skewness.tolist()]) for side in (1.0, -1.0)
    ]
    return mean - ends[0] * error, mean - ends[1] * error


def bootstrap_t(calls: Array) -> Ends:
    """Studentised bootstrap over networks."""
    mean, error, _ = _moments(calls)
    low, high = np.quantile(_studentised(calls), [0.025, 0.975], axis=0)
    return mean - high * error, mean - low * error


def bca(calls: Array) -> Ends:
    """Efron's bias-corrected and accelerated bootstrap over networks."""
    from statistics import NormalDist

    means = calls.mean(axis=1)
    off = means - means.mean(axis=0)
    drawn = np.sort(_resampled(off), axis=0)
    normal = NormalDist()
    below = np.clip((drawn < 0).mean(axis=0) + (drawn == 0).mean(axis=0) / 2, 1e-3, 1 - 1e-3)
    bias = np.array([normal.inv_cdf(each) for each in below])
    acceleration = (off**3).sum(axis=0) / (6 * ((off**2).sum(axis=0)) ** 1.5)
    ends = []
    for side in (-1.0, 1.0):
        shifted = bias + side * stats._NORMAL_QUANTILE
        share = np.array([normal.cdf(each) for each in bias + shifted / (1 - acceleration * shifted)])
        at = np.clip(np.rint(share * (len(drawn) - 1)).astype(int), 0, len(drawn) - 1)
        ends.append(means.mean(axis=0) + drawn[at, np.arange(drawn.shape[1])])
    return ends[0], ends[1]


METHODS: dict[str, Method] = {
    "Legato": legato,
    "percentile, calls": percentile_over_calls,
    "percentile": percentile,
    "Student": student,
    "Johnson": johnson,
    "Hall": hall,
    "bootstrap-t": bootstrap_t,
    "BCa": bca,
}


def _moments(calls: Array) -> tuple[Array, Array, Array]:
    """Mean, its standard error and its skewness."""
    means = calls.mean(axis=1)
    number = len(means)
    off = means - means.mean(axis=0)
    spread = (off**2).sum(axis=0)
    skewness = number * np.sqrt(number - 1) / (number - 2) * (off**3).sum(axis=0) / spread**1.5 / np.sqrt(number)
    return means.mean(axis=0), np.sqrt(spread / (number - 1) / number), skewness


def _percentile(values: Array) -> Ends:
    mean = values.mean(axis=0)
    low, high = np.quantile(_resampled(values - mean), [0.025, 0.975], axis=0)
    return mean + low, mean + high


def _weights(number: int) -> Array:
    """How often each of so many is drawn, (resamples, number)."""
    draw = np.random.default_rng(0)
    return (
        np.array([np.bincount(draw.integers(0, number, number), minlength=number) for _ in range(RESAMPLES)]) / number
    )


def _resampled(values: Array) -> Array:
    return _weights(len(values)) @ values


def _studentised(calls: Array) -> Array:
    means = calls.mean(axis=1)
    off = means - means.mean(axis=0)
    weights = _weights(len(off))
    moved = weights @ off
    variance = np.maximum(weights @ off**2 - moved**2, 0.0) / (len(off) - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(variance > 1e-18, moved / np.sqrt(variance), np.sign(moved) * 1e6)
    return np.asarray(np.nan_to_num(ratio))


def coverage(ends: Ends, truth: float) -> float:
    """The share of intervals that contain the truth."""
    low, high = ends
    return float(np.mean((low <= truth) & (truth <= high)))


# --- the page -------------------------------------------------------------------------------------------------------


def of_shapes(method: Method, repetitions: int, seed: int = 1) -> dict[str, list[float]]:
    """Coverage of one method by shape, at each of `NETWORKS`."""
    found: dict[str, list[float]] = {}
    for shape, drawn in SHAPES.items():
        for networks in NETWORKS:
            # The same studies for every method.
            draw = np.random.default_rng([seed, list(SHAPES).index(shape), networks])
            found.setdefault(shape, []).append(coverage(method(study(drawn, networks, repetitions, draw)), 0.0))
    return found


def of_recorded(method: Method, repetitions: int) -> dict[str, list[float]]:
    """Coverage of one method by figure, the mean over controllers, at each of `NETWORKS`."""
    found: dict[str, list[float]] = {}
    for figure, controllers in recorded().items():
        for networks in NETWORKS:
            draw = np.random.default_rng([2, networks])
            shares = [
                coverage(method(draw.choice(values, size=(networks, 1, repetitions))), float(values.mean()))
                for values in controllers
            ]
            found.setdefault(figure, []).append(float(np.mean(shares)))
    return found


def covered(first: str, rows: Mapping[str, list[float]], note: str = "") -> Section:
    """Per cent by number of networks; outside 93 to 97 in brackets."""

    def shown(share: float) -> str:
        text = f"{100 * share:.1f}"
        return text if 93.0 <= float(text) <= 97.0 else f"({text})"

    cells = [[name, *map(shown, shares)] for name, shares in rows.items()]
    return Section("", note, [first, *map(str, NETWORKS)], cells)


def play(options: Options) -> Found:
    """Every method on every shape, and on the recorded differences."""
    many = options.repetitions
    by_method = {name: of_shapes(method, many) for name, method in METHODS.items()}
    shapes = [
        covered("networks", {name: shares[shape] for name, shares in by_method.items()}, f"**{shape}**")
        for shape in ("normal", "exponential", "heavy tails (t, 3)")
    ]
    values = {
        "repetitions": f"{many:,}",
        "legato": covered("networks", by_method["Legato"]),
        "few": covered("networks", of_shapes(legato, 500)),
        "shapes": shapes,
        "recorded": covered("Legato, by figure", of_recorded(legato, many)),
        "percentile": covered("percentile, by figure", of_recorded(percentile, min(many, 1_000))),
    }
    return Found(values)


PAGE = Page("intervals", play, {"--repetitions": {"default": 5_000, "help": "of each study"}})
