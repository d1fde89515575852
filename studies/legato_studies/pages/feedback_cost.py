"""Writes docs/cost.md: what each controller costs for a frame of 16 packets and its feedback.

    cargo build --release -p legato-controllers --example feedback_cost
    python -m legato_studies.pages feedback_cost [PROGRAM]

Times are of this machine; instructions, which callgrind counts, hardly depend on it, and are left out without valgrind.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "cost.md"
PROGRAM = ROOT / "target" / "release" / "examples" / "feedback_cost"
FRAMES = 900
"""Of one replay, as in the program."""
MOST_NS = 2_000
OWN = "legato"
HEAD = """# What a controller costs

Written by `python -m legato_studies.pages feedback_cost`,
which runs `crates/controllers/examples/feedback_cost.rs`: half a minute of
frames of 16 packets every 33 ms, with feedback on each frame, replayed in one thread with all in the cache; what
`fixed` costs, which does nothing, is taken off. *Feedback* is the feedback on 16 packets alone, with the decision that
is read after it; *frame* is all that a controller at the sender gets of a frame. Times are the best of 200 rounds on
{processor}; instructions per frame are callgrind's, and depend on the machine less. *Allocations* are requests for
memory per frame once warm; a test asks for none of any controller
(`crates/controllers/tests/feedback_allocates_nothing.rs`). Learned controllers are without their networks, which
`crates/control/examples/decision_speed.rs` measures.

Asked of `legato`: at most 2 microseconds per feedback and no allocation:
**{verdict}**.

"""


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, nargs="?", default=PROGRAM, help="the built example")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page [default: docs/cost.md]")
    options = parser.parse_args()
    if not options.program.is_file():
        raise SystemExit(
            f"feedback_cost: {options.program}: is not built: "
            "cargo build --release -p legato-controllers --example feedback_cost"
        )
    rows = json.loads(subprocess.run([options.program], capture_output=True, encoding="utf-8", check=True).stdout)
    idle = instructions(options.program, "fixed")
    lines = ["| controller | feedback, ns | frame, ns | instructions per frame | allocations per frame |"]
    lines += ["|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: row["frame_ns"]):
        counted = instructions(options.program, row["controller"])
        count = "" if counted is None or idle is None else f"{counted - idle:.0f}"
        name = f"`{row['controller']}`" + (", without its network" if row["learned"] else "")
        times = f"{row['feedback_ns']:.0f} | {max(row['frame_ns'], 0):.0f}"
        lines.append(f"| {name} | {times} | {count} | {row['allocations']:.3f} |")
    own = next(row for row in rows if row["controller"] == OWN)
    met = own["feedback_ns"] <= MOST_NS and own["allocations"] == 0
    figures = f"{own['feedback_ns'] / 1000:.2f} microseconds, {own['allocations']:g} allocations"
    head = HEAD.format(processor=processor(), verdict=f"{'met' if met else 'not met'}, {figures}")
    options.page.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


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
    return int(re.search(r"Collected : (\d+)", said)[1])


def processor() -> str:
    """What the machine calls itself."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "an unnamed processor"


if __name__ == "__main__":
    main()
