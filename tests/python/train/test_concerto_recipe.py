"""Concerto's recipe: the network's table, and labels that are the second to come."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)

from legato.errors import TrainingError  # noqa: E402
from legato.links import VALIDATION  # noqa: E402
from legato.plan import shipped  # noqa: E402
from legato.train import mobile_calls  # noqa: E402
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
    calls = mobile_calls.calls(6, "concerto", VALIDATION, ("3G",), by_second=by_second)
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
