"""`make bench`: how fast calls are simulated, as bench.json.

    python benches/bench.py SPEED_PROGRAM OUT [--calls N] [--sweep-calls N] [--rows N]

Figures are per CPU-second of one core, the best of three, so that a busy machine says nearly the same:

sim_realtime_x            seconds of call simulated: benches/call_2500kbps.toml, GCC, 2.5 Mbit/s, 30 fps, measured clip
sim_packets_per_cpu_s     packets of the forward path in the same
sim_instructions_per_sim_s  callgrind's count for one second of it; null without valgrind
sim_with_tcp_realtime_x   seconds of benches/call_and_tcp.toml: a call and a TCP flow on one link
sim_with_tcp_instructions_per_sim_s  callgrind's count for one second of that
session_1000_flows_cost_ratio  callgrind's count for a packet in a session of a call and 999 UDP flows, over that in a
                          session of a call and 9; null without valgrind
env_step_instructions     callgrind's count for one decision of the environment below, without Python
calls_per_cpu_s           one-minute calls of a sweep, written to Parquet (log = summary)
sweep_peak_memory_mb      of the process that made them
decision_us_*             microseconds of one decision of a learned controller, half of them took no longer: the
                          networks of crates/control/examples/decision_speed.rs
legato_feedback_us        microseconds of `legato` for feedback on 16 packets, and its requests for memory per frame:
                          crates/controllers/examples/feedback_cost.rs; docs/measured/cost.md has all controllers
env_steps_per_cpu_s       decisions of 50 ms that 256 calls of legato.envs.CallVectorEnv make, from Python and with its
                          reward: NVC-CC's networks, its stand-in codec at 720 rows, answers that track the capacity
train_nvc_cc_s            wall seconds of `legato train nvc-cc`, 720,000 steps from the command line to the policy
report_*                  a report's tables over a million rows, as benches/report_million.py says
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CALL = ROOT / "benches" / "call_2500kbps.toml"
CALL_AND_TCP = ROOT / "benches" / "call_and_tcp.toml"
CLIP = ROOT / "profiles" / "foreman.safetensors"
REPEATS = 3
SESSION = """
name = "session"
duration_s = {duration_s}
controller = {{ name = "gcc" }}
limits = {{ min_bps = 150_000, start_bps = 300_000, max_bps = 300_000 }}
video = {{ clip = "{clip}" }}
forward = {{ propagation_ms = 25.0, capacity = {{ constant_bps = {capacity_bps} }}, queue = {{ limit_ms = 300.0 }} }}
reverse = {{ propagation_ms = 25.0 }}
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("speed", type=Path, help="the example `speed` of legato-sim, built in release mode")
    parser.add_argument("out", type=Path)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--sweep-calls", type=int, default=3000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    alone, packets = realtime_x(options.speed, CALL, options.calls)
    with_tcp, _ = realtime_x(options.speed, CALL_AND_TCP, options.calls)
    figures = {
        "sim_realtime_x": alone,
        "sim_packets_per_cpu_s": packets,
        "sim_instructions_per_sim_s": instructions(options.speed, CALL),
        "sim_with_tcp_realtime_x": with_tcp,
        "sim_with_tcp_instructions_per_sim_s": instructions(options.speed, CALL_AND_TCP),
        "session_1000_flows_cost_ratio": session_cost_ratio(options.speed),
        "env_step_instructions": environment_instructions(options.speed.with_name("episode_speed")),
        **sweep(options.sweep_calls),
        "env_steps_per_cpu_s": environment(),
        "train_nvc_cc_s": training(),
        **decisions(options.speed.with_name("decision_speed")),
        **feedback(options.speed.with_name("feedback_cost")),
        **report(options.rows),
    }
    text = json.dumps(figures, indent=2)
    options.out.write_text(text + "\n", encoding="utf-8")
    print(text)


def realtime_x(speed: Path, scenario: Path, runs: int) -> tuple[int, int]:
    """How many seconds of a scenario, and how many packets, a CPU-second makes."""
    best_cpu_s, packets = float("inf"), 0
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        said = run([speed, scenario, str(runs), CLIP])
        best_cpu_s = min(best_cpu_s, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
        packets = int(re.search(r"(\d+) packets", said)[1])
    return round(runs * 60.0 / best_cpu_s), round(packets / best_cpu_s)


def instructions(speed: Path, scenario: Path) -> int | None:
    """Of a simulated second: the difference of a longer and a shorter run, so that loading counts for nothing."""
    if shutil.which("valgrind") is None:
        return None
    short, long = (counted([speed, scenario, calls, CLIP])[0] for calls in (1, 3))
    return round((long - short) / (2 * 60))


def session_cost_ratio(speed: Path) -> float | None:
    """The cost of a packet among many flows over its cost among few: the same load for each flow."""
    if shutil.which("valgrind") is None:
        return None
    cost = []
    for flows, duration_s in ((10, 100), (1_000, 2)):
        with tempfile.TemporaryDirectory() as scratch:
            scenario = Path(scratch) / "session.toml"
            scenario.write_text(SESSION.format(clip=CLIP, duration_s=duration_s, capacity_bps=flows * 350_000))
            with scenario.open("a") as text:
                text.write("[[udp]]\nconfig = { rate_bps = 300_000 }\n" * (flows - 1))
            runs = [counted([speed, scenario, calls, CLIP]) for calls in (1, 3)]
        packets = [int(re.search(r"(\d+) packets", said)[1]) for _, said in runs]
        cost.append((runs[1][0] - runs[0][0]) / (packets[1] - packets[0]))
    return round(cost[1] / cost[0], 2)


def environment_instructions(episode_speed: Path, calls: int = 32) -> int | None:
    if shutil.which("valgrind") is None:
        return None
    short, long = (counted([episode_speed, CLIP, calls, steps])[0] for steps in (100, 300))
    return round((long - short) / (200 * calls))


def counted(command: list[object]) -> tuple[int, str]:
    """Callgrind's count of a program's instructions, and what the program prints."""
    with tempfile.TemporaryDirectory() as scratch:
        said = run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch}/out", *command], both=True)
    return int(re.search(r"Collected : (\d+)", said)[1]), said


def sweep(calls: int) -> dict[str, float]:
    """In a separate process: its CPU time and memory are the sweep's."""
    program = (
        "import json, resource, sys, legato\n"
        "calls, out, clip = int(sys.argv[1]), sys.argv[2], sys.argv[3]\n"
        "before = resource.getrusage(resource.RUSAGE_SELF)\n"
        "legato.run('steady', out=out, clips=[clip], seeds=calls, log='summary')\n"
        "after = resource.getrusage(resource.RUSAGE_SELF)\n"
        "cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime\n"
        "print(json.dumps([cpu_s, after.ru_maxrss / 1024]))\n"
    )
    with tempfile.TemporaryDirectory() as scratch:
        cpu_s, memory_mb = json.loads(run([sys.executable, "-c", program, str(calls), f"{scratch}/run", CLIP]))
    return {"calls_per_cpu_s": round(calls / cpu_s), "sweep_peak_memory_mb": round(memory_mb)}


def environment(calls: int = 256, steps: int = 400) -> int:
    """Answers that hold the rate near the capacity: what a trained policy's calls cost, not idle ones."""
    program = (
        "import resource, sys, numpy as np\n"
        "from legato.envs import CallVectorEnv\n"
        "n, steps = int(sys.argv[1]), int(sys.argv[2])\n"
        "options = {'video.encoder': 'grace_standin', 'video.decoder': 'loss_tolerant', 'video.standin_height': 720,\n"
        "  'receiver.min_feedback_interval_ms': 50, 'receiver.max_feedback_interval_ms': 50}\n"
        "calls = CallVectorEnv(n, 'drawn', 'nvc-cc', 'nvc-cc', options=options, duration_s=30, threads=1)\n"
        "calls.reset(seed=1)\n"
        "answers = np.zeros(n, np.float32)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF)\n"
        "for _ in range(steps):\n"
        "    calls.step(answers)\n"
        "    wanted = calls.intervals['true_capacity_bps'] * np.float32(0.9)\n"
        "    answers = np.clip(wanted / calls.intervals['target_bitrate_bps'] - 1, -0.1, 0.1)\n"
        "after = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(n * steps / (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))\n"
    )
    return round(max(float(run([sys.executable, "-c", program, str(calls), str(steps)])) for _ in range(REPEATS)))


def training() -> float | None:
    """End to end; absent without torch."""
    if importlib.util.find_spec("torch") is None:
        return None
    with tempfile.TemporaryDirectory() as scratch:
        begun = time.monotonic()
        program = "from legato.cli import main; main()"
        run([sys.executable, "-c", program, "train", "nvc-cc", "--out", f"{scratch}/run"])
        return round(time.monotonic() - begun, 1)


def decisions(program: Path) -> dict[str, float]:
    """Of the best of three, as everything here."""
    runs = [json.loads(run([program])) for _ in range(REPEATS)]
    return {f"decision_us_{name}": min(run[name]["p50_us"] for run in runs) for name in runs[0]}


def feedback(program: Path) -> dict[str, float]:
    """What `legato` costs for a frame's feedback."""
    own = next(row for row in json.loads(run([program])) if row["controller"] == "legato")
    return {"legato_feedback_us": own["feedback_ns"] / 1000, "legato_allocations": own["allocations"]}


def report(rows: int) -> dict[str, Any]:
    return json.loads(run([sys.executable, ROOT / "benches" / "report_million.py", "--rows", str(rows)]))


def run(command: list[Any], *, both: bool = False) -> str:
    error = subprocess.STDOUT if both else None
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=error, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    main()
