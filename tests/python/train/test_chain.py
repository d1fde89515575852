"""Gradients of chains of dense layers, by hand and by torch.autograd: the same to the last bit."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make test-train", exc_type=ImportError)

from legato.train.chain import ACTIVATIONS, Chain  # noqa: E402
from legato.train.flat import FlatAdam  # noqa: E402
from legato.train.network import Network  # noqa: E402
from legato.train.recipe import dense  # noqa: E402


def network(activation: str) -> Network:
    layers = (
        dense("first", "observation", 30, 32, activation),
        dense("second", "first", 32, 16, activation),
        dense("out", "second", 16, 2, activation),
    )
    random = torch.Generator().manual_seed(1)
    made = Network(layers)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=random) * 0.3)
    return made


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_chain_is_differentiated_as_autograd_does_it(activation: str) -> None:
    made = network(activation)
    flat = FlatAdam(made)
    chain = Chain(made)
    random = torch.Generator().manual_seed(2)
    # The last batch of a round may be smaller.
    for count in (1440, 96, 1441):
        obs, slope = (torch.randn(count, size, generator=random) for size in (30, 2))
        flat.gradient.zero_()
        out, _ = made(obs)
        (out.flatten() @ slope.flatten()).backward()
        expected = flat.gradient.clone()
        flat.gradient.fill_(7.0)  # written over, not added to
        assert torch.equal(chain.forward(obs), out.detach())
        chain.backward(slope)
        assert torch.equal(flat.gradient, expected)
        assert float(expected.abs().max()) > 1.0


def test_what_is_no_chain_is_left_to_autograd() -> None:
    assert Chain.is_one(network("tanh"))
    assert not Chain.is_one(network("sigmoid"))
    memory = {"name": "memory", "kind": "gru", "from": ["observation"], "inputs": 4, "outputs": 8}
    assert not Chain.is_one(Network((memory, dense("out", "memory", 8, 1, "linear"))))
    beside = dense("side", "observation", 4, 8, "relu")
    assert not Chain.is_one(Network((beside, dense("out", "observation", 4, 1, "linear"))))
    part = {**dense("out", "observation", 2, 1, "linear"), "from": ["observation[0:2]"]}
    assert not Chain.is_one(Network((part,)))
