"""Types of the native module. A test holds this file to the module."""

from os import PathLike
from typing import Any, final

import numpy as np
import numpy.typing as npt

def version() -> str:
    """The version of the crates, "0.1.0"."""

def controllers() -> list[dict[str, Any]]:
    """Every controller, by name: `name`, `side`, `summary`, `cites`, `defaults_toml`."""

def load_trace(path: str, format: str | None = None) -> Trace:
    """The trace in a file; `path#part` where it holds several, the longest without a part."""

def load_traces(path: str, format: str | None = None) -> list[Trace]:
    """Every trace in a file, at least one."""

@final
class Trace:
    """The recorded capacity of a link."""

    @property
    def name(self) -> str:
        """The file's name without folders and `.gz`, with `#part` where the file holds several."""
    @property
    def family(self) -> str:
        """The data set it is of, or else its format."""
    @property
    def format(self) -> str:
        """How the file is written."""
    @property
    def duration_s(self) -> float:
        """How long it lasts."""
    @property
    def mean_rate_bps(self) -> int:
        """Its mean rate."""
    def rates(self, interval_s: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Times in s and mean rates in bit/s over the `interval_s` from each."""
    def save(self, path: str | PathLike[str]) -> None:
        """Write it as CSV, `time_s,rate_bps`."""
