"""Writes docs/gcc-profiles.md: `gcc` with the profile `low-delay` against `m150` on live links of every shipped family.

    python -m legato_studies.pages gcc_profiles [--windows N]

Links are windows of a minute of recorded traces, slowed to a mean of at most 1.25 Mbit/s, in which no second carries
less than 50 kbit/s. The profile was tuned on the training windows of `legato.access_networks`; files that these are of
are left out here, and so are the clips of training.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
from numpy.typing import NDArray

from legato import _core, access_networks
from legato.access_networks import MEAN_BPS, TEST_CLIPS, spread
from legato.plan import make, shipped
from legato.results.query import parts
from legato.runs.sweep import sweep

PAGE = Path(__file__).resolve().parents[3] / "docs" / "gcc-profiles.md"
WINDOW_S = 60
LIVE_BPS = 50e3
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
HEAD = """# Two profiles of `gcc`

Written by `python -m legato_studies.pages gcc_profiles`.
`gcc@profile=low-delay` against `gcc` (`profile=m150`, libwebrtc's numbers)
on {links} live links: windows of a minute of every shipped family of traces, slowed to a mean of at most 1.25 Mbit/s,
in which no second carries less than 50 kbit/s; scenario `cellular` otherwise; clips
{clips}. The profile was tuned on the training windows of 3G, 4G and Wi-Fi
(`legato.access_networks`), with other clips and the OpenH264 model: none of those files is on this page, and of `fcc`,
`nyu-mets`, `starlink-mobile` and `ucc-5g` none was ever tuned to.

Calls are paired by link and clip. Delays are those of every captured frame until something as new is on screen
(`viewed_delay_p95_ms`), means over calls in ms, and their ratio is the geometric mean over pairs; stalls are the share
of the call in gaps of more than 200 ms between pictures, and their ratio is that of the means. A link that pauses for
200 ms stalls every sender, so that the ratio of stalls cannot reach zero. SSIM is of what was on screen, for every
captured frame (`viewed_ssim_db_mean`), and frames not shown are a share of those captured.
"""

Array = NDArray[np.float64]


class Pairs(NamedTuple):
    """Figures of both profiles, call by call."""

    baseline: Mapping[str, Array]
    tuned: Mapping[str, Array]

    def ratio(self, figure: str) -> float:
        """Geometric mean over calls in which both are known."""
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
def live_windows(family: str, most: int = WINDOWS) -> tuple[str, ...]:
    """Trace specs of a family's live windows, spread over its files; without files that training has seen."""
    specs: list[str] = []
    for path in sorted(trace.path for trace in shipped.traces() if trace.family == family):
        access = access_networks.access_of(family, path.name)
        if access is None or path in access_networks.files(access, "test"):
            specs += spread(windows_of(path), PER_FILE)
    return tuple(spread(specs, most))


def windows_of(path: Path) -> list[str]:
    """Its live windows of a minute, as trace specs."""
    trace = _core.load_trace(str(path))
    scale = min(1.0, MEAN_BPS / trace.mean_rate_bps)
    _, rates = trace.rates(1.0)
    specs = []
    for start_s in range(0, int(trace.duration_s), WINDOW_S):
        end_s = min(start_s + WINDOW_S, int(trace.duration_s))
        if end_s - start_s < WINDOW_S / 2 or rates[start_s:end_s].min() * scale < LIVE_BPS:
            continue
        specs.append(f"{path}@scale={scale:.4g},start_s={start_s},duration_s={end_s - start_s}")
    return specs


def play(
    links: Sequence[str], encoder: Mapping[str, object], clips: Sequence[str], duration_s: float = WINDOW_S
) -> Pairs:
    """Both profiles on all links with all clips."""
    made = make(
        "cellular",
        options={**encoder, "duration_s": duration_s},
        controller_specs=[f"gcc@profile={profile},label={profile}" for profile in (BASELINE, TUNED)],
        trace_specs=links,
        clip_specs=[str(shipped.profile(clip)) for clip in clips],
        log="summary",
    )
    with tempfile.TemporaryDirectory() as folder:
        files = [str(path) for path in parts(sweep(made, Path(folder) / "run").folder, "summary")]
        columns = ", ".join(FIGURES)
        found = {
            profile: duckdb.execute(
                f"SELECT {columns} FROM read_parquet(?) WHERE controller = ? ORDER BY trace, clip, seed",
                [files, profile],
            ).fetchnumpy()
            for profile in (BASELINE, TUNED)
        }
    baseline, tuned = (
        {figure: np.ma.filled(np.ma.asarray(found[profile][figure], dtype=np.float64), np.nan) for figure in FIGURES}
        for profile in (BASELINE, TUNED)
    )
    return Pairs(baseline, tuned)


def row(name: str, pairs: Pairs) -> str:
    """A line of the table."""

    def means(figure: str, scale: float, digits: int) -> str:
        old, new = (scale * float(np.nanmean(table[figure])) for table in (pairs.baseline, pairs.tuned))
        return f"{old:.{digits}f} → {new:.{digits}f}"

    stalls = pairs.ratio_of_means("stall_ratio")
    cells = (
        name,
        str(len(pairs.baseline["stall_ratio"])),
        means("viewed_delay_p95_ms", 1, 0),
        f"{pairs.ratio('viewed_delay_p95_ms'):.2f}",
        means("viewed_delay_p98_ms", 1, 0),
        f"{pairs.ratio('viewed_delay_p98_ms'):.2f}",
        means("stall_ratio", 100, 2),
        "-" if np.isnan(stalls) else f"{stalls:.2f}",
        means("viewed_ssim_db_mean", 1, 2),
        f"{pairs.difference('viewed_ssim_db_mean'):+.2f}",
        means("goodput_bps", 1e-3, 0),
        means("frame_drop_ratio", 100, 1),
    )
    return "| " + " | ".join(cells) + " |\n"


TABLE = (
    "| family | calls | p95 (ms) | ratio | p98 (ms) | ratio | stalls (%) | ratio | viewed SSIM (dB) | difference "
    "| goodput (kbit/s) | not shown (%) |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--windows", type=int, default=WINDOWS, help="at most as many of each family")
    most = parser.parse_args().windows
    families = sorted({trace.family for trace in shipped.traces()})
    links = {family: live_windows(family, most) for family in families}
    text = HEAD.format(links=sum(map(len, links.values())), clips=", ".join(f"`{clip}`" for clip in TEST_CLIPS))
    for name, encoder in ENCODERS.items():
        found = {family: play(links[family], encoder, TEST_CLIPS) for family in families if links[family]}
        rows = [row(f"`{family}`", pairs) for family, pairs in found.items()]
        text += f"\n## {name}\n\n{TABLE}" + "".join([*rows, row("**all**", Pairs.of(found.values()))])
        print(f"{name}: done", flush=True)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
