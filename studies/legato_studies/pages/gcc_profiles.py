"""Writes docs/measured/gcc-profiles.md: `gcc` with the profile `low-delay` against `m150` on live links of every
shipped family.

    python -m legato_studies.pages gcc_profiles [--windows N]

Links are windows of a minute of recorded traces, slowed to a mean of at most 1.25 Mbit/s, in which no second carries
less than 50 kbit/s. The profile was tuned on the training windows of `legato.links`; files that these are of
are left out here, and so are the clips of training.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from legato.links import HELD_OUT, access_networks, files, live_windows, spread
from legato.links.access_networks import TEST_CLIPS
from legato.plan import Choice, shipped
from legato.report.pages import Section
from legato.results.query import columns
from legato.runs.sweep import sweep
from legato_studies.page import Found, Options, Page

WINDOW_S = 60
WINDOWS = 24
"""At most as many of a family, at most `PER_FILE` of a file."""
PER_FILE = 4
BASELINE, TUNED = "m150", "low-delay"
ENCODERS: Mapping[str, Mapping[str, object]] = {
    "OpenH264": {"video.encoder": "openh264"},
    "x264 with a rate buffer of 100 ms": {"video.encoder": "x264", "video.vbv_ms": 100},
}
"""Encoders as calls have them."""
FIGURES = (
    "viewed_delay_p95_ms", "viewed_delay_p98_ms", "stall_ratio", "viewed_ssim_db_mean", "goodput_bps",
    "frame_drop_ratio",
)  # fmt: skip
Array = NDArray[np.float64]


class Pairs(NamedTuple):
    """Figures of both profiles, call by call."""

    baseline: Mapping[str, Array]
    tuned: Mapping[str, Array]

    def ratio(self, figure: str) -> float:
        """Geometric mean over calls that have both."""
        logs = np.log(self.tuned[figure] / self.baseline[figure])
        return float(np.exp(np.mean(logs[np.isfinite(logs)])))

    def ratio_of_means(self, figure: str) -> float:
        """Tuned over baseline; NaN if the baseline's mean is zero."""
        mean = float(np.mean(self.baseline[figure]))
        return float(np.mean(self.tuned[figure])) / mean if mean else float("nan")

    def difference(self, figure: str) -> float:
        """The mean over calls of tuned minus baseline."""
        return float(np.nanmean(self.tuned[figure] - self.baseline[figure]))

    @classmethod
    def of(cls, several: Iterable[Pairs]) -> Pairs:
        """All calls of several."""
        every = list(several)
        return cls(
            {figure: np.concatenate([pairs.baseline[figure] for pairs in every]) for figure in FIGURES},
            {figure: np.concatenate([pairs.tuned[figure] for pairs in every]) for figure in FIGURES},
        )


@cache
def sampled(family: str, most: int = WINDOWS) -> tuple[str, ...]:
    """Trace specs of a family's live windows, spread over its files; without files that training has seen."""
    specs: list[str] = []
    for path in files(family):
        access = access_networks.access_of(family, path.name)
        if access is None or path in access_networks.files(access, HELD_OUT):
            specs += spread(live_windows(path), PER_FILE)
    return tuple(spread(specs, most))


def called(
    links: Sequence[str], encoder: Mapping[str, object], clips: Sequence[str], duration_s: float = WINDOW_S
) -> Pairs:
    """Both profiles on all links with all clips."""
    made = Choice(
        "cellular",
        options={**encoder, "duration_s": duration_s},
        controllers=[f"gcc@profile={profile},label={profile}" for profile in (BASELINE, TUNED)],
        traces=links,
        clips=[str(shipped.profile(clip)) for clip in clips],
        log="summary",
    ).plan()
    with tempfile.TemporaryDirectory() as folder:
        found = columns(sweep(made, Path(folder) / "run").folder, FIGURES)
    baseline, tuned = (dict(zip(FIGURES, found[profile].T, strict=True)) for profile in (BASELINE, TUNED))
    return Pairs(baseline, tuned)


def figures(named: Mapping[str, Pairs], title: str) -> Section:
    """A row per family."""

    def means(figure: str, scale: float, digits: int) -> Callable[[str], str]:
        def shown(name: str) -> str:
            pairs = named[name]
            old, new = (scale * float(np.nanmean(table[figure])) for table in (pairs.baseline, pairs.tuned))
            return f"{old:.{digits}f} → {new:.{digits}f}"

        return shown

    def stalls(name: str) -> str:
        ratio = named[name].ratio_of_means("stall_ratio")
        return "-" if np.isnan(ratio) else f"{ratio:.2f}"

    columns = (
        ("family", str),
        ("calls", lambda name: str(len(named[name].baseline["stall_ratio"]))),
        ("p95 (ms)", means("viewed_delay_p95_ms", 1, 0)),
        ("ratio", lambda name: f"{named[name].ratio('viewed_delay_p95_ms'):.2f}"),
        ("p98 (ms)", means("viewed_delay_p98_ms", 1, 0)),
        ("ratio", lambda name: f"{named[name].ratio('viewed_delay_p98_ms'):.2f}"),
        ("stalls (%)", means("stall_ratio", 100, 2)),
        ("ratio", stalls),
        ("viewed SSIM (dB)", means("viewed_ssim_db_mean", 1, 2)),
        ("difference", lambda name: f"{named[name].difference('viewed_ssim_db_mean'):+.2f}"),
        ("goodput (kbit/s)", means("goodput_bps", 1e-3, 0)),
        ("not shown (%)", means("frame_drop_ratio", 100, 1)),
    )
    rows = [[cell(name) for _, cell in columns] for name in named]
    return Section(title, columns=[column for column, _ in columns], rows=rows)


def play(options: Options) -> Found:
    """Both profiles with both encoders on every family."""
    families = sorted(shipped.trace_families())
    links = {family: sampled(family, options.windows) for family in families}
    facts = {"links": sum(map(len, links.values())), "clips": ", ".join(f"`{clip}`" for clip in TEST_CLIPS)}
    sections = []
    for name, encoder in ENCODERS.items():
        found = {f"`{family}`": called(links[family], encoder, TEST_CLIPS) for family in families if links[family]}
        sections.append(figures({**found, "**all**": Pairs.of(found.values())}, name))
        print(f"{name}: done", flush=True)
    return Found({**facts, "sections": sections})


PAGE = Page("gcc-profiles", play, {"--windows": {"default": WINDOWS, "help": "at most as many of each family"}})
