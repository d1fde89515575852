"""The challenge's published estimators decide as their original files do, on what a call shows them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from legato import _core
from legato.plan import shipped

ROOT = Path(__file__).parents[2]
NAMES = ["mmsys24-baseline", "ten-tms"]
STEPS = 250
"""Fifteen seconds of decisions, across two falls and a rise of the capacity."""


def original(name: str) -> Callable[[npt.NDArray[np.float32]], float]:
    """The estimate in bit/s of the published file for an observation in its own units."""
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install legato-rtc[onnx]")
    path = ROOT / "data" / "models" / "mmsys24" / f"{name}.onnx"
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    state = np.zeros((1, 1), np.float32)

    def estimate(seen: npt.NDArray[np.float32]) -> float:
        fed = {"obs": seen.reshape(1, 1, 150), "hidden_states": state, "cell_states": state}
        return float(session.run(["output"], fed)[0].reshape(-1)[0])

    return estimate


def policy(name: str) -> _core.Policy:
    """The shipped policy in the native engine."""
    folder = shipped.policy(name)
    text = (folder / "policy.toml").read_text(encoding="utf-8")
    return _core.Policy(text, (folder / "weights.safetensors").read_bytes(), "policy.toml")


def action_of(name: str, rate_bps: float) -> float:
    """The last tanh of the published file, behind which is the action map of crates/control/src/action.rs."""
    if name == "ten-tms":
        return (rate_bps - 5e3) * 2 / 7.995e6 - 1
    return math.log(rate_bps / 1e4) / 3.342306 - 1


@pytest.mark.parametrize("name", NAMES)
def test_each_decision_of_a_call_is_the_originals(name: str, tool: Callable[[str], ModuleType]) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed: pip install legato-rtc[onnx]")
    pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install legato-rtc[gym]")
    from legato.envs import CallEnv

    units = tool("import_mmsys24").UNITS
    ours, theirs = policy(name), original(name)
    env: Any = CallEnv(scenario=str(ROOT / "tests" / "golden" / "step.toml"), controller=name)
    seen, _ = env.reset(seed=1)
    rates = []
    for _ in range(STEPS):
        (action,) = ours.outputs(seen)
        expected = theirs((seen.astype(np.float64) * units).astype(np.float32))
        assert action == pytest.approx(action_of(name, expected), abs=1e-5)
        rates.append(expected)
        seen, *_ = env.step(action)
    # It saw something, and decided by it.
    assert np.count_nonzero(seen) > 60
    assert max(rates) > 1.2 * min(rates)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_original_far_from_what_calls_show_too(name: str, tool: Callable[[str], ModuleType]) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed: pip install legato-rtc[onnx]")
    units = tool("import_mmsys24").UNITS
    ours, theirs = policy(name), original(name)
    random = np.random.default_rng(3)
    scales = np.repeat([3, 30, 30, 100, 200, 200, 1, 50, 20, 20, 0.1, 1, 0.3, 0.3, 0.1], 10)
    for _ in range(100):
        seen = np.float32(scales * random.normal(1, 1, 150))
        expected = theirs((seen.astype(np.float64) * units).astype(np.float32))
        (action,) = ours.outputs(seen)
        assert action == pytest.approx(
            action_of(name, expected), abs=2e-4
        )  # onnxruntime is up to 4e-5 from exact there


def test_the_shipped_policies_are_what_the_tool_makes_of_the_originals(
    tool: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed: pip install legato-rtc[onnx]")
    importer = tool("import_mmsys24")
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.setattr(importer, "ROOT", tmp_path)
    importer.main()
    for name in NAMES:
        for file in ("policy.toml", "weights.safetensors"):
            assert (tmp_path / "policies" / name / file).read_bytes() == (shipped.policy(name) / file).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_policy_with_such_layers_is_the_same_network_as_onnx(name: str) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install legato-rtc[onnx]")
    pytest.importorskip("onnx", reason="onnx is not installed: pip install legato-rtc[onnx]")
    from legato.policy import onnx_graph, policy_folder

    _, layers, tensors = policy_folder.read(shipped.policy(name))
    content = onnx_graph.model(layers, 150, tensors).SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    ours = policy(name)
    random = np.random.default_rng(4)
    for _ in range(20):
        seen = np.float32(random.normal(1, 1, 150))
        (expected,) = session.run(["outputs"], {"observation": seen.reshape(1, 150)})
        assert ours.outputs(seen) == pytest.approx(list(expected.reshape(-1)), abs=2e-4)
