"""Concerto's and RL-V's recipes: the network's table, and labels that are the second to come."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)

from legato.plan import shipped  # noqa: E402
from legato.policy.layers import outputs  # noqa: E402
from legato.train import recipe  # noqa: E402
from legato.train.network import Network  # noqa: E402
from legato.train.recipes import concerto  # noqa: E402

COPYLEFT = (shipped.traces_folder() / "copyleft").is_dir()


@pytest.mark.parametrize("name", ["concerto", "concerto-by-second", "concerto-published", "rl-v", "rl-v-by-second"])
def test_networks_answer_one_of_26_bitrates(name: str) -> None:
    layers = recipe.load(name).layers
    assert outputs(layers[-1]) == 26
    out, _ = Network(layers)(torch.rand(2, 720))
    assert out.shape == (2, 26)


def test_the_published_training_has_half_a_million_states() -> None:
    settings = recipe.load("concerto-published").settings
    assert settings.round_steps * settings.rounds == 500_320
    assert settings.minibatch == 32


def test_every_variant_of_a_loss_differs_from_the_whole_in_one_setting() -> None:
    """[concerto] §5.3: eq. (3) alone, and eq. (4) with C = 0 and C = 100, where the whole has C = 8."""
    from dataclasses import asdict

    from legato_studies.papers.concerto import variants

    rows = variants.table()
    whole = asdict(rows["whole"]["settings"])
    changed = {
        name: {key: value for key, value in asdict(rows[name]["settings"]).items() if value != whole[key]}
        for name in ("loss 1", "loss 2", "loss 3")
    }
    # [concerto] §5.3
    assert changed == {
        "loss 1": {"weighted": False},
        "loss 2": {"overshoot_weight": 0.0},
        "loss 3": {"overshoot_weight": 100.0},
    }
    assert rows["2-state"]["kinds"] == ("loss_ratio", "packet_interval")


def test_the_networks_tried_first_take_the_same_numbers_and_are_about_as_large() -> None:
    """[concerto] section 3.2: fully connected, and convolutions of one dimension."""
    from legato_studies.recipes import concerto as tried

    def size(table: tuple[dict[str, Any], ...]) -> int:
        network = Network(table)
        assert network(torch.rand(2, 720))[0].shape == (2, 26)
        return sum(tensor.numel() for tensor in network.tensors().values())

    ours = size(concerto.layers())
    for name, table in (("concerto-fully-connected", tried.fully_connected()), ("concerto-1d-cnn", tried.along_time())):
        assert 0.5 < size(table) / ours < 2.0
        assert recipe.load(name).layers == table


def test_a_training_of_fig_23_and_24_has_as_many_states_as_the_whole() -> None:
    from legato_studies.papers.concerto import design, variants

    rows = variants.table()
    whole = rows["whole"]["settings"]
    for loops in design.LOOPS:
        settings = rows[f"loops {loops}"]["settings"]
        assert settings.loops == loops
        assert settings.envs * loops == pytest.approx(whole.envs * whole.loops, rel=0.1)
        assert settings.rounds == whole.rounds
    assert {rows[f"epochs {n}"]["settings"].rounds for n in design.EPOCHS} == set(design.EPOCHS)
