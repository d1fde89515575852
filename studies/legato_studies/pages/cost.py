"""Writes docs/measured/cost.md: what each controller costs for a frame of 16 packets and its feedback.

    cargo build --release -p legato-controllers --example feedback_cost
    python -m legato_studies.pages cost [PROGRAM]

Times are of this machine; instructions, which callgrind counts, hardly depend on it, and are left out without valgrind.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from legato_studies.page import ROOT, Found, Options, Page, table

PROGRAM = ROOT / "target" / "release" / "examples" / "feedback_cost"
FRAMES = 900
"""Of one replay, as in the program."""
MOST_NS = 2_000
OWN = "legato"


def play(options: Options) -> Found:
    """Run the program, and count its instructions."""
    program = options.program
    if not program.is_file():
        build = "cargo build --release -p legato-controllers --example feedback_cost"
        raise SystemExit(f"{program}: is not built: {build}")
    rows = json.loads(subprocess.run([program], capture_output=True, encoding="utf-8", check=True).stdout)
    idle = instructions(program, "fixed")
    counts = {row["controller"]: instructions(program, row["controller"]) or 0.0 for row in rows}
    columns = {
        "controller": lambda row: f"`{row['controller']}`" + (", without its network" if row["learned"] else ""),
        "feedback, ns": lambda row: f"{max(row['feedback_ns'], 0):.0f}",
        "frame, ns": lambda row: f"{max(row['frame_ns'], 0):.0f}",
        "instructions per frame": lambda row: "" if idle is None else f"{max(counts[row['controller']] - idle, 0):.0f}",
        "allocations per frame": lambda row: f"{row['allocations']:.3f}",
    }
    own = next(row for row in rows if row["controller"] == OWN)
    met = own["feedback_ns"] <= MOST_NS and own["allocations"] == 0
    figures = f"{own['feedback_ns'] / 1000:.2f} microseconds, {own['allocations']:g} allocations"
    facts = {"processor": processor(), "verdict": f"{'met' if met else 'not met'}, {figures}"}
    return Found({**facts, "costs": table(columns, sorted(rows, key=lambda row: row["frame_ns"]))})


def instructions(program: Path, name: str) -> float | None:
    """Of a frame: the difference of a longer and a shorter run, so that building counts for nothing."""
    if shutil.which("valgrind") is None:
        return None
    short, long = (callgrind([program, name, str(times)]) for times in (1, 3))
    return (long - short) / (2 * FRAMES)


def callgrind(command: list[str | Path]) -> int:
    """The instructions of a program."""
    with tempfile.TemporaryDirectory() as place:
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={place}/out"]
        said = subprocess.run([*tool, *command], capture_output=True, encoding="utf-8", check=True).stderr
    return int(said.partition("Collected : ")[2].split()[0])


def processor() -> str:
    """What the machine calls itself."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "an unnamed processor"


PAGE = Page("cost", play, {"--program": {"default": PROGRAM, "type": Path, "help": "the built example"}})
