"""ONNX models as policies: ours read back, torch's own export, and what cannot be read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import legato

torch = pytest.importorskip("torch", reason="needs torch: pip install legato-rtc[train]")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime, of the extra dev-train")

from torch import nn  # noqa: E402

from legato.policy import onnx_import, policy_folder  # noqa: E402
from legato.train.network import Network  # noqa: E402
from test_policy import POLICIES, manifest, native, observations  # noqa: E402


@pytest.mark.parametrize("name", POLICIES)
def test_our_own_models_are_read_back(name: str, tmp_path: Path) -> None:
    inputs, decide, layers = POLICIES[name]
    torch.manual_seed(1)
    policy_folder.write(tmp_path / "first", manifest(inputs, decide), layers, Network(layers).tensors())
    made = onnx_import.convert(tmp_path / "first/policy.onnx", manifest(inputs, decide), tmp_path / "second")
    assert [layer["kind"] for layer in made] == [layer["kind"] for layer in layers]
    one, other = native(tmp_path / "first"), native(tmp_path / "second")
    for observation in observations(inputs):
        assert one.outputs(observation) == other.outputs(observation)


def exported(model: nn.Module, folder: Path, *inputs: torch.Tensor) -> Path:
    """As a stranger would export a model."""
    path = folder / "model.onnx"
    torch.onnx.export(model, inputs, path, dynamo=True, external_data=False, verbose=False)
    return path


def test_a_model_that_torch_exported_is_read(tmp_path: Path) -> None:
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(6, 20), nn.LeakyReLU(0.3), nn.Linear(20, 4, bias=False), nn.Softmax(-1)).eval()
    path = exported(model, tmp_path, torch.zeros(1, 6))
    onnx_import.convert(path, manifest(6, "argmax"), tmp_path / "policy")
    policy = native(tmp_path / "policy")
    for observation in observations(6, 5):
        expected = model(torch.from_numpy(observation)[None])[0].detach().numpy()
        np.testing.assert_allclose(policy.outputs(observation), expected, rtol=0, atol=1e-5)


def test_a_convolution_that_torch_exported_is_read(tmp_path: Path) -> None:
    torch.manual_seed(2)
    layers = (nn.Unflatten(1, (3, 5)), nn.Conv1d(3, 8, 4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 1), nn.Tanh())
    model = nn.Sequential(*layers).eval()
    path = exported(model, tmp_path, torch.zeros(1, 15))
    made = onnx_import.convert(path, manifest(15, "value"), tmp_path / "policy")
    assert [layer["kind"] for layer in made] == ["conv1d", "dense"]


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lstm(x.unsqueeze(0))[0][0]


def test_what_cannot_be_read_is_refused_in_one_line(tmp_path: Path) -> None:
    lstm = exported(Lstm().eval(), tmp_path, torch.zeros(1, 3))
    with pytest.raises(
        legato.PolicyError, match=r"model.onnx: node .*is not among what can be read|constant"
    ) as refused:
        onnx_import.convert(lstm, manifest(3, "value"), tmp_path / "policy")
    assert "\n" not in str(refused.value)
    (tmp_path / "junk.onnx").write_bytes(b"\x80\x04junk")
    with pytest.raises(legato.PolicyError, match=r"junk.onnx: not an ONNX model") as refused:
        onnx_import.convert(tmp_path / "junk.onnx", manifest(3, "value"), tmp_path / "policy")
    assert "\n" not in str(refused.value)
    with pytest.raises(legato.PolicyError, match=r"none.onnx: No such file"):
        onnx_import.convert(tmp_path / "none.onnx", manifest(3, "value"), tmp_path / "policy")
    assert not (tmp_path / "policy").exists()


def test_a_reading_that_gives_other_outputs_is_refused(tmp_path: Path) -> None:
    """A model that uses a layer's sums and what an activation makes of them."""

    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(3, 4), nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            sums = self.first(x)
            return self.second(torch.cat((torch.relu(sums), sums), 1))

    path = exported(Twice().eval(), tmp_path, torch.zeros(1, 3))
    with pytest.raises(legato.PolicyError, match="gives other outputs than onnxruntime at step 0"):
        onnx_import.convert(path, manifest(3, "value"), tmp_path / "policy")


def test_a_model_for_another_observation_is_refused(tmp_path: Path) -> None:
    path = exported(nn.Sequential(nn.Linear(6, 1)).eval(), tmp_path, torch.zeros(1, 6))
    with pytest.raises(legato.PolicyError, match="the layer has 6 inputs, and from gives it 5"):
        onnx_import.convert(path, manifest(5, "value"), tmp_path / "policy")
