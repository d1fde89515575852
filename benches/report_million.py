"""Times the aggregate part of a report over a million summary rows, and its memory.

    python benches/report_million.py [--rows N] [--calls-per-part N] [--keep DIR]

Writes a run folder of three controllers on made-up figures (nothing is simulated: only the reading is timed), then
prints one JSON object. It has the seconds of `summarise` as the best of five in a warm file cache (wall, and CPU of all
threads), the seconds of the whole HTML file, and the peak of this process's memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import duckdb

from legato import report

CONTROLLERS = ("fixed", "gcc", "oracle")


def write_folder(folder: Path, rows: int, calls_per_part: int) -> None:
    conditions = rows // len(CONTROLLERS)
    calls = conditions * len(CONTROLLERS)
    (folder / "summary").mkdir(parents=True)
    manifest = {
        "format": 1, "legato": "bench", "kind": "sweep", "log": "summary", "calls": calls,
        "calls_per_part": calls_per_part, "duration_s": 60.0, "scenario": "million", "controllers": CONTROLLERS,
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))
    figures = ", ".join(
        # Spread like real figures: a trace's own level, a call's own deviation; one in a thousand absent.
        "CASE WHEN random() < 0.001 THEN NULL "
        f"ELSE {level} * (1 + 0.3 * sin(c // 1000) + 0.2 * random()) END AS {column}"
        for level, column in enumerate(report.METRICS, start=1)
    )
    database = duckdb.connect()
    database.execute("SELECT setseed(0.5)")
    for part, first in enumerate(range(0, calls, calls_per_part)):
        last = min(first + calls_per_part, calls)
        database.execute(
            f"COPY (SELECT i::UBIGINT AS call, 'million' AS scenario, "
            f"{list(CONTROLLERS)}[1 + i // {conditions}] AS controller, 'trace_' || (c // 1000) AS trace, "
            "'family_' || (c // 1000 % 5) AS trace_family, 'clip_' || (c // 100 % 10) AS clip, "
            f"'x264' AS encoder, 'strict' AS decoder, (c % 100)::UBIGINT AS seed, 60.0 AS duration_s, {figures} "
            f"FROM (SELECT i, i % {conditions} AS c FROM range({first}, {last}) t(i))) "
            f"TO '{folder}/summary/{part:05}.parquet' (FORMAT parquet, COMPRESSION zstd)"
        )


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--calls-per-part", type=int, default=10_000)
    arguments.add_argument("--keep", type=Path, help="use this folder, and write it only if it is not there")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="legato-bench-") as scratch:
        folder = chosen.keep or Path(scratch) / "run"
        if not folder.exists():
            write_folder(folder, chosen.rows, chosen.calls_per_part)
        before = peak_mib()
        seconds, cpu_seconds = [], []
        for _ in range(5):
            started, cpu_started = time.perf_counter(), time.process_time()
            summary = report.summarise([folder])
            seconds.append(time.perf_counter() - started)
            cpu_seconds.append(time.process_time() - cpu_started)
        after = peak_mib()
        started = time.perf_counter()
        page = report.write([folder], Path(scratch) / "report.html")
        figures = {
            "report_summary_rows": summary.calls_found,
            "report_summarise_s": round(min(seconds), 3),
            "report_summarise_median_s": round(sorted(seconds)[2], 3),
            "report_summarise_cpu_s": round(min(cpu_seconds), 3),
            "report_summarise_peak_mib": round(after),
            "report_before_peak_mib": round(before),
            "report_write_s": round(time.perf_counter() - started, 3),
            "report_write_peak_mib": round(peak_mib()),
            "report_html_bytes": page.stat().st_size,
        }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
