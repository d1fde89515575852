"""Real calls in the hybrid codec and in H.264 over the same links: writes docs/measured/hybrid-calls.md.

    python -m legato_studies.pages hybrid_calls [--seconds S] [--repeats N] [--links N ...] [--kinds KIND ...]

H.264 repairs by NACK alone, or by NACK and Reed-Solomon parity. Parity is a fifth of each frame's packets, as in the
table of docs/concepts/hybrid-codec.md, or as much as the reported losses need. Or it shows incomplete frames and
predicts from references that the receiver has. Both ends are Legato's, with the same controller, the same pictures (the
generated scene, 640x360, 30 a second) and the same links. These are three recorded ones of LTE at a fifth of their
capacity, and one of constant capacity that loses a tenth of the packets at random. Each call is a separate run folder
below ``--out``. A call that the machine was late for does not count: it is made again, up to ``--tries`` times, and
then marked as late in the table. A call that counts is not made again, so a run that was stopped goes on where it was.

As shipped: 2 calls of 60 s per kind and link, 40 calls; 50 minutes on a quiet machine with two processors. With
``--links`` or ``--kinds`` only these are called, and the page keeps the other rows that the same command wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import legato
from legato.call import Pictures
from legato.report.pages import Section
from legato_studies.page import Found, Options, Page
from legato_studies.timed_calls import TimedCall, in_time

KINDS: Mapping[str, Mapping[str, Any]] = {
    "hybrid": {"codec": "hybrid"},
    "h264": {"codec": "h264"},
    "h264-parity": {"codec": "h264", "parity": "0.2"},
    "h264-adaptive": {"codec": "h264", "parity": "adaptive"},
    "h264-references": {"codec": "h264", "recovery": "references"},
}
"""How pictures are coded and recover from losses. A kind's name is part of its folders' names."""
TITLES = {
    "hybrid": "hybrid",
    "h264": "h264, NACK",
    "h264-parity": "h264, NACK and 20 % parity",
    "h264-adaptive": "h264, NACK and adaptive parity",
    "h264-references": "h264, references",
}
SIZE = (640, 360)


@dataclass(frozen=True)
class Link:
    """A link, as changes of a shipped scenario."""

    name: str
    scenario: str
    options: Mapping[str, Any]


def _recorded(name: str, trace: str) -> Link:
    capacity = {"trace": trace, "scale": 0.2}
    return Link(f"LTE, {name}", "cellular", {"forward.capacity": capacity})


LINKS = (
    _recorded("bus", "nyc-lte/trace-1553114405-bus.gz"),
    _recorded("taxi", "nyc-lte/trace-1552767958-taxi1.gz"),
    _recorded("on foot", "nyc-lte/trace-1553199718-ts-walking.gz"),
    Link(
        "3 Mbit/s, a tenth lost",
        "steady",
        {
            "forward.capacity": {"constant_bps": 3_000_000},
            "forward.loss_ratio": 0.1,
            "forward.propagation_ms": 30.0,
            "reverse.propagation_ms": 30.0,
        },
    ),
)


@dataclass(frozen=True)
class Call:
    """One call's figures."""

    late: bool
    lateness_p999_ms: float
    coded_ratio: float
    shown_ratio: float
    viewed_ssim_db: float
    delay_p95_ms: float
    on_time_150ms_ratio: float
    goodput_bps: float
    loss_ratio: float
    parity_ratio: float
    """Of all bytes sent."""


def read(call: TimedCall) -> Call:
    """A call's figures."""
    row = call.row
    return Call(
        late=call.late,
        lateness_p999_ms=call.lateness_p999_ms,
        coded_ratio=row["frames_encoded"] / max(row["frames_captured"], 1),
        shown_ratio=row["frames_rendered"] / max(row["frames_encoded"], 1),
        viewed_ssim_db=row["viewed_ssim_db_mean"],
        delay_p95_ms=row["viewed_delay_p95_ms"],
        on_time_150ms_ratio=row["on_time_150ms_ratio"],
        goodput_bps=row["goodput_bps"],
        loss_ratio=row["loss_ratio"],
        parity_ratio=row["fec_ratio"] or 0.0,
    )


def make(link: Link, kind: str, seed: int, folder: Path, options: Options) -> Call:
    """The call, made if it was not, and again while the machine is late."""

    def on_made(call: TimedCall) -> None:
        late = f", late: {call.lateness_p999_ms:.1f} ms" if call.late else ""
        print(f"{link.name}, {TITLES[kind]}, call {seed}: {read(call).viewed_ssim_db:.2f} dB{late}", flush=True)

    call = in_time(
        folder,
        options.tries,
        lambda: legato.real_calls(
            link.scenario,
            out=folder,
            options={
                **link.options,
                "duration_s": options.seconds,
                "limits.max_bps": options.max_kbps * 1_000,
            },
            controllers=[options.controller],
            seeds=[seed],
            pictures=Pictures(width=SIZE[0], height=SIZE[1], **KINDS[kind]),
            peers="legato",
        ),
        on_made,
    )
    if call is None:
        raise SystemExit(f"{folder}: no call was made with --tries {options.tries}")
    return read(call)


COLUMNS: tuple[tuple[str, Callable[[Call], str]], ...] = (
    ("lost, %", lambda call: f"{100 * call.loss_ratio:.1f}"),
    ("parity, %", lambda call: f"{100 * call.parity_ratio:.1f}"),
    ("coded, %", lambda call: f"{100 * call.coded_ratio:.1f}"),
    ("shown, %", lambda call: f"{100 * call.shown_ratio:.1f}"),
    ("viewed SSIM, dB", lambda call: f"{call.viewed_ssim_db:.2f}"),
    ("p95 delay, ms", lambda call: f"{call.delay_p95_ms:.0f}"),
    ("on time, 150 ms, %", lambda call: f"{100 * call.on_time_150ms_ratio:.1f}"),
    ("goodput, kbit/s", lambda call: f"{call.goodput_bps / 1e3:.0f}"),
    ("link late, p99.9, ms", lambda call: f"{call.lateness_p999_ms:.1f}{' (late)' if call.late else ''}"),
)


Rows = dict[tuple[str, str], list[str]]
"""By link and title of the kind of call: of each figure every call's, in the order of seeds."""

ASKED = ("seconds", "repeats", "controller", "max_kbps")


def found(rows: Rows, options: Options) -> Found:
    """What the page shows: all rows, in the order of links and kinds."""
    late = sum(cell.count("(late)") for row in rows.values() for cell in row)
    total = options.repeats * len(rows)
    said = f"**{late} of {total} calls are late**: they decide nothing." if late else "No call is late."
    order = [(link.name, title) for link in LINKS for title in TITLES.values()]
    shown = [[*key, *rows[key]] for key in order if key in rows]
    columns = ["link", "codec", *(title for title, _ in COLUMNS)]
    asked = {name: getattr(options, name) for name in ASKED}
    return Found({**asked, "late": said, "calls": Section("", columns=columns, rows=shown)})


def kept(options: Options) -> Rows:
    """Rows that a run with the same options found before, for calls not made now."""
    before = PAGE.kept()
    if before is None or any(before[name] != getattr(options, name) for name in ASKED):
        return {}
    return {(row[0], row[1]): list(row[2:]) for row in before["calls"]["rows"]}


def play(options: Options) -> Found:
    """Call; one kind after the other over each link, so that what changes on the machine meets all."""
    made: dict[tuple[str, str], list[Call]] = {}
    rows = kept(options)
    links = [(place, link) for place, link in enumerate(LINKS) if options.links is None or place in options.links]
    for place, link in links:
        for seed in range(1, options.repeats + 1):
            for kind in options.kinds:
                name = f"{place}-{kind}-{options.controller}-{seed}-{options.seconds:g}s"
                calls = made.setdefault((link.name, TITLES[kind]), [])
                calls.append(make(link, kind, seed, options.out / name, options))
                rows[link.name, TITLES[kind]] = [" / ".join(map(text, calls)) for _, text in COLUMNS]
                PAGE.keep(found(rows, options))
    return found(rows, options)


PAGE = Page(
    "hybrid-calls",
    play,
    {
        "--seconds": {"default": 60.0, "help": "of each call"},
        "--repeats": {"default": 2, "help": "calls per link and codec; the seed is the number"},
        "--tries": {"default": 4, "help": "of each call, while the machine is late for it"},
        "--controller": {"default": "gcc", "help": "of all calls"},
        "--max-kbps": {"default": 1_000, "help": "of all controllers: what calls of this size need"},
        "--links": {"type": int, "nargs": "+", "choices": range(len(LINKS)), "help": "by number from 0; default: all"},
        "--kinds": {
            "nargs": "+",
            "choices": KINDS,
            "default": list(KINDS),
            "type": str,
            "help": "of calls; default: all",
        },
        "--out": {"default": Path("runs/hybrid-calls"), "type": Path, "help": "where the calls' folders are"},
    },
)
