"""Intervals contain a truth that is known as often as they say; the full study is the page's."""

from __future__ import annotations

import numpy as np
import pytest

from legato.results import stats
from legato_studies.pages import intervals as study

REPETITIONS = 2_000


def covered(method: study.Method, shape: str, networks: int) -> float:
    draw = np.random.default_rng([7, networks])
    return study.coverage(method(study.study(study.SHAPES[shape], networks, REPETITIONS, draw)), 0.0)


@pytest.mark.parametrize("networks", study.NETWORKS)
@pytest.mark.parametrize("shape", ["normal", "exponential"])
def test_95_percent_intervals_contain_the_truth_in_93_to_97_percent(shape: str, networks: int) -> None:
    assert 0.93 <= covered(study.legato, shape, networks) <= 0.97


def test_resampling_calls_would_not() -> None:
    assert covered(study.percentile_over_calls, "normal", 12) < 0.65
    assert covered(study.percentile, "normal", 5) < 0.87


def test_recorded_pictures_are_covered_from_five_networks_on() -> None:
    for controller in study.recorded()["SSIM as viewed (dB)"]:
        draw = np.random.default_rng(3)
        calls = draw.choice(controller, size=(8, 1, REPETITIONS))
        assert 0.92 <= study.coverage(study.legato(calls), float(controller.mean())) <= 0.98


@pytest.mark.parametrize("networks", [5, 12, 40])
def test_networks_with_unequal_numbers_of_calls_are_worth_fewer(networks: int) -> None:
    draw = np.random.default_rng([8, networks])
    own, calls = draw.normal(size=(networks, REPETITIONS)), draw.integers(1, 7, (networks, REPETITIONS)).astype(float)
    found = [one for one in stats.mean_intervals(own * calls, calls) if one.low is not None]
    assert len(found) > REPETITIONS / 2
    assert 0.93 <= np.mean([one.low <= 0.0 <= one.high for one in found]) <= 0.97
