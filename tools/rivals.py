"""Writes docs/rivals.md: the newest published controllers beside those that were here, over the shipped families.

    python tools/rivals.py [--links N] [--duration SECONDS]

Every controller plays every live link (without a second below 50 kbit/s) of every family, with one clip and seed 1.
Figures are means over links with 95 % intervals; differences from `gcc` are taken link by link.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from legato import plan, shipped
from legato.eval.stats import of_separate_groups
from legato.published.nvc_cc_sweeps import FAMILIES as RECORDED
from legato.sweep import sweep

PAGE = Path(__file__).resolve().parents[1] / "docs" / "rivals.md"
FAMILIES = {**RECORDED, "hairpin": ("hairpin", 0.25)}
BASE = "gcc"
NEW = ("vidaptive", "ndtc", "camel", "pudica", "burst-rtc", "mmsys24-baseline", "ten-tms")
LOW_DELAY = "gcc@profile=low-delay,label=gcc-low-delay"
BESIDE = ("legato", LOW_DELAY, "r3net", "sqp", "salsify", "scream-v2", "clairvoyant")
AUDIBLE = (BASE, "r3net", "mmsys24-baseline", "ten-tms")
AUDIO = {"audio.bitrate_bps": 20_000}
CLIP = "foreman"


@dataclass(frozen=True)
class Measure:
    """A figure of the summary, and how it is shown."""

    column: str
    title: str
    scale: float
    digits: int
    larger_is_better: bool | None

    def text(self, value: float, sign: bool = False) -> str:
        """With its digits."""
        return f"{value * self.scale:{'+' if sign else ''}.{self.digits}f}"


MEASURES = (
    Measure("on_time_150ms_ratio", "on time, 150 ms, %", 100, 1, True),
    Measure("viewed_delay_p95_ms", "p95 delay, ms", 1, 0, False),
    Measure("viewed_delay_p98_ms", "p98 delay, ms", 1, 0, False),
    Measure("stall_ratio", "stalled, %", 100, 2, False),
    Measure("viewed_ssim_db_mean", "SSIM as viewed, dB", 1, 2, True),
    Measure("goodput_bps", "goodput, kbit/s", 1e-3, 0, True),
    Measure("utilisation_ratio", "utilisation, %", 100, 0, None),
    Measure("loss_ratio", "lost, %", 100, 2, False),
    Measure("padding_ratio", "padding, %", 100, 1, None),
)
BY_FAMILY = (MEASURES[1], MEASURES[3], MEASURES[4])

HEAD = """# The newest rivals beside the others

Written by `python tools/rivals.py`. `vidaptive` ([karimi2023]), `ndtc` ([draft-ageneau-ccwg-ndtc]), `camel`
([liu2026]), `pudica` ([wang2024]) and `burst-rtc` ([burstrtc2024]) are controllers published since 2023, implemented
from what of their texts was at hand; `mmsys24-baseline` and `ten-tms` are two published networks as they are
([khairy2024]). Parameters are those their texts print (`burst-rtc`'s are ours), and nothing was tuned to these links or
any other; so are those of the others, but for `gcc-low-delay`, a tuned profile ([gcc-profiles](gcc-profiles.md)), and
for `r3net`, whose training saw other links of the families Ethernet and cellular. [`legato`](legato.md), our own, was
tuned on every second file of each family; the links of this page are of the other files.

Means over the live links of at most {links} per family, with 95 % intervals over links; the clip `{clip}`,
{duration_s:g} s per call, seed 1, every call alone on its link. *Live*: no second below 50 kbit/s. Delays are those of
every captured frame until something as new is shown, *on time* is of all captured frames ([metrics](metrics.md)).
`clairvoyant` knows the link: [the ceiling](ceiling.md). A network that only one call uses says nothing of fairness.

"""
WITH_AUDIO = """The challenge's two networks were trained on calls with audio: 42 % of the packets of an interval, by
the baseline's own means. Without audio `mmsys24-baseline` takes a low rate for a narrow link and sinks to its floor.
Here every call has RFC 8867's audio beside the video.
"""


def main() -> None:
    """Play, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=10, help="of each family")
    parser.add_argument("--duration", type=float, default=60.0, help="of a call, in seconds")
    options = parser.parse_args()
    names = [BASE, *NEW, *BESIDE]
    calls: dict[str, Calls] = {}
    audible: dict[str, Calls] = {}
    for family, (folder, scale) in FAMILIES.items():
        links = untuned_links(folder, options.links)
        played = play(links, scale, names, {"duration_s": options.duration}) if links else {}
        if played:
            calls[family] = played
            audible[family] = play(links, scale, AUDIBLE, {"duration_s": options.duration, **AUDIO})
        print(f"{family}: {len(played)} live links", flush=True)
    text = HEAD.format(links=options.links, clip=CLIP, duration_s=options.duration)
    together = {(family, link): rows for family, found in calls.items() for link, rows in found.items()}
    shown = ", ".join(f"{family} {len(found)}" for family, found in calls.items())
    text += f"## All {len(together)} live links\n\n{shown}.\n\n" + means(together, names) + "\n"
    with_audio = {(family, link): rows for family, found in audible.items() for link, rows in found.items()}
    text += f"## The same links, with audio\n\n{WITH_AUDIO}\n" + means(with_audio, AUDIBLE) + "\n"
    text += f"## Minus `{BASE}`, link by link\n\n" + differences(together, names) + "\n"
    for measure in BY_FAMILY:
        text += (
            f"## {measure.title[0].upper()}{measure.title[1:]}, by family\n\n" + by_family(calls, measure, names) + "\n"
        )
    PAGE.write_text(text, encoding="utf-8")


def untuned_links(family: str, count: int) -> list[Path]:
    """At most so many of a family's traces, evenly spaced, of those that `legato` was not tuned on."""
    paths = sorted(trace.path for trace in shipped.traces() if trace.family == family)[1::2]
    if len(paths) <= count:
        return paths
    return [paths[(2 * n + 1) * len(paths) // (2 * count)] for n in range(count)]


Calls = Mapping[str, Mapping[str, Mapping[str, float]]]
"""By link and controller: figures."""


def label(spec: str) -> str:
    """How a controller is called in the summary."""
    return spec.rsplit("label=", 1)[-1]


def play(links: list[Path], scale: float, names: Sequence[str], changes: Mapping[str, float]) -> Calls:
    """Every controller on every link; the live ones."""
    import duckdb

    made = plan.make(
        "steady",
        options=dict(changes),
        controller_specs=list(names),
        trace_specs=[f"{path}@scale={scale}" for path in links],
        clip_specs=[str(shipped.profile(CLIP))],
        log="summary",
    )
    columns = [measure.column for measure in MEASURES]
    with tempfile.TemporaryDirectory() as place, duckdb.connect() as database:
        folder = sweep(made, Path(place) / "run").folder
        calls = f"read_parquet('{folder}/summary/*.parquet')"
        sql = f"SELECT trace, controller, {', '.join(columns)} FROM {calls} WHERE dead_link_s = 0"
        rows = database.execute(sql).fetchall()
    found: dict[str, dict[str, dict[str, float]]] = {}
    for trace, controller, *figures in rows:
        found.setdefault(trace, {})[controller] = dict(zip(columns, figures, strict=True))
    return found


def interval(measure: Measure, values: Sequence[float], sign: bool = False) -> str:
    """The mean, and its interval where there are links enough."""
    found = of_separate_groups([values], lambda means: means[0])
    text = measure.text(found.mean, sign)
    return text if found.low is None else f"{text} ({measure.text(found.low)} to {measure.text(found.high)})"


def table(rows: Mapping[str, Sequence[str]], head: Sequence[str]) -> str:
    """Markdown."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| `{name}` | {' | '.join(cells)} |" for name, cells in rows.items())]) + "\n"


def values_of(links: Mapping[object, Mapping[str, Mapping[str, float]]], name: str, column: str) -> list[float]:
    """A figure on each link that has it."""
    found = [rows[name][column] for rows in links.values() if name in rows]
    return [value for value in found if value is not None]


def means(links: Mapping[object, Mapping[str, Mapping[str, float]]], names: Sequence[str]) -> str:
    """Every figure of every controller."""
    rows = {}
    for name in map(label, names):
        cells = []
        for measure in MEASURES:
            values = values_of(links, name, measure.column)
            missing = len(links) - len(values)
            cells.append(interval(measure, values) + (f" [{missing} without]" if missing else ""))
        rows[name] = cells
    return table(rows, ["controller", *(measure.title for measure in MEASURES)])


def differences(links: Mapping[object, Mapping[str, Mapping[str, float]]], names: Sequence[str]) -> str:
    """Differences from the base; bold ones exclude zero."""
    judged = [measure for measure in MEASURES if measure.larger_is_better is not None]
    rows = {}
    for name in map(label, names[1:]):
        cells = []
        for measure in judged:
            column = measure.column
            pairs = [(row[name][column], row[BASE][column]) for row in links.values() if name in row and BASE in row]
            values = [one - base for one, base in pairs if one is not None and base is not None]
            found = of_separate_groups([values], lambda means: means[0])
            text = interval(measure, values, sign=True)
            better = found.low is not None and (found.low > 0 if measure.larger_is_better else found.high < 0)
            worse = found.low is not None and (found.high < 0 if measure.larger_is_better else found.low > 0)
            cells.append(f"**{text}**" if better else f"*{text}*" if worse else text)
        rows[name] = cells
    head = ["controller", *(measure.title for measure in judged)]
    return "**Bold** is better and *slanted* is worse than it, with 95 % confidence.\n\n" + table(rows, head)


def by_family(calls: Mapping[str, Calls], measure: Measure, names: Sequence[str]) -> str:
    """One figure, by family."""
    rows = {
        name: [
            interval(measure, values) if (values := values_of(links, name, measure.column)) else ""
            for links in calls.values()
        ]
        for name in map(label, names)
    }
    return table(rows, ["controller", *(f"{family} ({len(links)})" for family, links in calls.items())])


if __name__ == "__main__":
    main()
