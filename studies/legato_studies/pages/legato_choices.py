"""Writes studies/notebooks/legato-choices.md: `legato` with one parameter changed at a time, against `gcc`.

    python -m legato_studies.pages legato_choices [--windows N]

Links are live windows of a minute of every second file of each family, the ones that `legato` was tuned on; the others
are for docs/measured/rivals.md. Delays and stalls are ratios, the former geometric means over calls paired by link and
clip.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from legato.links import LEGATO, TUNED, files, live_windows, spread
from legato.plan import Choice, shipped
from legato.report.pages import Section
from legato.results.query import columns
from legato.runs.sweep import sweep
from legato_studies.page import Found, Options, Page
from legato_studies.pages.gcc_profiles import PER_FILE, WINDOW_S

BASE = "gcc"
CLIPS = ("asl-sister", "camera")
CHOICES = {
    "as it is": "",
    "no skipping": "max_skips=0",
    "four skips in a row": "max_skips=4",
    "shorter memory 80 ms": "fast_memory_ms=80",
    "shorter memory 250 ms": "fast_memory_ms=250",
    "longer memory 400 ms": "slow_memory_ms=400",
    "longer memory 1,500 ms": "slow_memory_ms=1500",
    "pacing at 1.5 times the capacity": "pacing_ratio=1.5",
    "pacing at 5 times": "pacing_ratio=5",
    "one memory, of 150 ms": "slow_memory_ms=150",
    "small frames not extrapolated": "max_stretch_ratio=1",
    "nothing given up for the backlog": "drain_ms=10000",
    "no frame budget, no skipping": "frame_budget_ms=1000,max_skips=0",
    "frame budget 38 ms": "frame_budget_ms=38",
    "frame budget 60 ms": "frame_budget_ms=60",
    "utilisation 0.85": "utilisation_ratio=0.85",
}
P95, P98, STALLS, SSIM, GOODPUT = FIGURES = (
    "viewed_delay_p95_ms", "viewed_delay_p98_ms", "stall_ratio", "viewed_ssim_db_mean", "goodput_bps",
)  # fmt: skip


def tuned_on(most: int) -> list[str]:
    """Windows of every second file, at most so many of a family."""
    links = []
    for family in sorted(shipped.trace_families()):
        tuned = LEGATO.of(files(family), TUNED)
        links += spread([window for file in tuned for window in spread(live_windows(file), PER_FILE)], most)
    return links


def called(links: list[str]) -> dict[str, np.ndarray]:
    """Figures by controller, a row per call, in the same order of calls."""
    specs = [BASE, *(f"legato@{changed}{',' * bool(changed)}label={name}" for name, changed in CHOICES.items())]
    made = Choice(
        "cellular",
        options={"duration_s": float(WINDOW_S)},
        controllers=[spec if spec == BASE else spec.replace("label=", 'label="') + '"' for spec in specs],
        traces=links,
        clips=[str(shipped.profile(clip)) for clip in CLIPS],
        log="summary",
    ).plan()
    with tempfile.TemporaryDirectory() as folder:
        return columns(sweep(made, Path(folder) / "run").folder, FIGURES)


def row(name: str, own: np.ndarray, base: np.ndarray) -> list[str]:
    """A line of the table."""
    delays = np.exp(np.nanmean(np.log(own[:, :2] / base[:, :2]), axis=0))
    stalls, goodput = (np.nanmean(own[:, at]) / np.nanmean(base[:, at]) for at in (2, 4))
    ssim = np.nanmean(own[:, 3] - base[:, 3])
    return [name, f"{delays[0]:.2f}", f"{delays[1]:.2f}", f"{stalls:.2f}", f"{ssim:+.2f}", f"{goodput:.2f}"]


def play(options: Options) -> Found:
    """Every choice on the same windows."""
    links = tuned_on(options.windows)
    found = called(links)
    rows = [row(name, found[name], found[BASE]) for name in CHOICES]
    columns = ["", "p95", "p98", "stalls", "SSIM, dB", "goodput"]
    return Found({"windows": len(links), "choices": Section("", columns=columns, rows=rows)})


PAGE = Page(
    "legato-choices",
    play,
    {"--windows": {"default": 10, "help": "at most as many of each family"}},
    folder="studies/notebooks",
)
