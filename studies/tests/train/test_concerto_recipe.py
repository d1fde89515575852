"""Concerto's and RL-V's recipes: the network's table, and labels that are the second to come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)

from legato import shipped  # noqa: E402
from legato.errors import TrainingError  # noqa: E402
from legato.policy.layers import outputs  # noqa: E402
from legato.train import mobile_calls, recipe  # noqa: E402
from legato.train.network import Network  # noqa: E402
from legato.train.recipes import concerto  # noqa: E402

COPYLEFT = (shipped.traces_folder() / "copyleft").is_dir()


def test_an_observation_is_read_kind_by_kind() -> None:
    """[concerto] section 3.2: 15 reports of 4 packets, four kinds, three seconds of 240 numbers."""
    assert concerto.slices(1) == ["observation[60:120]", "observation[300:360]", "observation[540:600]"]


def test_the_published_network_has_its_size() -> None:
    """[concerto] Fig. 17: 4 (3*64*9 + 64) + 256*128*9 + 128 + 7680*256 + 256 + 256*26 + 26."""
    network = Network(concerto.layers(concerto.PUBLISHED))
    assert sum(tensor.numel() for tensor in network.parameters()) == 7168 + 295_040 + 1_966_336 + 6_682


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


def test_a_variant_sees_only_what_it_is_given() -> None:
    network = Network(concerto.layers(kinds=("loss_ratio", "packet_interval")))
    seen = torch.zeros(1, 720)
    other = seen.clone()
    other[0, 120:240] = 1.0  # encoder and receiver rate of the oldest second
    assert torch.equal(network(seen)[0], network(other)[0])


def test_the_expert_stays_below_the_capacity() -> None:
    """0.8 of 1 Mbit/s is 8 steps; of 1.24, 9.92, 9; of nothing, the lowest that is a call; of much, the highest."""
    capacity = np.array([1e6, 1.24e6, 0.0, 9e6], np.float32)
    assert mobile_calls.expert_choice(capacity, 0.8).tolist() == [8, 9, 1, 25]


@pytest.mark.skipif(not COPYLEFT, reason="the traces of a checkout are not here")
@pytest.mark.parametrize("by_second", [False, True], ids=["as recorded", "by the second"])
def test_labels_are_of_the_second_to_come(by_second: bool) -> None:
    calls = mobile_calls.calls(6, "concerto", "validate", ("3G",), by_second=by_second)
    env = mobile_calls.ExpertCalls(calls, 0.8)
    _, info = env.reset(seed=3)
    for decision in range(mobile_calls.DECISIONS):
        label = info["expert_action"]
        _, _, _, truncated, info = env.step(label)
        if decision < mobile_calls.DECISIONS - 1:
            passed = mobile_calls.expert_choice(info["intervals"]["true_capacity_bps"], 0.8)
            assert label.tolist() == passed.tolist()
    assert truncated.all()
    with pytest.raises(TrainingError, match="longer than a call"):
        env.step(label)
    env.close()


def test_every_variant_of_a_loss_differs_from_the_whole_in_one_setting() -> None:
    """[concerto] §5.3: eq. (3) alone, and eq. (4) with C = 0 and C = 100, where the whole has C = 8."""
    from dataclasses import asdict

    from legato.published import concerto_variants

    rows = concerto_variants.table()
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
    from legato.train.recipes import concerto_1d_cnn, concerto_fully_connected

    def size(table: tuple[dict[str, Any], ...]) -> int:
        network = Network(table)
        assert network(torch.rand(2, 720))[0].shape == (2, 26)
        return sum(tensor.numel() for tensor in network.tensors().values())

    ours = size(concerto.layers())
    for tried in (concerto_fully_connected, concerto_1d_cnn):
        assert 0.5 < size(tried.layers()) / ours < 2.0
        assert tried.RECIPE.layers == tried.layers()


def test_a_training_of_fig_23_and_24_has_as_many_states_as_the_whole() -> None:
    from legato.published import concerto_design, concerto_variants

    rows = concerto_variants.table()
    whole = rows["whole"]["settings"]
    for loops in concerto_design.LOOPS:
        settings = rows[f"loops {loops}"]["settings"]
        assert settings.loops == loops
        assert settings.envs * loops == pytest.approx(whole.envs * whole.loops, rel=0.1)
        assert settings.rounds == whole.rounds
    assert {rows[f"epochs {n}"]["settings"].rounds for n in concerto_design.EPOCHS} == set(concerto_design.EPOCHS)
