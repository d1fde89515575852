"""ONNX models as policies without what training needs: no torch, and a plain word where an extra is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from legato import _core
from legato.errors import PolicyError
from legato.plan import shipped
from legato.policy import onnx_graph, onnx_import, policy_folder

NO_TORCH = """
import sys
sys.modules.update(dict.fromkeys(("torch", "gymnasium", "tensorboard")))  # importing one raises ImportError
from legato.cli import main
main()
"""


def test_a_model_is_imported_by_the_name_of_a_shipped_policy_without_torch(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed: pip install legato-rtc[onnx]")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install legato-rtc[onnx]")
    manifest, layers, tensors = policy_folder.read(shipped.policy("nvc-cc"))
    observed = manifest["observation"]
    inputs = len(observed["features"]) * observed["history"] * observed.get("width", 1)
    (tmp_path / "model.onnx").write_bytes(onnx_graph.model(layers, inputs, tensors).SerializeToString())
    command = [sys.executable, "-c", NO_TORCH, "policy", "import", "model.onnx", "--like", "nvc-cc", "--out", "mine"]
    imported = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert imported.returncode == 0, imported.stderr
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {
        "policy.toml",
        "weights.safetensors",
        "policy.onnx",
    }
    one, other = (native(folder) for folder in (shipped.policy("nvc-cc"), tmp_path / "mine"))
    for seen in np.random.default_rng(2).normal(size=(20, inputs)).astype(np.float32):
        assert one.outputs(seen) == other.outputs(seen)


def native(folder: Path) -> _core.Policy:
    """The policy of a folder in the native engine."""
    text = (folder / "policy.toml").read_text(encoding="utf-8")
    return _core.Policy(text, (folder / "weights.safetensors").read_bytes(), "policy.toml")


def test_a_missing_package_is_named_with_the_extra_that_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("legato.policy.find_spec", lambda module: None)
    (tmp_path / "model.onnx").write_bytes(b"")
    like = {"controller": "nvc-cc", "observation": {}, "action": {}}
    with pytest.raises(PolicyError, match="need onnx, which is not installed") as refused:
        onnx_import.convert(tmp_path / "model.onnx", like, tmp_path / "mine")
    assert refused.value.hint == "pip install legato-rtc[onnx]"
    with pytest.raises(PolicyError, match="need safetensors, which is not installed"):
        policy_folder.read(shipped.policy("nvc-cc"))
    assert not (tmp_path / "mine").exists()


def test_a_policy_that_is_nearly_named_is_asked_after(capsys: pytest.CaptureFixture[str]) -> None:
    from legato.cli import status_of

    assert status_of(["policy", "import", "m.onnx", "--like", "nvcc", "--out", "x"]) == 2
    assert "nvcc: no such policy" in (said := capsys.readouterr().err) and "did you mean nvc-cc" in said


def test_a_policy_is_a_folder_before_it_is_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shipped.policy("nvc-cc") == shipped.policies_folder() / "nvc-cc"
    assert shipped.policy("elsewhere/nvc-cc") == Path("elsewhere/nvc-cc")
    (tmp_path / "nvc-cc").mkdir()
    assert shipped.policy("nvc-cc") == Path("nvc-cc")
