"""A trained policy as files: policy.toml, weights.safetensors and policy.onnx. Never pickle.

Legato runs the first two; the third is the same network for other programs. The native engine loads a policy before
it is written, so every policy folder can be loaded.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tomli_w

from legato import _core, atomic
from legato.errors import PolicyError
from legato.policy import need, onnx_graph
from legato.policy.layers import Layer

FORMAT = 1
MANIFEST, WEIGHTS, ONNX = "policy.toml", "weights.safetensors", "policy.onnx"


def write(
    folder: Path,
    manifest: Mapping[str, Any],
    layers: Sequence[Layer],
    tensors: Mapping[str, Any],
    *,
    onnx: bool = True,
) -> None:
    """Write a policy.

    Args:
        folder: created if absent; an earlier policy's files are replaced.
        manifest: ``controller``, ``observation``, ``action``, and ``trained``, as in policy.toml.
        layers: the layer table.
        tensors: the weights by ``layer.tensor``, torch's or numpy's.
        onnx: write policy.onnx too.
    """
    arrays = {name: _array(tensor) for name, tensor in tensors.items()}
    text, weights = packed(manifest, layers, arrays)
    loaded = _core.Policy(text, weights, str(folder / MANIFEST))
    files = {MANIFEST: text.encode(), WEIGHTS: weights}
    if onnx:
        files[ONNX] = onnx_graph.model(layers, loaded.inputs, arrays).SerializeToString()
    for name, content in files.items():
        atomic.write_bytes(folder / name, content)


def packed(
    manifest: Mapping[str, Any], layers: Sequence[Layer], tensors: Mapping[str, npt.NDArray[np.float32]]
) -> tuple[str, bytes]:
    """The text of policy.toml and the bytes of its weights.

    Args:
        manifest: ``controller``, ``observation``, ``action``, and ``trained``, as in policy.toml.
        layers: the layer table.
        tensors: the weights by ``layer.tensor``.
    """
    need("safetensors")
    from safetensors.numpy import save

    whole = {"format": FORMAT, **{key: value for key, value in manifest.items() if key not in ("format", "trained")}}
    whole["network"] = {"weights": WEIGHTS, "layers": [dict(layer) for layer in layers]}
    if "trained" in manifest:
        whole["trained"] = dict(manifest["trained"])
    return tomli_w.dumps(whole), save(dict(tensors))


def read(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, npt.NDArray[np.float32]]]:
    """Manifest (without ``network``), layer table and weights of a policy folder, checked by the native engine.

    Args:
        folder: with policy.toml and the weights it names.
    """
    path = folder / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
        manifest = tomllib.loads(text)
        weights = (folder / Path(str(manifest["network"]["weights"])).name).read_bytes()
        _core.Policy(text, weights, str(path))
    except OSError as error:
        raise PolicyError(f"{error.filename}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PolicyError(f"{path}: {error}") from None
    except (KeyError, TypeError):
        raise PolicyError(f"{path}: network.weights: missing") from None
    need("safetensors")
    from safetensors.numpy import load

    layers = manifest.pop("network")["layers"]
    return manifest, layers, load(weights)


def _array(tensor: Any) -> npt.NDArray[np.float32]:
    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu().numpy()
    return np.ascontiguousarray(tensor, dtype=np.float32)
