"""`legato`'s residual: a network of zeros changes no byte, and what a policy is worth is worked by hand."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from legato import plan, shipped
from legato.errors import Error
from legato.policy import policy_folder
from legato.sweep import parts, sweep
from legato.train.recipes.legato_residual import RECIPE
from legato.train.residual_calls import GAPS, gains_of, round_games, windows_of_files, worst_of, worth_of


def policy(folder: Path, bias: float) -> Path:
    """Every output is the hyperbolic tangent of ``bias``."""
    layer = RECIPE.layers[-1]
    inputs, outputs = layer["inputs"], layer["outputs"]
    tensors = {"out.weight": np.zeros((outputs, inputs)), "out.bias": np.full(outputs, bias)}
    policy_folder.write(folder, RECIPE.manifest, [layer], tensors, onnx=False)
    return folder


def packets(folder: Path, controller: str) -> list[tuple[object, ...]]:
    """Every packet of a call over a bus's link."""
    made = plan.make(
        "cellular",
        options={"duration_s": 10.0},
        controller_specs=[controller],
        clip_specs=[str(shipped.profile("camera"))],
        log="packets",
    )
    files = [str(path) for path in parts(sweep(made, folder).folder, "packets")]
    return duckdb.execute("SELECT * FROM read_parquet(?)", [files]).fetchall()


def test_a_network_of_zeros_changes_no_packet_and_another_one_does(tmp_path: Path):
    plain = packets(tmp_path / "plain", "legato")
    zeros, ones = policy(tmp_path / "zeros", 0.0), policy(tmp_path / "ones", 9.0)
    assert len(plain) > 500
    assert packets(tmp_path / "with", f"legato@residual={zeros},label=legato") == plain
    assert packets(tmp_path / "bent", f"legato@residual={ones},label=legato") != plain


def test_a_policy_of_another_controller_is_refused_in_one_line(tmp_path: Path):
    with pytest.raises(Error, match=r'action.map = "nvc-cc" is not "legato-residual"'):
        packets(tmp_path / "run", "legato@residual=nvc-cc")


def test_links_that_are_trained_on_do_not_judge():
    trained, judged = ({window.split("@")[0] for window in windows_of_files(first)} for first in (0, 2))
    assert trained and judged and not trained & judged


def test_rounds_are_drawn_from_their_numbers_alone():
    rounds = [round_games(np.random.default_rng([1, number])) for number in (3, 3, 4)]
    assert rounds[0] == rounds[1] != rounds[2]


def test_worth_is_the_mean_gain_and_that_of_the_worst_tenth():
    base = np.zeros((10, len(GAPS)))
    base[0] = -1.0  # the worst call: a tenth of what happens to the worst counts once more
    better = base.copy()
    better[0] += 0.5
    assert worst_of(base) == pytest.approx(-1.0)
    assert worth_of(better, base) == pytest.approx(0.05 + 0.1 * 0.5)
    assert worth_of(base + 0.1, base) == pytest.approx(0.1 + 0.1 * 0.1)
    assert worth_of(base, base) == 0.0
    traded = base + np.array([-0.06, 0.04, 0.04, 0.04])  # the picture for delay, two to one
    assert worth_of(traded, base) == pytest.approx(0.0)


def test_a_call_that_shows_nothing_loses_the_most_there_is_to_lose():
    base, own = np.zeros((1, len(GAPS))), np.full((1, len(GAPS)), np.nan)
    assert gains_of(own, base).mean() == -0.5 and gains_of(base, own).mean() == 0.5
    assert gains_of(own, own).mean() == 0.0
    assert gains_of(base - 100.0, base).min() == -0.5
