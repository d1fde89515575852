"""Trained policies as files: written, read, and converted from and to ONNX. Training itself is :mod:`legato.train`.

Needs no torch. Reading and writing folders needs safetensors, ONNX models need onnx and onnxruntime; all three are in
the extra ``pip install legato-rtc[onnx]``.
"""

from __future__ import annotations

from importlib.util import find_spec

from legato.errors import PolicyError


def need(*modules: str) -> None:
    """Refuse to go on without packages of the extra ``onnx``; an error names the first that is missing.

    Args:
        modules: names to import.
    """
    for module in modules:
        if find_spec(module) is None:
            missing = f"policy folders and ONNX models need {module}, which is not installed"
            raise PolicyError(missing, "pip install legato-rtc[onnx]")
