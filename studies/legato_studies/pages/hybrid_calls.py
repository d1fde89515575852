"""Real calls in the hybrid codec and in H.264 over the same links: writes docs/hybrid-calls.md.

    python -m legato_studies.pages hybrid_calls [--seconds S] [--repeats N] [--links N ...] [--kinds KIND ...]

H.264 repairs by NACK alone; by NACK and Reed-Solomon parity: a fifth of each frame's packets, as in the table of
docs/hybrid-codec.md, or as much as the losses reported need; or it shows what came and predicts from references that
the receiver has. Both ends are Legato's, with the same controller, the same
pictures (the generated scene, 640x360, 30 a second) and the same links: three recorded ones of LTE at a fifth of their
capacity, and one of constant capacity that loses a tenth of the packets at random. Each call is a run folder of its own
below ``--out``. A call that the machine was late for does not count: it is made again, up to ``--tries`` times, and
then stands in the table as late. A call that counts is not made again, so a run that was stopped goes on where it was.

As shipped: 2 calls of 60 s per kind and link, 40 calls; 50 minutes on a quiet machine with two processors. With
``--links`` or ``--kinds`` only these are called, and the page keeps the other rows that the same command wrote.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import legato
from legato.call import Pictures
from legato_studies.pages.timed_calls import TimedCall, in_time

PAGE = Path(__file__).resolve().parents[3] / "docs" / "hybrid-calls.md"
KINDS: Mapping[str, Mapping[str, str]] = {
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


def make(link: Link, kind: str, seed: int, folder: Path, arguments: argparse.Namespace) -> Call:
    """The call, made if it was not, and again while the machine is late."""

    def on_made(call: TimedCall) -> None:
        late = f", late: {call.lateness_p999_ms:.1f} ms" if call.late else ""
        print(f"{link.name}, {TITLES[kind]}, call {seed}: {read(call).viewed_ssim_db:.2f} dB{late}", flush=True)

    call = in_time(
        folder,
        arguments.tries,
        lambda: legato.real_calls(
            link.scenario,
            out=folder,
            options={
                **link.options,
                "duration_s": arguments.seconds,
                "limits.max_bps": arguments.max_kbps * 1_000,
            },
            controllers=[arguments.controller],
            seeds=[seed],
            pictures=Pictures(width=SIZE[0], height=SIZE[1], **KINDS[kind]),
            peers="legato",
        ),
        on_made,
    )
    if call is None:
        raise SystemExit(f"{folder}: no call was made with --tries {arguments.tries}")
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


Rows = dict[tuple[str, str], str]
"""By link and kind of call."""


def rows(made: Mapping[tuple[str, str], Sequence[Call]]) -> Rows:
    """A row per link and kind of call; of each figure every call's, in the order of seeds."""
    lines = {}
    for (link, kind), calls in made.items():
        cells = (" / ".join(text(call) for call in calls) for _, text in COLUMNS)
        lines[link, kind] = f"| {link} | {TITLES[kind]} | " + " | ".join(cells) + " |"
    return lines


def kept(text: str, arguments: argparse.Namespace) -> Rows:
    """Rows of a page that the same command wrote before, for what is not called now."""
    if command(arguments) not in text:
        return {}
    starts = {(link.name, kind): f"| {link.name} | {title} |" for link in LINKS for kind, title in TITLES.items()}
    lines = text.splitlines()
    return {key: line for key, start in starts.items() for line in lines if line.startswith(start)}


def table(lines: Rows) -> list[str]:
    """All rows, in the order of links and kinds."""
    head = "| link | codec | " + " | ".join(title for title, _ in COLUMNS) + " |"
    order = [(link.name, kind) for link in LINKS for kind in KINDS]
    return [head, "|---|---|" + "---|" * len(COLUMNS), *(lines[key] for key in order if key in lines)]


def command(arguments: argparse.Namespace) -> str:
    """What writes the page."""
    return (
        f"python -m legato_studies.pages hybrid_calls --seconds {arguments.seconds:g} --repeats {arguments.repeats} "
        f"--controller {arguments.controller} --max-kbps {arguments.max_kbps}"
    )


def page(lines: Rows, arguments: argparse.Namespace) -> str:
    """The document."""
    late = sum(line.count("(late)") for line in lines.values())
    total = arguments.repeats * len(lines)
    said = f"**{late} of {total} calls are late**: they decide nothing." if late else "No call is late."
    text = f"""\
# Real calls in the hybrid codec

Calls of {arguments.seconds:g} s between two ends of Legato with `{arguments.controller}` and at most
{arguments.max_kbps} kbit/s; the generated scene at {SIZE[0]}x{SIZE[1]} and 30 pictures per second;
{arguments.repeats} per link and codec, their figures side by side. All kinds of call have the same links. H.264 is
OpenH264's. With *NACK* its lost packets are sent again on request; with *parity*, Reed-Solomon parity follows each
frame: a fifth of its packets, or as many as the losses reported of late need (`--parity adaptive`). With *references*
nothing is sent again: pictures are in four slices, what came of one is shown, and once a loss is reported the next is
predicted from one that the receiver has (`--recovery references`). *Parity, %* is its share of the bytes sent, *coded*
the share of captured pictures that the encoder was free for, *shown* the share of coded ones that came onto the screen.
A call is *late* whose emulated link let packets go more than 2 ms after their time at the 99.9th percentile. Written by

    {command(arguments)}

{said}
"""
    return "\n".join([text, *table(lines), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each call")
    parser.add_argument("--repeats", type=int, default=2, help="calls per link and codec; the seed is the number")
    parser.add_argument("--tries", type=int, default=4, help="of each call, while the machine is late for it")
    parser.add_argument("--controller", default="gcc", help="of all calls")
    parser.add_argument("--max-kbps", type=int, default=1_000, help="of all controllers: what calls of this size need")
    parser.add_argument(
        "--links", type=int, nargs="+", choices=range(len(LINKS)), help="by number from 0; default: all"
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="of calls; default: all")
    parser.add_argument("--out", type=Path, default=Path("runs/hybrid-calls"), help="where the calls' folders are")
    parser.add_argument("--page", type=Path, default=PAGE, help="what is written")
    arguments = parser.parse_args()
    made: dict[tuple[str, str], list[Call]] = {}
    before = kept(arguments.page.read_text(encoding="utf-8"), arguments) if arguments.page.exists() else {}
    links = [(place, link) for place, link in enumerate(LINKS) if arguments.links is None or place in arguments.links]
    for place, link in links:
        for seed in range(1, arguments.repeats + 1):
            # One kind after the other over each link, so that what changes on the machine meets all.
            for kind in arguments.kinds:
                name = f"{place}-{kind}-{arguments.controller}-{seed}-{arguments.seconds:g}s"
                call = make(link, kind, seed, arguments.out / name, arguments)
                made.setdefault((link.name, kind), []).append(call)
                arguments.page.write_text(page(before | rows(made), arguments), encoding="utf-8")
    print("\n".join(table(rows(made))))


if __name__ == "__main__":
    main()
