"""Converts the published estimators of the MMSys 2024 challenge, data/models/mmsys24/*.onnx, to policies.

    python3 tools/import_mmsys24.py            writes policies/mmsys24-baseline and policies/ten-tms

The two graphs are read node by node as they are; one of another shape is refused. The part before the first layer
becomes a `scale`: the observation of Legato has rates in Mbit/s and bytes in kB. The part behind the last tanh is the
action map (crates/control/src/action.rs). tests/python/test_mmsys24.py compares both with onnxruntime.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from legato.policy import policy_folder

ROOT = Path(__file__).resolve().parent.parent
FEATURES = (
    "receiver_rate", "packets", "bytes", "queuing_delay", "delay", "min_delay", "delay_ratio", "delay_above_min",
    "packet_interval", "packet_jitter", "loss_ratio", "loss_run", "video_share", "audio_share", "probing_share",
)  # fmt: skip
WIDTH = 10
UNITS = np.repeat([1e6, 1.0, 1e3, *[1.0] * 12], WIDTH)
"""What one of Legato's numbers is in those of the challenge."""

_BASELINE = (
    "Reshape Sub Identity Identity Mul Gemm Tanh Gemm Tanh Gemm Tanh Slice Add Mul Add Exp Mul Slice Min Max Sub"
)
_NORM = "ReduceMean Sub Pow ReduceMean Add Sqrt Div Mul Add LeakyRelu"
_HEAD = f"Gemm LeakyRelu Gemm {_NORM} Add Gemm"
_TMS = f"Squeeze Sub Div Mul Sub Clip Gemm {_NORM} Gemm {_NORM} Add Gemm {_NORM} {_HEAD} {_HEAD} Softmax"
Array = npt.NDArray[Any]


class Graph:
    """The nodes of a model, its constants, and the layers made so far."""

    def __init__(self, path: Path, kinds: str) -> None:
        graph = onnx.load(path).graph
        self.values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        constants = [node for node in graph.node if node.op_type == "Constant"]
        self.values |= {node.output[0]: numpy_helper.to_array(node.attribute[0].t) for node in constants}
        self.nodes = [node for node in graph.node if node.op_type != "Constant"]
        seen = " ".join(node.op_type for node in self.nodes)
        if not seen.startswith(kinds):
            raise SystemExit(f"{path}: nodes are {seen[: len(kinds)]!r}, not {kinds!r}")
        self.layers: list[dict[str, Any]] = []
        self.tensors: dict[str, Array] = {}

    def of(self, kind: str) -> list[Any]:
        """The nodes of a kind, in order."""
        return [node for node in self.nodes if node.op_type == kind]

    def constant(self, node: Any) -> Array:
        """The one input of a node that is a constant."""
        (name,) = (name for name in node.input if name in self.values)
        return self.values[name]

    def weights(self, gemm: Any) -> tuple[Array, Array]:
        """Matrix as [outputs][inputs], and bias."""
        weight = self.values[gemm.input[1]]
        transposed = any(attribute.name == "transB" and attribute.i for attribute in gemm.attribute)
        return (weight if transposed else weight.T), self.values[gemm.input[2]]

    def add(self, name: str, kind: str, source: list[str], sizes: dict[str, Any], **tensors: Array) -> None:
        """Append a layer."""
        self.layers.append({"name": name, "kind": kind, "from": source, **sizes})
        self.tensors |= {f"{name}.{tensor}": np.asarray(values, np.float32) for tensor, values in tensors.items()}

    def dense(
        self, name: str, source: list[str], gemm: Any, activation: str = "linear", rows: int | None = None
    ) -> None:
        """Append a matrix; with two sources it is applied to their sum."""
        weight, bias = self.weights(gemm)
        weight, bias = np.tile(weight[:rows], len(source)), bias[:rows]
        sizes = {"inputs": weight.shape[1], "outputs": weight.shape[0], "activation": activation}
        self.add(name, "dense", source, sizes, weight=weight, bias=bias)

    def scaled(self, offset: Array, factor: Array, activation: str) -> None:
        """Append the first layer, in Legato's units."""
        sizes = {"inputs": UNITS.size, "activation": activation}
        self.add("scaled", "scale", ["observation"], sizes, offset=offset / UNITS, factor=factor * UNITS)


def baseline(path: Path) -> Graph:
    """(obs - mean) / deviation, three matrices with tanh; of the two outputs the second, a deviation, is left out."""
    graph = Graph(path, _BASELINE)
    mean, inverse = (np.float64(graph.constant(graph.of(kind)[0])).reshape(-1) for kind in ("Sub", "Mul"))
    graph.scaled(mean, inverse, "linear")
    first, second, last = graph.of("Gemm")
    graph.dense("hidden1", ["scaled"], first, "tanh")
    graph.dense("hidden2", ["hidden1"], second, "tanh")
    graph.dense("out", ["hidden2"], last, "tanh", rows=1)
    return graph


def ten_tms(path: Path) -> Graph:
    """2 (obs - min) / range - 1 within [-1, 1]; normalised layers with shortcuts; five answers weighed by a softmax."""
    graph = Graph(path, _TMS)
    low, span = (np.float64(graph.constant(graph.of(kind)[0])).reshape(-1) for kind in ("Sub", "Div"))
    graph.scaled(low + span / 2, 2 / span, "hard_tanh")
    gemms = iter(graph.of("Gemm"))
    # A normalisation ends in the product with its weights and the sum with its bias.
    at = [place for place, node in enumerate(graph.nodes) if node.op_type == "Sqrt"]
    norms = iter([(graph.nodes[place + 2], graph.nodes[place + 3]) for place in at])

    def normed(name: str, source: list[str]) -> None:
        graph.dense(f"{name}_sum", source, next(gemms))
        weight, bias = (graph.constant(node) for node in next(norms))
        sizes = {"inputs": weight.size, "activation": "leaky_relu"}
        graph.add(name, "layer_norm", [f"{name}_sum"], sizes, weight=weight, bias=bias)

    normed("a", ["scaled"])
    normed("b", ["a"])
    normed("c", ["b", "a"])
    for head, activation in (("value", "linear"), ("share", "softmax")):
        graph.dense(f"{head}_in", ["c"], next(gemms), "leaky_relu")
        normed(f"{head}_block", [f"{head}_in"])
        graph.dense(head, [f"{head}_block", f"{head}_in"], next(gemms), activation)
    graph.add("out", "dot", ["value", "share"], {"inputs": 10, "activation": "tanh"})
    return graph


def main() -> None:
    """Convert both."""
    for name, read in (("mmsys24-baseline", baseline), ("ten-tms", ten_tms)):
        source = ROOT / "data" / "models" / "mmsys24" / f"{name}.onnx"
        graph = read(source)
        manifest = {
            "controller": name,
            "observation": {"features": list(FEATURES), "history": 1, "width": WIDTH},
            "action": {"map": name, "decide": "value", "range": [-1.0, 1.0]},
            "trained": {"published": f"data/models/mmsys24/{name}.onnx", "command": "python3 tools/import_mmsys24.py"},
        }
        policy_folder.write(ROOT / "policies" / name, manifest, graph.layers, graph.tensors, onnx=False)
        print(f"policies/{name}: {sum(tensor.size for tensor in graph.tensors.values())} weights")


if __name__ == "__main__":
    main()
