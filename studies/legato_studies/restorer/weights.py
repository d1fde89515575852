"""The network as a file: its shape and weights in safetensors, checked before anything is built from them.

The graph that runs is written here, node by node, from the shape: a file brings numbers and no operators. Layers are
convolutions with a ReLU after each but the last, which gives a cell's weights of the bases and its memory.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from legato.errors import Error
from legato_studies.restorer.frames import BASES, side_planes

FORMAT = 1
HEADER = "legato_restorer"
LARGEST_BYTES = 8 << 20
MOST_LAYERS = 16
MOST_CHANNELS = 256
MOST_WEIGHT = 1.0
"""The largest weight of a basis."""
NEAR = 4.0
"""Differences of a pixel from its surroundings are limited to so many units of four steps."""


class RestorerError(Error):
    """An invalid network: not safetensors, another shape, numbers that are not finite."""


SHIPPED = Path(__file__).parent / "small.safetensors"

Weights = dict[str, npt.NDArray[np.float32]]


@dataclass(frozen=True)
class Shape:
    """What the network is made of."""

    cell: int
    """Luma pixels of a cell's side, 4 or 8: the convolutions see a vector per cell."""
    memory: int
    """Numbers of a cell that the next frame gets, in addition to the correction."""
    layers: tuple[tuple[int, int], ...]
    """Kernel (1 or 3) and channels of each layer but the last, whose kernel is 1."""

    def __post_init__(self) -> None:
        if self.cell not in (4, 8):
            raise RestorerError(f"cell = {self.cell}: must be 4 or 8")
        if not 1 <= self.memory <= MOST_CHANNELS:
            raise RestorerError(f"memory = {self.memory}: must be 1 to {MOST_CHANNELS}")
        if not 1 <= len(self.layers) < MOST_LAYERS:
            raise RestorerError(f"layers = {len(self.layers)}: must be 1 to {MOST_LAYERS - 1}")
        for kernel, channels in self.layers:
            if kernel not in (1, 3) or not 1 <= channels <= MOST_CHANNELS:
                raise RestorerError(f"layer ({kernel}, {channels}): kernel 1 or 3, channels 1 to {MOST_CHANNELS}")

    @property
    def inputs(self) -> int:
        """Channels of the first layer: pixels against their surroundings, the carried correction, brightness, sides,
        memory."""
        return 2 * self.cell**2 + 1 + side_planes(self.cell) + self.memory

    def convolutions(self) -> list[tuple[int, int, int]]:
        """Kernel, channels in and channels out of every layer."""
        found, before = [], self.inputs
        for kernel, channels in (*self.layers, (1, BASES + self.memory)):
            found.append((kernel, before, channels))
            before = channels
        return found

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor by its name."""
        found: dict[str, tuple[int, ...]] = {}
        for index, (kernel, before, channels) in enumerate(self.convolutions()):
            found[f"{index}.weight"] = (channels, before, kernel, kernel)
            found[f"{index}.bias"] = (channels,)
        return found


def write(path: Path, shape: Shape, weights: Weights) -> None:
    """Write a network, weights in half precision."""
    from safetensors.numpy import save

    from legato import atomic

    header = json.dumps({"format": FORMAT, "cell": shape.cell, "memory": shape.memory, "layers": shape.layers})
    halves = {name: np.ascontiguousarray(value, np.float16) for name, value in weights.items()}
    atomic.write_bytes(path, save(halves, {HEADER: header}))


def read(path: Path) -> tuple[Shape, Weights]:
    """A network from a file; refuses what :func:`write` would not write, and numbers that are not finite."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise RestorerError("the learned stage needs safetensors", hint="pip install 'legato-rtc[onnx]'") from None

    try:
        size = path.stat().st_size
    except OSError as error:
        raise RestorerError(f"{path}: {error.strerror}") from None
    if size > LARGEST_BYTES:
        raise RestorerError(f"{path}: {size} bytes, more than {LARGEST_BYTES} are not read")
    try:
        with safe_open(path, framework="np") as file:
            shape = _shape(path, (file.metadata() or {}).get(HEADER))
            wanted, names = shape.tensors(), set(file.keys())
            if names != set(wanted):
                raise RestorerError(
                    f"{path}: tensors {', '.join(sorted(names ^ set(wanted))[:4])}: not those of its shape"
                )
            weights = {name: _tensor(path, name, file.get_tensor(name), wanted[name]) for name in sorted(names)}
    except (OSError, SafetensorError) as error:
        raise RestorerError(f"{path}: not safetensors: {error}") from None
    return shape, weights


def _shape(path: Path, header: str | None) -> Shape:
    try:
        found = json.loads(header or "")
        if found["format"] != FORMAT:
            raise RestorerError(f"{path}: format = {found['format']}: must be {FORMAT}")
        layers = tuple((int(kernel), int(channels)) for kernel, channels in found["layers"])
        return Shape(int(found["cell"]), int(found["memory"]), layers)
    except (KeyError, TypeError, ValueError, RecursionError):
        raise RestorerError(f"{path}: no header {HEADER} with format, cell, memory and layers") from None
    except RestorerError as error:
        raise error if str(error).startswith(str(path)) else RestorerError(f"{path}: {error}") from None


def _tensor(path: Path, name: str, value: npt.NDArray[Any], wanted: tuple[int, ...]) -> npt.NDArray[np.float32]:
    if value.dtype != np.float16 or value.shape != wanted:
        raise RestorerError(f"{path}: {name}: {value.dtype} {value.shape}, must be float16 {wanted}")
    if not np.isfinite(value).all():
        raise RestorerError(f"{path}: {name}: holds numbers that are not finite")
    return value.astype(np.float32)


def graph(shape: Shape, weights: Weights) -> bytes:
    """The network as ONNX.

    Inputs: ``luma`` and ``carried`` (1, 1, H, W), where white is one; ``scale`` (1, 1, H / cell, W / cell), the unit of
    :func:`legato_studies.restorer.frames.scale`; ``state`` (1, sides + memory, H / cell, W / cell). Outputs:
    ``weights`` of the bases and ``memory``, per cell.
    """
    from onnx import TensorProto, checker, helper, numpy_helper

    nodes = [
        helper.make_node("SpaceToDepth", ["luma"], ["luma_cells"], blocksize=shape.cell),
        helper.make_node("SpaceToDepth", ["carried"], ["carried_cells"], blocksize=shape.cell),
        helper.make_node("ReduceMean", ["luma_cells"], ["means"], axes=[1], keepdims=1),
        helper.make_node("AveragePool", ["means"], ["around"], kernel_shape=[3, 3], pads=[1] * 4, count_include_pad=0),
        helper.make_node("Mul", ["scale", "four"], ["unit"]),
        helper.make_node("Sub", ["luma_cells", "around"], ["differences"]),
        helper.make_node("Div", ["differences", "unit"], ["differences_in_units"]),
        helper.make_node("Clip", ["differences_in_units", "lowest", "highest"], ["near"]),
        helper.make_node("Div", ["carried_cells", "scale"], ["carried_in_steps"]),
        helper.make_node("Sub", ["around", "half"], ["brightness"]),
        helper.make_node("Concat", ["near", "carried_in_steps", "brightness", "state"], ["all"], axis=1),
    ]
    value, convolutions = "all", shape.convolutions()
    for index, (kernel, _, _) in enumerate(convolutions):
        names = [value, f"{index}.weight", f"{index}.bias"]
        nodes.append(helper.make_node("Conv", names, [f"{index}"], pads=[kernel // 2] * 4))
        value = f"{index}"
        if index + 1 < len(convolutions):
            nodes.append(helper.make_node("Relu", [value], [f"{index}.relu"]))
            value = f"{index}.relu"
    nodes += [
        helper.make_node("Tanh", [value], ["bounded"]),
        helper.make_node("Split", ["bounded", "parts"], ["shares", "memory"], axis=1),
        helper.make_node("Mul", ["shares", "most"], ["weights"]),
    ]
    parts = np.array([BASES, shape.memory], np.int64)
    initializers = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    initializers.append(numpy_helper.from_array(parts, "parts"))
    for name, number in (("four", 4.0), ("lowest", -NEAR), ("highest", NEAR), ("half", 0.5), ("most", MOST_WEIGHT)):
        initializers.append(numpy_helper.from_array(np.array(number, np.float32), name))
    cells: list[str | int | None] = ["rows", "columns"]
    one: list[str | int | None] = [1, 1]
    picture = [*one, "height", "width"]
    state: list[str | int | None] = [1, side_planes(shape.cell) + shape.memory, *cells]
    whole = helper.make_graph(
        nodes,
        "restorer",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
            for name, dims in (("luma", picture), ("carried", picture), ("scale", [*one, *cells]), ("state", state))
        ],
        [
            helper.make_tensor_value_info("weights", TensorProto.FLOAT, [1, BASES, *cells]),
            helper.make_tensor_value_info("memory", TensorProto.FLOAT, [1, shape.memory, *cells]),
        ],
        initializers,
    )
    made = helper.make_model(whole, producer_name="legato", opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 9
    checker.check_model(made, full_check=True)
    return bytes(made.SerializeToString())
