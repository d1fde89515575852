"""One policy, three engines: the native one, torch and onnxruntime agree to 1e-5; broken files are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import legato
from legato import _core

torch = pytest.importorskip("torch", reason="needs torch: pip install legato-rtc[train]")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime, of the extra dev-train")

from legato.policy import policy_folder  # noqa: E402
from legato.policy.layers import outputs  # noqa: E402
from legato.train.network import Network, through  # noqa: E402

TOLERANCE = 1e-5


def dense(name: str, source: str, inputs: int, size: int, activation: str, **more: Any) -> dict[str, Any]:
    sizes = {"inputs": inputs, "outputs": size}
    return {"name": name, "kind": "dense", "from": [source], **sizes, "activation": activation, **more}


def concerto(channels: int, filters: int) -> list[dict[str, Any]]:
    """Four branches of two-dimensional convolutions and one over all of them, with fewer filters than published."""
    picture = {"height": 5, "width": 4, "kernel": [3, 3], "padding": [1, 1], "activation": "leaky_relu"}
    names = ["loss", "delay", "sent", "received"][:channels]
    branches = [
        {"name": name, "kind": "conv2d", "from": [f"observation[{i * 20}:{i * 20 + 20}]"], "channels": 1}
        | {"filters": filters, **picture}
        for i, name in enumerate(names)
    ]
    fusion = {"name": "fusion", "kind": "conv2d", "from": names, "channels": channels * filters, "filters": 7}
    return [
        *branches,
        fusion | picture,
        dense("all", "fusion", 140, 33, "leaky_relu", slope=0.5),
        dense("rates", "all", 33, 26, "softmax"),
    ]


# inputs, how it decides, layers: the shapes of the papers' networks, and others.
POLICIES: dict[str, tuple[int, str, list[dict[str, Any]]]] = {
    "dense": (
        30,
        "value",
        [
            dense("hidden1", "observation", 30, 32, "tanh"),
            dense("hidden2", "hidden1", 32, 16, "relu"),
            dense("out", "hidden2", 16, 1, "tanh"),
        ],
    ),
    "gru": (
        4,
        "value",
        [
            dense("first", "observation", 4, 64, "leaky_relu"),
            {"name": "memory", "kind": "gru", "from": ["first"], "inputs": 64, "outputs": 64, "activation": "linear"},
            dense("third", "memory", 64, 64, "leaky_relu"),
            dense("out", "third", 64, 1, "sigmoid"),
        ],
    ),
    "two_grus": (
        10,
        "argmax",
        [
            {"name": "a", "kind": "gru", "from": ["observation[0:6]"], "inputs": 6, "outputs": 5},
            {"name": "b", "kind": "gru", "from": ["a", "observation[4:10]"], "inputs": 11, "outputs": 20}
            | {"activation": "relu"},
            {"name": "out", "kind": "dense", "from": ["b[3:20]", "a"], "inputs": 22, "outputs": 4},
        ],
    ),
    "conv1d": (
        24,
        "argmax",
        [
            {"name": "row", "kind": "conv1d", "from": ["observation[0:16]"], "channels": 2, "length": 8, "filters": 18}
            | {"kernel": 4, "activation": "relu"},
            {"name": "padded", "kind": "conv1d", "from": ["observation[8:24]"], "channels": 1, "length": 16}
            | {"filters": 3, "kernel": 5, "padding": 2, "activation": "tanh"},
            {"name": "out", "kind": "dense", "from": ["row", "padded"], "inputs": 138, "outputs": 6}
            | {"activation": "softmax"},
        ],
    ),
    "concerto": (80, "argmax", concerto(4, 9)),
}


def manifest(inputs: int, decide: str) -> dict[str, Any]:
    return {
        "controller": "trial",
        "observation": {"features": ["a"], "history": inputs},
        "action": {"map": "trial", "decide": decide},
        "trained": {"seed": 7, "command": "legato train trial"},
    }


@pytest.fixture(params=POLICIES)
def trained(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Network, Path, int]:
    """A network with random weights and its policy folder."""
    inputs, decide, layers = POLICIES[request.param]
    torch.manual_seed(len(request.param))
    network = Network(layers)
    with torch.no_grad():
        for parameter in network.parameters():  # further from zero than they begin, so that nothing is nearly linear
            parameter.mul_(1.7)
    policy_folder.write(tmp_path / "policy", manifest(inputs, decide), layers, network.tensors())
    return network, tmp_path / "policy", inputs


def native(folder: Path) -> _core.Policy:
    return _core.Policy((folder / "policy.toml").read_text(), (folder / "weights.safetensors").read_bytes())


def observations(inputs: int, steps: int = 20) -> np.ndarray:
    return np.random.default_rng(3).normal(size=(steps, inputs)).astype(np.float32)


def test_native_and_torch_agree_step_by_step(trained: tuple[Network, Path, int]):
    network, folder, inputs = trained
    policy, hidden = native(folder), network.initial(1)
    for observation in observations(inputs):
        with torch.inference_mode():
            expected, hidden = network(torch.from_numpy(observation)[None], hidden)
        np.testing.assert_allclose(policy.outputs(observation), expected[0].numpy(), rtol=0, atol=TOLERANCE)


def test_native_and_onnxruntime_agree_step_by_step(trained: tuple[Network, Path, int]):
    network, folder, inputs = trained
    session = onnxruntime.InferenceSession(folder / "policy.onnx", providers=["CPUExecutionProvider"])
    policy, state = native(folder), {}
    if network.recurrent:
        state = {"hidden": network.initial(1).numpy()}
    for observation in observations(inputs):
        expected, *after = session.run(None, {"observation": observation[None], **state})
        state = dict.fromkeys(state, after[0] if after else None)
        np.testing.assert_allclose(policy.outputs(observation), expected[0], rtol=0, atol=TOLERANCE)


def test_onnx_takes_a_batch(trained: tuple[Network, Path, int]):
    network, folder, inputs = trained
    session = onnxruntime.InferenceSession(folder / "policy.onnx", providers=["CPUExecutionProvider"])
    batch = observations(inputs, 3)
    feed, hidden = {"observation": batch}, network.initial(3)
    if hidden is not None:
        feed["hidden"] = hidden.normal_().numpy()
    with torch.inference_mode():
        expected, after = network(torch.from_numpy(batch), hidden)
    found = session.run(None, feed)
    np.testing.assert_allclose(found[0], expected.numpy(), rtol=0, atol=TOLERANCE)
    if after is not None:
        np.testing.assert_allclose(found[1], after.numpy(), rtol=0, atol=TOLERANCE)


def test_a_sequence_gives_what_its_steps_give(trained: tuple[Network, Path, int]):
    network, _, inputs = trained
    steps, sequences = 12, 5
    obs = torch.from_numpy(observations(inputs, steps * sequences)).reshape(steps, sequences, inputs)
    starts = torch.rand(steps, sequences, generator=torch.Generator().manual_seed(1)) < 0.2
    hidden = network.initial(sequences)
    if hidden is not None:
        hidden.normal_()
    with torch.inference_mode():
        whole, after = network(obs, hidden, starts)
        for step in range(steps):
            if hidden is not None:
                hidden = hidden * (~starts[step]).float()[:, None]
            out, hidden = network(obs[step], hidden)
            torch.testing.assert_close(whole[step], out, rtol=0, atol=TOLERANCE)
    if after is not None:
        torch.testing.assert_close(after, hidden, rtol=0, atol=TOLERANCE)


def test_gradients_do_not_pass_a_start():
    torch.manual_seed(0)
    gru, x = torch.nn.GRU(2, 3), torch.randn(4, 1, 2, requires_grad=True)
    starts = torch.tensor([[False], [False], [True], [False]])
    out, _ = through(gru, x, torch.zeros(1, 3), starts)
    out[3].sum().backward()
    assert (x.grad[:2] == 0).all() and (x.grad[2:] != 0).any()


def test_what_is_written_is_read_back_bit_by_bit(trained: tuple[Network, Path, int]):
    network, folder, inputs = trained
    head, layers, tensors = policy_folder.read(folder)
    assert layers == network.layers and head["trained"] == {"seed": 7, "command": "legato train trial"}
    assert head["format"] == 1 and head["observation"]["history"] == inputs
    again = Network(layers)
    again.load(tensors)
    for name, tensor in network.tensors().items():
        assert torch.equal(tensor, again.tensors()[name]), name
    assert sum(array.size for array in tensors.values()) == native(folder).parameters
    assert outputs(layers[-1]) == len(native(folder).outputs(observations(inputs, 1)[0]))


def test_a_policy_folder_holds_three_files_and_no_pickle(trained: tuple[Network, Path, int]):
    _, folder, _ = trained
    assert sorted(path.name for path in folder.iterdir()) == ["policy.onnx", "policy.toml", "weights.safetensors"]
    assert not any(b"pickle" in path.read_bytes() or path.read_bytes()[:2] == b"PK" for path in folder.iterdir())


def test_acting_decides_within_the_range_and_resetting_forgets():
    inputs, decide, layers = POLICIES["gru"]
    network = Network(layers)
    text, weights = files(network, {**manifest(inputs, decide)})
    policy = _core.Policy(text, weights)
    observation = observations(inputs, 1)[0]
    first, second = policy.act(observation), policy.act(observation)
    assert first != second and -1 <= first <= 1
    policy.reset()
    assert policy.act(observation) == first
    observation[1] = np.nan
    assert np.isnan(policy.act(observation))
    observation = observations(inputs, 1)[0]
    assert policy.act(observation) == first  # the state that was NaN is gone


def files(network: Network, head: dict[str, Any]) -> tuple[str, bytes]:
    import tomli_w
    from safetensors.numpy import save

    arrays = {name: tensor.detach().numpy() for name, tensor in network.tensors().items()}
    head = {"format": 1, **head, "network": {"weights": "weights.safetensors", "layers": network.layers}}
    return tomli_w.dumps(head), save(arrays)


def test_broken_policies_are_refused_in_one_line():
    inputs, decide, layers = POLICIES["dense"]
    text, weights = files(Network(layers), manifest(inputs, decide))
    broken = [
        (text.replace("format = 1", "format = 3"), weights, "p: format = 3: this version reads 1"),
        (text + "\n[more]\nx = 1\n", weights, "p: more: unknown key"),
        (text, weights[:-4], "cut off"),
        (text, b"\x80\x04\x95" + weights, "not safetensors"),
        (text.replace("inputs = 30", "inputs = 31"), weights, "the layer has 31 inputs, and from gives it 30"),
    ]
    for toml, data, said in broken:
        with pytest.raises(legato.PolicyError) as refused:
            _core.Policy(toml, data, "p")
        assert said in str(refused.value) and "\n" not in str(refused.value)
    with pytest.raises(legato.PolicyError, match=r"policy.toml: an observation of 3 values, 30 are needed"):
        _core.Policy(text, weights).act(np.zeros(3, np.float32))


def test_nothing_is_written_of_a_policy_that_could_not_be_loaded(tmp_path: Path):
    inputs, decide, layers = POLICIES["dense"]
    network = Network(layers)
    with torch.no_grad():
        network.tensors()["out.bias"].fill_(float("nan"))
    with pytest.raises(legato.PolicyError, match=r"tensor out.bias: value 0 is NaN"):
        policy_folder.write(tmp_path / "policy", manifest(inputs, decide), layers, network.tensors())
    assert not (tmp_path / "policy").exists()
    with pytest.raises(legato.PolicyError, match=r"policy.toml: .*No such file"):
        policy_folder.read(tmp_path / "policy")
