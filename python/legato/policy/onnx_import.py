"""An ONNX model as a policy: its graph is converted to a layer table.

The native engine runs every policy, so a model from elsewhere is as fast in a sweep as one trained here and gives the
same bits on every machine. Supported are dense layers (``Gemm``; ``MatMul`` and ``Add``), one-step ``GRU``, ``Conv``
with strides of one, their activations, and operations that only move values. A conversion is accepted only if the
native engine's outputs equal onnxruntime's, to 1e-5, on random observations over several steps.

The model's first input is ``(batch, F)``, followed by one state if it has memory; its first output is the policy's. Not
supported: LSTMs, attention, strides, and any other arithmetic.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from legato import _core
from legato.errors import PolicyError
from legato.policy import need, policy_folder

Array = npt.NDArray[np.float32]

TOLERANCE = 1e-5
MAX_BYTES = 128 << 20
_STEPS = 10
_ACTIVATIONS = {"LeakyRelu": "leaky_relu", "Relu": "relu", "Sigmoid": "sigmoid", "Softmax": "softmax", "Tanh": "tanh"}
# Operations that keep the values of an observation in order.
_MOVES = {"Cast", "Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}


def convert(model: Path, like: Mapping[str, Any], out: Path) -> list[dict[str, Any]]:
    """Write a policy folder equivalent to an ONNX model; returns its layer table.

    Args:
        model: the ONNX file.
        like: the manifest of a policy for the same controller: ``controller``, ``observation``, ``action``.
        out: the folder to write.
    """
    try:
        if model.stat().st_size > MAX_BYTES:
            raise PolicyError(f"{model}: {model.stat().st_size} bytes, the maximum is {MAX_BYTES}")
        content = model.read_bytes()
    except OSError as error:
        raise PolicyError(f"{model}: {error.strerror}") from None
    need("onnx", "onnxruntime", "safetensors")
    observed = like["observation"]
    inputs = len(observed["features"]) * observed["history"] * observed.get("width", 1)
    layers, tensors = read(content, inputs, str(model))
    manifest = {**{key: like[key] for key in ("controller", "observation", "action")}, "trained": {"from": model.name}}
    text, weights = policy_folder.packed(manifest, layers, tensors)
    _compare(content, _core.Policy(text, weights, str(model)), inputs, str(model))
    policy_folder.write(out, manifest, layers, tensors)
    return layers


def read(content: bytes, inputs: int, file: str) -> tuple[list[dict[str, Any]], dict[str, Array]]:
    """The layer table and the weights of a model.

    Args:
        content: of the file.
        inputs: values of an observation.
        file: names it in errors.
    """
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load_model_from_string(content)
        onnx.checker.check_model(model)
    except (DecodeError, onnx.checker.ValidationError) as error:
        raise PolicyError(f"{file}: not an ONNX model ({str(error).splitlines()[0][:80]})") from None
    reader = _Reader(model.graph, inputs, file)
    for node in model.graph.node:
        reader.take(node)
    return reader.table(model.graph.output[0].name), reader.tensors


@dataclasses.dataclass(frozen=True)
class _Value:
    """Values of one observation: pieces of layers behind each other, and their shape without the batch."""

    pieces: tuple[tuple[str, int, int], ...]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return sum(end - start for _, start, end in self.pieces)


class _Reader:
    def __init__(self, graph: Any, inputs: int, file: str) -> None:
        from onnx import numpy_helper

        self.file = file
        self.constants: dict[str, npt.NDArray[Any]] = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self.layers: dict[str, dict[str, Any]] = {}
        self.sizes: dict[str, int] = {"observation": inputs}
        self.tensors: dict[str, Array] = {}
        self.values: dict[str, _Value] = {}
        takes = [value.name for value in graph.input if value.name not in self.constants]
        if not takes:
            raise PolicyError(f"{file}: the model takes no input")
        self.values[takes[0]] = _Value((("observation", 0, inputs),), (inputs,))
        # Parts of states say nothing here: every GRU begins from its own.
        self.states = set(takes[1:])

    def take(self, node: Any) -> None:
        """One node, in the order of the graph, which is one that can be computed."""
        from onnx import helper

        kind, attributes = node.op_type, {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if kind == "Constant":
            self._constant(node, attributes)
        elif any(name in self.states for name in node.input) and kind != "GRU":
            self.states.update(node.output)
        elif kind in _ACTIVATIONS:
            self._activation(node, attributes)
        elif kind in _MOVES or kind in self._READERS:
            read: Callable[[_Reader, Any, dict[str, Any]], None] = self._READERS.get(kind, _Reader._move)
            read(self, node, attributes)
        else:
            raise self.refused(node, "is not among what can be read")

    def refused(self, node: Any, why: str) -> PolicyError:
        return PolicyError(f"{self.file}: node {node.name or node.output[0]!r}: {node.op_type} {why}")

    def table(self, output: str) -> list[dict[str, Any]]:
        """The layers in order, the output's last."""
        value = self.values.get(output)
        name = value.pieces[0][0] if value is not None and len(value.pieces) == 1 else ""
        if value is None or name not in self.layers or value.size != self.sizes[name] or list(self.layers)[-1] != name:
            raise PolicyError(f"{self.file}: output {output}: not what the last layer gives")
        return list(self.layers.values())

    def _value(self, node: Any, index: int = 0) -> _Value:
        name = node.input[index]
        if name not in self.values:
            raise self.refused(node, f"takes {name!r}, which does not come from the observation")
        return self.values[name]

    def _weight(self, node: Any, index: int) -> npt.NDArray[Any]:
        if index >= len(node.input) or node.input[index] not in self.constants:
            raise self.refused(node, f"has no constant as input {index}")
        return self.constants[node.input[index]]

    def _layer(self, node: Any, kind: str, value: _Value, shape: tuple[int, ...], **more: Any) -> str:
        """A layer more, named after its kind, that gives values of `shape`."""
        size = math.prod(shape)
        name = f"{kind}{len(self.layers) + 1}"
        sources = [n if (a, b) == (0, self.sizes[n]) else f"{n}[{a}:{b}]" for n, a, b in value.pieces]
        self.layers[name] = {"name": name, "kind": kind, "from": sources, **more, "activation": "linear"}
        self.sizes[name] = size
        for output in node.output:
            if output:
                self.values[output] = _Value(((name, 0, size),), shape)
        return name

    def _keep(self, name: str, **tensors: npt.NDArray[Any]) -> None:
        for tensor, values in tensors.items():
            self.tensors[f"{name}.{tensor}"] = np.ascontiguousarray(values, dtype=np.float32)

    def _constant(self, node: Any, attributes: Mapping[str, Any]) -> None:
        from onnx import numpy_helper

        value = attributes.get("value")
        if value is not None:
            self.constants[node.output[0]] = numpy_helper.to_array(value)
        else:
            numbers = next(iter(attributes.values()))
            self.constants[node.output[0]] = np.asarray(numbers)

    def _move(self, node: Any, attributes: Mapping[str, Any]) -> None:
        if node.input[0] in self.constants:
            self._move_constant(node)
            return
        value = self._value(node)
        shape: tuple[int, ...] = (value.size,)
        if node.op_type == "Reshape":
            shape = tuple(int(side) for side in self._weight(node, 1))[1:] or shape
            known = math.prod(side for side in shape if side > 0)
            shape = tuple(side if side > 0 else value.size // known for side in shape)
        elif node.op_type in ("Cast", "Dropout", "Identity"):
            shape = value.shape
        self.values[node.output[0]] = _Value(value.pieces, shape)

    def _move_constant(self, node: Any) -> None:
        if node.op_type != "Identity":
            raise self.refused(node, "of a constant: fold constants before exporting")
        self.constants[node.output[0]] = self.constants[node.input[0]]

    def _gemm(self, node: Any, attributes: Mapping[str, Any]) -> None:
        if attributes.get("transA") or attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0:
            raise self.refused(node, "with transA, alpha or beta")
        weight = self._weight(node, 1)
        self._dense(node, weight if attributes.get("transB") else weight.T)
        if len(node.input) > 2:
            self._bias(node, self.values[node.output[0]], self._weight(node, 2))

    def _matmul(self, node: Any, attributes: Mapping[str, Any]) -> None:
        self._dense(node, self._weight(node, 1).T)

    def _dense(self, node: Any, weight: npt.NDArray[Any]) -> None:
        value, (outputs, inputs) = self._value(node), weight.shape
        name = self._layer(node, "dense", value, (outputs,), inputs=inputs, outputs=outputs)
        self._keep(name, weight=weight, bias=np.zeros(outputs))

    def _add(self, node: Any, attributes: Mapping[str, Any]) -> None:
        which = 0 if node.input[0] in self.values else 1
        value = self._value(node, which)
        self._bias(node, value, self._weight(node, 1 - which))
        self.values[node.output[0]] = value

    def _bias(self, node: Any, value: _Value, bias: npt.NDArray[Any]) -> None:
        name = self._whole(node, value)
        own = self.tensors.get(f"{name}.bias")
        if own is None or bias.size != own.size:
            raise self.refused(node, "adds to something else than a layer's sums")
        self._keep(name, bias=own + bias.reshape(-1))

    def _whole(self, node: Any, value: _Value) -> str:
        """The layer that is all of a value and has no activation yet."""
        name, start, end = value.pieces[0]
        whole = len(value.pieces) == 1 and name in self.layers and (start, end) == (0, self.sizes[name])
        read_before = any(source.split("[")[0] == name for layer in self.layers.values() for source in layer["from"])
        if not whole or read_before or self.layers[name]["activation"] != "linear":
            raise self.refused(node, "does not follow a layer of its own")
        return name

    def _activation(self, node: Any, attributes: Mapping[str, Any]) -> None:
        value = self._value(node)
        layer = self.layers[self._whole(node, value)]
        layer["activation"] = _ACTIVATIONS[node.op_type]
        if node.op_type == "LeakyRelu":
            layer["slope"] = float(attributes.get("alpha", 0.01))
        self.values[node.output[0]] = value

    def _gru(self, node: Any, attributes: Mapping[str, Any]) -> None:
        unusual = attributes.keys() & {"activations", "clip", "activation_alpha", "activation_beta"}
        direction = attributes.get("direction", b"forward")
        if unusual or direction != b"forward" or attributes.get("linear_before_reset", 0) != 1:
            raise self.refused(node, "other than torch's: forward, linear_before_reset = 1")
        size, value = attributes["hidden_size"], self._value(node)
        weight, of_state = self._weight(node, 1)[0], self._weight(node, 2)[0]
        bias = self._weight(node, 3)[0] if len(node.input) > 3 and node.input[3] else np.zeros(6 * size)
        name = self._layer(node, "gru", value, (size,), inputs=weight.shape[1], outputs=size)

        def ordered(gates: npt.NDArray[Any]) -> npt.NDArray[Any]:
            update, reset, new = np.split(gates, 3)
            return np.concatenate((reset, update, new))

        tensors = {"weight_ih": weight, "weight_hh": of_state, "bias_ih": bias[: 3 * size], "bias_hh": bias[3 * size :]}
        self._keep(name, **{tensor: ordered(gates) for tensor, gates in tensors.items()})

    def _conv(self, node: Any, attributes: Mapping[str, Any]) -> None:
        weight, value = self._weight(node, 1), self._value(node)
        filters, channels, *kernel = weight.shape
        pads = list(attributes.get("pads", [0] * 2 * len(kernel)))
        padding = pads[: len(kernel)]
        steps = {*attributes.get("strides", ()), *attributes.get("dilations", ()), attributes.get("group", 1)}
        if steps != {1} or padding * 2 != pads or attributes.get("auto_pad", b"NOTSET") != b"NOTSET":
            raise self.refused(node, "with strides, dilations, groups or uneven padding")
        if len(value.shape) != len(kernel) + 1 or value.shape[0] != channels:
            raise self.refused(node, f"of a picture of shape {list(value.shape)}")
        picture = value.shape[1:]
        places = [side + 2 * pad - k + 1 for side, pad, k in zip(picture, padding, kernel, strict=True)]
        if len(kernel) == 1:
            sizes: dict[str, Any] = {"length": picture[0], "kernel": kernel[0], "padding": padding[0]}
        else:
            sizes = {"height": picture[0], "width": picture[1], "kernel": kernel, "padding": padding}
        shape = (filters, *places)
        kind = f"conv{len(kernel)}d"
        name = self._layer(node, kind, value, shape, channels=channels, filters=filters, **sizes)
        bias = self._weight(node, 2) if len(node.input) > 2 else np.zeros(filters)
        self._keep(name, weight=weight, bias=bias)

    def _concat(self, node: Any, attributes: Mapping[str, Any]) -> None:
        values = [self._value(node, index) for index in range(len(node.input))]
        if attributes["axis"] != 1 and attributes["axis"] != -len(values[0].shape):
            raise self.refused(node, "along another axis than the first after the batch")
        pieces = tuple(piece for value in values for piece in value.pieces)
        shape = (sum(value.shape[0] for value in values), *values[0].shape[1:])
        self.values[node.output[0]] = _Value(pieces, shape)

    def _slice(self, node: Any, attributes: Mapping[str, Any]) -> None:
        value = self._value(node)
        start, end, axis = (int(self._weight(node, index).reshape(-1)[0]) for index in (1, 2, 3))
        step = int(self._weight(node, 4).reshape(-1)[0]) if len(node.input) > 4 else 1
        if len(value.pieces) != 1 or len(value.shape) != 1 or axis not in (1, -1) or step != 1:
            raise self.refused(node, "of something else than a row of values")
        start, end, _ = slice(start, end).indices(value.size)
        name, first, _ = value.pieces[0]
        self.values[node.output[0]] = _Value(((name, first + start, first + end),), (end - start,))

    _READERS: Mapping[str, Callable[..., None]] = {
        "Add": _add,
        "Concat": _concat,
        "Conv": _conv,
        "GRU": _gru,
        "Gemm": _gemm,
        "MatMul": _matmul,
        "Slice": _slice,
    }


def _compare(content: bytes, policy: _core.Policy, inputs: int, file: str) -> None:
    """Refuse a reading that does something else than the model."""
    import onnxruntime

    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    observation, *states = session.get_inputs()
    shapes = {state.name: [side if isinstance(side, int) else 1 for side in state.shape] for state in states}
    fed = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    random = np.random.default_rng(1)
    for step in range(_STEPS):
        seen = random.normal(size=inputs).astype(np.float32)
        expected, *after = session.run(None, {observation.name: seen.reshape(1, inputs), **fed})
        fed = dict(zip(fed, after, strict=False))
        found = np.asarray(policy.outputs(seen))
        if expected.size != found.size or not np.allclose(found, expected.reshape(-1), rtol=0, atol=TOLERANCE):
            raise PolicyError(f"{file}: read as a policy, it gives other outputs than onnxruntime at step {step}")
