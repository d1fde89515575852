"""A trained policy as files: policy.toml and weights.safetensors. Missing: ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w
from safetensors.torch import save_file
from torch import Tensor


def write(
    folder: Path, manifest: Mapping[str, Any], layers: Sequence[Mapping[str, Any]], tensors: Mapping[str, Tensor]
) -> None:
    """Write a policy.

    Args:
        folder: made if absent.
        manifest: ``controller``, ``observation``, ``action``, and ``trained``, as in policy.toml.
        layers: the layer table.
        tensors: the weights by ``layer.tensor``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    save_file({n: t.detach().clone().contiguous() for n, t in tensors.items()}, folder / "weights.safetensors")
    whole = {"format": 1, **{k: v for k, v in manifest.items() if k != "trained"}}
    whole["network"] = {"weights": "weights.safetensors", "layers": [dict(layer) for layer in layers]}
    if "trained" in manifest:
        whole["trained"] = dict(manifest["trained"])
    (folder / "policy.toml").write_text(tomli_w.dumps(whole), encoding="utf-8")


__all__ = ["write"]
