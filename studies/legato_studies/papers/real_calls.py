"""The controllers of papers in real calls, with their rivals (``legato reproduce NAME --real``).

Both ends are ours, in one process: real encoder, packets, encryption, sockets and decoder over the emulated link,
which plays windows of recordings that no training saw (:mod:`legato.links.access_networks`). Calls run in real
time, so there are a few here instead of the paper's hundreds, unless more are requested.

Missing: the papers' own links, clips and stacks, and audio.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from legato import real_calls
from legato.call import Pictures, vmaf
from legato.call.session import CallProgress
from legato.errors import CallError, Error
from legato.links import HELD_OUT, access_networks
from legato.plan.record import read_plan
from legato.results.query import query, version
from legato.results.stats import Estimate, grouped_mean
from legato.runs.sweep import check_empty
from legato_studies.papers.reproduction import Paper, Reproduction, Row, pairs
from legato_studies.papers.verdict import Lead, judged

CALLS = 10
"""Windows of each kind of link; each controller plays each of them."""
DURATION_S = 30.0
PICTURES = Pictures(width=640, height=360, fps=30)
PROPAGATION_MS = MappingProxyType({"3G": 20.0, "4G": 25.0, "Wi-Fi": 5.0})
"""One way; [r3net] Table 2 has median round trips of 55 ms on 3G and 13 ms on Wi-Fi."""
QUEUE_MS = 400.0
REVERSE_BPS = 2_500_000
"""Of the way back of calls with media both ways: the other end's own access, which is not the narrow one."""
RETRIES = 2
"""How often a call whose emulated link was late is made again, after all others."""
FEWEST_PAIRS = 10
"""Pairs of calls below which there is no verdict."""
LIMITS_BPS = MappingProxyType({"limits.min_bps": 50_000, "limits.start_bps": 300_000, "limits.max_bps": 2_500_000})

FIGURES: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "receiver_rate_kbps": ("received (kbit/s)", +1),
        "rtt_mean_ms": ("RTT, mean (ms)", -1),
        "rtt_p50_ms": ("RTT, p50 (ms)", -1),
        "rtt_p95_ms": ("RTT, p95 (ms)", -1),
        "loss_percent": ("packet loss (%)", -1),
        "ssim_db": ("SSIM of what was viewed (dB)", +1),
        "vmaf": ("VMAF of what was viewed", +1),
        "drops_percent": ("frames not shown (%)", -1),
        "stalled_percent": ("stalled (% of the time)", -1),
    }
)
"""The compared figure: its title, and whether more of it is better."""


@dataclass(frozen=True)
class Study:
    """The rivals of a paper's controller, and the links of its calls."""

    ours: str
    rivals: tuple[str, ...]
    accesses: tuple[str, ...]
    published: Mapping[tuple[str, str], Mapping[str, float]] = field(default_factory=dict)
    """Figures as printed, by access and controller."""
    note: str = ""
    both_ways: bool = False
    """Media go both ways; verdicts are on the forward direction, over the recorded link."""
    vmaf: bool = False
    """The paper has VMAF; it is measured where there is an ffmpeg that does."""


# [r3net] Table 2: 200 calls each.
_TABLE_2 = ("rtt_mean_ms", "rtt_p50_ms", "rtt_p95_ms", "loss_percent", "vmaf", "drops_percent")
_PRINTED_2 = {
    ("3G", "ukf"): (58, 56, 86, 2.22, 81.8, 6.5),
    ("3G", "r3net"): (58, 55, 99, 3.11, 78.6, 11.2),
    ("Wi-Fi", "ukf"): (16, 13, 37, 0.05, 94.1, 2.5),
    ("Wi-Fi", "r3net"): (16, 13, 38, 0.01, 93.4, 1.8),
}

STUDIES: Mapping[str, Study] = MappingProxyType(
    {
        "r3net": Study(
            "r3net",
            ("ukf",),
            ("3G", "Wi-Fi"),
            {place: dict(zip(_TABLE_2, printed, strict=True)) for place, printed in _PRINTED_2.items()},
            "Table 2 of the paper, where R3Net falls behind on 3G. Media go both ways, without audio.",
            both_ways=True,
            vmaf=True,
        ),
        "concerto": Study(
            "concerto",
            ("gcc",),
            ("3G", "4G", "Wi-Fi"),
            note="Table 5 of the paper is a deployment: 13 % less throughput and a third of the stalls of its WebRTC.",
        ),
        "clcc": Study("clcc", ("gcc",), ("4G",), note="Shipped clcc was trained on its paper's random links."),
        "nvc-cc": Study(
            "nvc-cc",
            ("gcc",),
            ("4G",),
            note="The paper's codec tolerates loss; these calls are coded by OpenH264, which does not.",
        ),
    }
)


@dataclass(frozen=True)
class Call:
    """The compared figures of one call."""

    access: str
    controller: str
    recording: str
    place: int
    """Of its window among those of the access."""
    valid: bool
    """Its emulated link was in time; otherwise its figures, and those it would be compared with, are left out."""
    values: Mapping[str, float]


def reproduce(
    paper: str,
    out: str | Path,
    *,
    calls: int = CALLS,
    duration_s: float = DURATION_S,
    retries: int = RETRIES,
    resume: bool = False,
    on_progress: Callable[[CallProgress], None] | None = None,
) -> Reproduction:
    """Make the calls of a paper's study.

    Args:
        paper: of :data:`STUDIES`.
        out: the folder; calls over a kind of access go to ``out/ACCESS``.
        calls: windows of each kind of access.
        duration_s: of a call.
        retries: how often late calls are made again.
        resume: go on with what is there; its late calls are made again.
    """
    study = STUDIES[paper]
    out = Path(out)
    check_empty(out, resume=resume)
    made: list[Call] = []
    measured = study.vmaf and _measures_vmaf()
    for access in study.accesses:
        windows = access_networks.of_all([access], HELD_OUT, calls, duration_s)
        if not windows:
            raise Error(
                f"{access}: no recording of such a link is here",
                hint="those under a copyleft licence are in Legato's source, under data/traces/copyleft",
            )
        folder = out / access.lower()
        options = {
            "duration_s": duration_s,
            "forward.propagation_ms": PROPAGATION_MS[access],
            "reverse.propagation_ms": PROPAGATION_MS[access],
            "forward.queue.limit_ms": QUEUE_MS,
            **({"reverse.capacity.constant_bps": REVERSE_BPS} if study.both_ways else {}),
            **LIMITS_BPS,
        }
        for attempt in range(1 + retries):
            if attempt and not forget_late(folder):
                break
            real_calls(
                "steady",
                out=folder,
                options=options,
                controllers=[*study.rivals, f"{study.ours}@label={study.ours}"],
                traces=windows,
                pictures=PICTURES,
                peers="legato",
                direction="both" if study.both_ways else "send",
                vmaf=measured,
                resume=(resume or attempt > 0) and folder.exists(),
                on_progress=on_progress,
            )
        made += read_calls(folder, access)
    done = Reproduction(shown(paper), out, version(folder), tuple(judge(study, made)), tuple(made), real=True)
    introduction = (
        f"{study.ours} and {', '.join(study.rivals)} over the same windows of recorded links, H.264 of "
        f"{PICTURES.width}x{PICTURES.height} through WebRTC on real sockets, both ends ours; Legato {done.version}. "
        f"{len(made)} calls were made, {sum(call.valid for call in made)} of them count: the emulated link of the "
        "others was more than 2 ms late. Means over calls with 95 % intervals over recordings, of which windows are "
        f"parts; no verdict on fewer than {FEWEST_PAIRS} pairs. {study.note}"
        + ("" if measured or not study.vmaf else f" VMAF was not measured: {vmaf.HINT}.")
    )
    return done.write([introduction], title=f"{study.ours} in real calls")


def shown(paper: str) -> Paper:
    """How a study's figures are shown."""
    study = STUDIES[paper]
    titles = {access: f"{access}: real calls" for access in study.accesses}
    return Paper(paper, study.ours, titles, digits=".3g", over="recordings")


def judged_again(paper: str, calls: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The rows of calls that were made before, as ``reproduction.json`` has them."""
    return judge(STUDIES[paper], [Call(**call) for call in calls])


def _measures_vmaf() -> bool:
    try:
        return bool(vmaf.found())
    except CallError:
        return False


# Where media go both ways, those over the recorded link.
_CALLS = """
select call, session, controller, split_part(trace, ' ', 1) as recording,
    receiver_rate_bps * 1e-3 as receiver_rate_kbps,
    rtt_mean_ms, rtt_p50_ms, rtt_p95_ms, loss_ratio * 100 as loss_percent, viewed_ssim_db_mean as ssim_db,
    viewed_vmaf_mean as vmaf, frame_drop_ratio * 100 as drops_percent, stall_ratio * 100 as stalled_percent
from summary where coalesce(flow, 'forward') = 'forward' order by call
"""


def read_calls(folder: Path, access: str) -> list[Call]:
    """The calls of a run folder."""
    plan = read_plan(folder)
    found = []
    for row in query(folder, _CALLS):
        machine = json.loads((folder / "calls" / f"{row['call']:05}.json").read_text(encoding="utf-8"))
        figures = {name: math.nan if row[name] is None else float(row[name]) for name in FIGURES}
        place = plan.places(row["session"])[1]
        found.append(Call(access, row["controller"], row["recording"], place, machine["valid"], figures))
    return found


def forget_late(folder: Path) -> int:
    """Remove the calls of a run folder whose emulated link was late, so that they are made again; their number."""
    late = 0
    for row in query(folder, "select session, min(call) as first, max(call) as last from summary group by session"):
        records = [folder / "calls" / f"{call:05}.json" for call in range(row["first"], row["last"] + 1)]
        if all(json.loads(record.read_text(encoding="utf-8"))["valid"] for record in records):
            continue
        late += 1
        for file in (*records, *folder.glob(f"*/{row['session']:05}.parquet")):
            file.unlink()
    return late


def judge(study: Study, calls: Sequence[Call]) -> list[Row]:
    """Every row: each controller's figures, then ours minus each rival's, link by link."""
    rows: list[Row] = []
    for access in study.accesses:
        here = [call for call in calls if call.access == access and call.valid]
        scored = any(not math.isnan(call.values["vmaf"]) for call in here)
        shown = [name for name in FIGURES if scored or name != "vmaf"]
        for controller in (*study.rivals, study.ours):
            own = [call for call in here if call.controller == controller]
            printed = study.published.get((access, controller), {})
            for figure, (title, _) in ((name, FIGURES[name]) for name in shown):
                ours = _mean([(call, call.values[figure]) for call in own])
                why = f"{len(own)} calls that count; other links and clips, and rivals of ours by the same names"
                rows.append(Row.of(access, f"{controller}: {title}", printed.get(figure), ours, "not comparable", why))
        for rival in study.rivals:
            rows += [_difference(study, here, access, rival, figure) for figure in shown]
    return rows


def _difference(study: Study, here: Sequence[Call], access: str, rival: str, figure: str) -> Row:
    """Ours minus a rival's over the same window, where both calls count."""
    both = pairs(here, study.ours, rival, lambda call: call.place)
    ours = _mean([(own, own.values[figure] - other.values[figure]) for own, other in both])
    title, sign = FIGURES[figure]
    published = study.published
    printed = None
    if figure in published.get((access, rival), {}):
        printed = published[access, study.ours][figure] - published[access, rival][figure]
    table, name, counted = access, f"{title}, less {rival}'s", f"{len(both)} pairs of calls"
    if printed is None:
        return Row.of(table, name, None, ours, "no claim", f"{counted}; the paper has no such figure")
    # Printed figures are differences of rounded ones.
    printed = round(printed, 2)
    if sign * printed <= 0:
        of_paper = "the paper's own is behind here" if printed else "the paper has no difference here"
        return Row.of(table, name, printed, ours, "not comparable", f"{counted}; {of_paper}")
    found, why = judged(Lead(printed, more_is_better=sign > 0), ours)
    if 0 < len(both) < FEWEST_PAIRS:
        found, why = "undecidable", f"fewer than {FEWEST_PAIRS} pairs"
    return Row.of(table, name, printed, ours, found, f"{counted}; {why}")


def _mean(values: Sequence[tuple[Call, float]]) -> Estimate:
    """Windows of one recording are alike: together they are one network."""
    return grouped_mean((call.recording, value) for call, value in values)
