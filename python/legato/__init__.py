"""Rate control for real-time video: simulate, train, judge, call.

The commands of the command line are functions::

    import legato

    run = legato.compare(
        ["fixed", "gcc"], traces=["data/traces/nyc-lte"], clips=["foreman"], seeds=3, out="runs/lte"
    )
    for call in run.summary():
        print(call["controller"], call["ssim_db_mean"], call["viewed_delay_p95_ms"])
    legato.write_report([run.folder], "runs/lte/report.html")

What needs more than one function has a module: ``legato.conformance``, ``legato.envs``, ``legato.gap``,
``legato.profile``, ``legato.report``, ``legato.train``. Each is imported on first use.

Errors are subclasses of :class:`legato.Error`; each names the file, the key and the value at fault.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from legato.errors import (
    CallError,
    ControllerError,
    DataWarning,
    Error,
    PolicyError,
    ProfileError,
    RunFolderError,
    ScenarioError,
    TraceError,
    TrainingError,
)

if TYPE_CHECKING:
    from legato._core import Policy, Trace, controllers
    from legato.call.calls import link, real_calls
    from legato.plan.traces import load_trace
    from legato.report.report import write_report
    from legato.runs.replay import replay
    from legato.runs.rtp_log import rtp_log
    from legato.runs.run import compare, run

_MODULES = ("conformance", "envs", "gap", "profile", "report", "train")
_HOMES = {
    **dict.fromkeys(("Policy", "Trace", "controllers"), "_core"),
    **dict.fromkeys(("link", "real_calls"), "call.calls"),
    "load_trace": "plan.traces",
    "write_report": "report.report",
    "replay": "runs.replay",
    "rtp_log": "runs.rtp_log",
    **dict.fromkeys(("compare", "run"), "runs.run"),
}


def __getattr__(name: str) -> Any:
    # Imported on first use: `legato --help` need not wait for duckdb.
    if name == "__version__":
        return importlib.import_module("legato._core").version()
    if name in _HOMES:
        return getattr(importlib.import_module(f"legato.{_HOMES[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"legato.{name}")
    raise AttributeError(f"module 'legato' has no attribute '{name}'")


__all__ = [
    "CallError",
    "ControllerError",
    "DataWarning",
    "Error",
    "Policy",
    "PolicyError",
    "ProfileError",
    "RunFolderError",
    "ScenarioError",
    "Trace",
    "TraceError",
    "TrainingError",
    "compare",
    "controllers",
    "link",
    "load_trace",
    "real_calls",
    "replay",
    "rtp_log",
    "run",
    "write_report",
]
