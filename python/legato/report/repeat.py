"""The command line that makes a run again, put together from its plan."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from legato.report.run_folder import RunFolder


def command(run: RunFolder) -> str:
    """`legato compare` with the plan's lists, or `legato run` where the scenario's own were used.

    Values of the scenario that were changed on the command line are in the scenario's text, not here.
    """
    controllers, traces, clips = (_specs(run.plan.get(key)) for key in ("controllers", "traces", "clips"))
    seeds = [seed for seed in run.plan.get("seeds") or [] if isinstance(seed, int)]
    counted = seeds == list(range(1, len(seeds) + 1))
    scenario = _scenario(run)
    if controllers and counted:
        words = ["legato", "compare", "--scenario", scenario, "--controllers", ",".join(controllers)]
        for option, specs in (("--traces", traces), ("--clips", clips)):
            words += [option, ",".join(specs)] if specs else []
        words += ["--seeds", str(len(seeds))] if seeds else []
    else:
        words = ["legato", "run", scenario]
        words += [word for controller in controllers for word in ("--controller", controller)]
        words += [word for seed in seeds for word in ("--seed", str(seed))]
    return shlex.join([*words, "--out", f"{run.name}-again"])


def _scenario(run: RunFolder) -> str:
    path = run.plan.get("scenario_path")
    # A scenario that comes with Legato goes by its name, wherever it lay when it was run.
    if not isinstance(path, str) or PurePath(path).stem == run.scenario:
        return run.scenario
    return path


def _specs(entries: Any) -> list[str]:
    """`gcc`, or `fixed@target_bitrate_bps=800000`, as the command line takes them."""
    found = []
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            found.append(str(entry))
            continue
        name = entry.get("name", entry.get("path", ""))
        if "name" in entry:
            options = dict(_flat(entry.get("config") or {}))
            options |= {"label": entry["label"]} if entry.get("label") else {}
        else:
            options = {key: value for key, value in entry.items() if key != "path"}
        set_ = ",".join(f"{key}={_value(value)}" for key, value in options.items())
        found.append(f"{name}@{set_}" if set_ else str(name))
    return found


def _flat(table: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Tables within tables as dotted keys."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield above + key, value


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
