"""A policy as ONNX, written node by node from its layer table, without tracing.

Inputs are ``observation`` (batch, F) and, for networks with memory, ``hidden`` (batch, H): the states of all GRUs
concatenated. Outputs are ``outputs`` (batch, O) and ``hidden_after``. Weights keep the names they have in
the weights file, except a GRU's: ONNX orders its gates differently and has a dimension for directions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from legato.policy.layers import LAYER_NORM_EPSILON, LEAKY_SLOPE, Layer, outputs, pairs, picture, sources

if TYPE_CHECKING:
    import onnx

OPSET = 17
_IR_VERSION = 9  # as old as that opset: runtimes of recent years read it
_ACTIVATIONS = {
    "hard_tanh": "Clip",
    "leaky_relu": "LeakyRelu",
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "softmax": "Softmax",
    "tanh": "Tanh",
}

_OF_SCALE = ("offset", "factor")

Array = npt.NDArray[np.float32]


def model(layers: Sequence[Layer], inputs: int, tensors: Mapping[str, Array]) -> onnx.ModelProto:
    """The network of a layer table with its weights.

    Args:
        layers: as ``[[network.layers]]`` of policy.toml has them.
        inputs: values of an observation.
        tensors: the weights by ``layer.tensor``.
    """
    import onnx
    from onnx import TensorProto, helper

    graph = _Graph(tensors)
    state = sum(layer["outputs"] for layer in layers if layer["kind"] == "gru")
    begin, after = 0, []
    for layer in layers:
        x = graph.gathered(layer)
        if layer["kind"] == "dense":
            y = graph.node("Gemm", [x, *graph.weights(layer)], layer["name"], transB=1)
        elif layer["kind"] == "gru":
            before = graph.piece("hidden", slice(begin, begin + layer["outputs"]), layer["name"])
            begin += layer["outputs"]
            y = graph.gru(layer, x, before)
            after.append(y)
        elif layer["kind"] in _ELEMENTWISE:
            y = _ELEMENTWISE[layer["kind"]](graph, layer, x)
        else:
            y = graph.convolution(layer, x)
        graph.values[layer["name"]] = graph.activated(layer, y)
    graph.node("Identity", [graph.values[layers[-1]["name"]]], "", output="outputs")
    take = [("observation", inputs)]
    give = [("outputs", outputs(layers[-1]))]
    if state:
        graph.node("Concat", after, "", output="hidden_after", axis=1)
        take.append(("hidden", state))
        give.append(("hidden_after", state))
    takes, gives = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size]) for name, size in side]
        for side in (take, give)
    )
    whole = helper.make_graph(graph.nodes, "policy", takes, gives, initializer=graph.initializers)
    made = helper.make_model(whole, producer_name="legato", opset_imports=[helper.make_opsetid("", OPSET)])
    made.ir_version = _IR_VERSION
    onnx.checker.check_model(made, full_check=True)
    return made


class _Graph:
    """Nodes in order, and the value that each layer ends in."""

    def __init__(self, tensors: Mapping[str, Array]) -> None:
        self.tensors = tensors
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.values = {"observation": "observation"}

    def node(
        self, kind: str, inputs: Sequence[str], place: str, *, output: str | None = None, **attributes: Any
    ) -> str:
        from onnx import helper

        name = output or f"{place}/{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, name: str, values: npt.NDArray[Any]) -> str:
        from onnx import numpy_helper

        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def weights(self, layer: Layer) -> list[str]:
        names = [f"{layer['name']}.weight", f"{layer['name']}.bias"]
        return [self.constant(name, self.tensors[name]) for name in names]

    def piece(self, value: str, which: slice, place: str) -> str:
        if which == slice(None):
            return value
        ends = [
            self.constant(f"{place}/{what}_{len(self.nodes)}", np.array([end], np.int64))
            for what, end in (("start", which.start), ("end", which.stop), ("axis", 1))
        ]
        return self.node("Slice", [value, *ends], place)

    def gathered(self, layer: Layer) -> str:
        name = layer["name"]
        pieces = [self.piece(self.values[source], which, name) for source, which in sources(layer)]
        return pieces[0] if len(pieces) == 1 else self.node("Concat", pieces, name, axis=1)

    def shaped(self, value: str, shape: Sequence[int], place: str) -> str:
        """0 keeps a dimension, here the batch; -1 is inferred."""
        to = self.constant(f"{place}/shape_{len(self.nodes)}", np.array(shape, np.int64))
        return self.node("Reshape", [value, to], place)

    def gru(self, layer: Layer, x: str, before: str) -> str:
        """One step of a sequence of one. torch's gates r, z, n are ONNX's z, r, h."""
        name, size = layer["name"], layer["outputs"]

        def reordered(tensor: str) -> Array:
            reset, update, new = np.split(self.tensors[f"{name}.{tensor}"], 3)
            return np.concatenate((update, reset, new))[np.newaxis]

        weights = self.constant(f"{name}/W", reordered("weight_ih"))
        of_state = self.constant(f"{name}/R", reordered("weight_hh"))
        bias = np.concatenate((reordered("bias_ih"), reordered("bias_hh")), axis=1)
        biases = self.constant(f"{name}/B", bias)
        first = self.constant(f"{name}/first", np.array([0], np.int64))
        sequence = self.node("Unsqueeze", [x, first], name)
        state = self.node("Unsqueeze", [before, first], name)
        inputs = [sequence, weights, of_state, biases, "", state]
        steps = self.node("GRU", inputs, name, hidden_size=size, linear_before_reset=1)
        # (steps, directions, batch, size), of which the first two are one.
        both = self.constant(f"{name}/first_two", np.array([0, 1], np.int64))
        return self.node("Squeeze", [steps, both], name)

    def scale(self, layer: Layer, x: str) -> str:
        name = layer["name"]
        offset, factor = (self.constant(f"{name}.{which}", self.tensors[f"{name}.{which}"]) for which in _OF_SCALE)
        return self.node("Mul", [self.node("Sub", [x, offset], name), factor], name)

    def layer_norm(self, layer: Layer, x: str) -> str:
        epsilon = float(layer.get("epsilon", LAYER_NORM_EPSILON))
        return self.node("LayerNormalization", [x, *self.weights(layer)], layer["name"], axis=1, epsilon=epsilon)

    def dot(self, layer: Layer, x: str) -> str:
        name, half = layer["name"], layer["inputs"] // 2
        first, second = (self.piece(x, slice(start, start + half), name) for start in (0, half))
        axis = self.constant(f"{name}/axis_{len(self.nodes)}", np.array([1], np.int64))
        return self.node("ReduceSum", [self.node("Mul", [first, second], name), axis], name, keepdims=1)

    def convolution(self, layer: Layer, x: str) -> str:
        name = layer["name"]
        x = self.shaped(x, [0, *picture(layer)], name)
        _, padding = pairs(layer)
        y = self.node("Conv", [x, *self.weights(layer)], name, pads=padding * 2)
        return self.shaped(y, [0, -1], name)

    def activated(self, layer: Layer, value: str) -> str:
        activation = layer.get("activation", "linear")
        if activation == "linear":
            return value
        attributes: dict[str, Any] = {}
        if activation == "hard_tanh":
            name = layer["name"]
            ends = [self.constant(f"{name}/{end}", np.array(end, np.float32)) for end in (-1, 1)]
            return self.node("Clip", [value, *ends], name)
        if activation == "leaky_relu":
            attributes["alpha"] = float(layer.get("slope", LEAKY_SLOPE))
        elif activation == "softmax":
            attributes["axis"] = 1
        return self.node(_ACTIVATIONS[activation], [value], layer["name"], **attributes)


_ELEMENTWISE = {"dot": _Graph.dot, "layer_norm": _Graph.layer_norm, "scale": _Graph.scale}
