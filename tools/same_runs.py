"""Says whether a change of the code changed a run: hashes of the run folders of some 200 short calls.

    python3 tools/same_runs.py            compare with the kept hashes; status 1 if any differs
    python3 tools/same_runs.py --write    keep the hashes as they are now

Every controller plays every scenario of tests/runs, with all tables; and learned controllers are steered through
environments of one call and of several. The kept hashes are tests/runs/hashes.txt: one line a table of a run. A change
that is meant to change figures writes them anew in a separate commit and says why.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from legato.conformance.contestants import playable

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "tests" / "runs"
KEPT = RUNS / "hashes.txt"
STEERED = ("nvc-cc", "r3net", "clcc", "concerto")
STEPS = 60
ASKED = ("plan.json", "repeat.json")
"""The request and its origin; the tables are the result."""


def run_hashes(scenario: Path, names: list[str]) -> Iterator[tuple[str, str]]:
    """Each table of each controller's run of a scenario, with its hash."""
    from legato.errors import Error
    from legato.plan import Choice
    from legato.runs.sweep import sweep

    for name in names:
        plan = Choice(scenario, controllers=[name], log="packets").plan()
        with tempfile.TemporaryDirectory() as place:
            try:
                sweep(plan, Path(place) / "run", threads=1)
            except Error:
                yield f"{scenario.stem}/{name}", "refused"
                continue
            for path in sorted((Path(place) / "run").rglob("*")):
                if path.is_file() and path.name not in ASKED:
                    table = path.relative_to(Path(place) / "run")
                    yield f"{scenario.stem}/{name}/{table}", _digest(_without_commit(path))


def _without_commit(path: Path) -> bytes:
    if path.name != "manifest.json":
        return path.read_bytes()
    manifest = json.loads(path.read_text(encoding="utf-8"))
    del manifest["commit"]
    return json.dumps(manifest).encode()


def steered_hashes() -> Iterator[tuple[str, str]]:
    """What environments show and pay, for actions that do not depend on them."""
    import numpy as np

    from legato.envs import CallVectorEnv
    from legato.envs.shared_env import SharedCallsEnv

    for name in STEERED:
        for scenario in ("drop_tail_x264", "codel_ccfb", "broad"):
            env = CallVectorEnv(
                3, RUNS / f"{scenario}.toml", name, "aurora", options={"controller.name": name}, duration_s=4.0
            )
            digest = hashlib.sha256(env.reset(seed=1)[0].tobytes())
            for step in range(STEPS):
                actions = np.stack([_action(env.single_action_space, step)] * env.num_envs)
                observations, rewards, _, truncated, _ = env.step(actions)
                for array in (observations, rewards, truncated, env.intervals.rows):
                    digest.update(np.ascontiguousarray(array).tobytes())
            yield f"{scenario}/{name}/environment", digest.hexdigest()[:16]
        options = {"controller.name": name}
        shared = SharedCallsEnv(RUNS / "shared.toml", name, "aurora", options=options, duration_s=6.0)
        digest = hashlib.sha256(repr(sorted(shared.reset(seed=1)[0])).encode())
        for step in range(STEPS):
            if not shared.agents:
                break
            each = {agent: _action(shared.action_space(agent), step) for agent in shared.agents}
            seen, paid, _, truncations, _ = shared.step(each)
            for agent in sorted(seen):
                digest.update(np.ascontiguousarray(seen[agent]).tobytes())
                digest.update(repr((agent, float(paid[agent]), truncations[agent])).encode())
        yield f"shared/{name}/environment", digest.hexdigest()[:16]


def _action(space: Any, step: int) -> Any:
    """One that moves through the whole space."""
    import numpy as np

    share = (step * 7 % 20) / 20
    if hasattr(space, "n"):
        return np.int64(space.n * share)
    return (space.low + (space.high - space.low) * share).astype(np.float32)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def hashes() -> dict[str, str]:
    """All of them, by their subject."""
    found: dict[str, str] = {}
    names = playable()
    for scenario in sorted(RUNS.glob("*.toml")):
        found.update(run_hashes(scenario, names))
        print(f"{len(found)} tables, {scenario.stem}", file=sys.stderr)
    found.update(steered_hashes())
    return found


def differences(kept: dict[str, str], now: dict[str, str]) -> list[str]:
    """One line for each that is not as it was kept."""
    lines = [f"{name}: is gone" for name in kept if name not in now]
    lines += [f"{name}: is new" for name in now if name not in kept]
    lines += [f"{name}: differs" for name in kept if name in now and kept[name] != now[name]]
    return sorted(lines)


def main(arguments: list[str]) -> int:
    """Compare, or with ``--write`` keep."""
    if arguments not in ([], ["--write"]):
        print(__doc__, file=sys.stderr)
        return 2
    os.chdir(ROOT)  # a plan has paths relative to where it is made
    now = hashes()
    if arguments:
        KEPT.write_text("".join(f"{digest}  {name}\n" for name, digest in now.items()), encoding="utf-8")
        return 0
    lines = (line.split("  ", 1) for line in KEPT.read_text(encoding="utf-8").splitlines())
    kept = {name: digest for digest, name in lines if not name.endswith(ASKED)}
    found = differences(kept, now)
    runs = {name.rsplit("/", 1)[0] if name.endswith("environment") else "/".join(name.split("/")[:2]) for name in now}
    print("\n".join([*found, f"{len(now)} tables of {len(runs)} runs, {len(found)} differ"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
