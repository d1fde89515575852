"""Types of the native module. A test holds this file to the module."""

from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

def version() -> str:
    """The version of the crates, "0.1.0"."""

def controllers() -> list[dict[str, Any]]:
    """Every controller, by name: `name`, `side`, `summary`, `cites`, `defaults_toml`."""
