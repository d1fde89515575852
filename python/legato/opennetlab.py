"""Estimators of AlphaRTC's interface, from a file: what the controller ``opennetlab`` runs in a call.

A file has a class ``Estimator`` without arguments and with two methods. ``report_states(stats)`` is called for each
packet that arrives, with a dictionary (``send_time_ms``, ``arrival_time_ms``, ``payload_type``, ``sequence_number``,
``ssrc``, ``padding_length``, ``header_length``, ``payload_size``). ``get_estimated_bandwidth()`` is called every 200 ms
and returns bit/s. The file is run: name only files that you trust.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

METHODS = ("report_states", "get_estimated_bandwidth")


def load(file: str) -> Any:
    """A new estimator of the class in ``file``.

    Args:
        file: a Python file; it can import modules of its folder.

    Raises:
        Exception: whatever the file raises; ``ValueError`` where it has no such class.
    """
    path = Path(file)
    if not path.is_file():
        raise ValueError("there is no such file")
    name = f"legato_opennetlab_{abs(hash(path.resolve()))}"
    module = sys.modules.get(name)
    if module is None:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ValueError("it is no Python file")
        module = importlib.util.module_from_spec(spec)
        beside = str(path.resolve().parent)
        sys.path.insert(0, beside)
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(beside)
        sys.modules[name] = module
    made = getattr(module, "Estimator", None)
    if made is None:
        raise ValueError("it has no class Estimator")
    estimator = made()
    for method in METHODS:
        if not callable(getattr(estimator, method, None)):
            raise ValueError(f"its Estimator has no method {method}")
    return estimator
