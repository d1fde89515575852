"""`legato-receiver` against `gcc-receiver` and Chromium's: writes docs/measured/receiver.md.

    python -m legato_studies.pages receiver [--links N] [--calls N] [--repeats N] [--seconds S] [--out FOLDER]

First simulated, with `remote` at the sender, over live links (no second below 50 kbit/s) that `legato` was not tuned
on. Then called: Chromium sends over some of these links, and the receiving end is ours, under each controller, or
another Chromium. Feedback is `twcc`, where REMB is a cap on Chromium's own rate control, or `remb`, where it decides.
Each call is a run folder below ``--out``; one that the machine was late for is made again, up to ``--tries`` times, and
then marked as late. A call that counts is not made again, so a run that was stopped goes on where it was.
``--no-new-calls`` writes the page of the calls that there are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import legato
from legato.call import Pictures
from legato.links import Link
from legato.plan import shipped
from legato.report.pages import Section
from legato.results import stats
from legato.results.figures import METRICS, Shown
from legato.results.query import query
from legato_studies.leaderboard import NAMES, Calls, mixed
from legato_studies.leaderboard.calls import play
from legato_studies.leaderboard.measures import GOODPUT, P95, P98, PICTURE, STALLED
from legato_studies.leaderboard.page import marked
from legato_studies.leaderboard.tables import differences, live, means
from legato_studies.page import Found, Options, Page
from legato_studies.timed_calls import TimedCall, in_time

OURS, RIVAL, SENDER = "legato-receiver", "gcc-receiver", "gcc"
SIMULATED = (SENDER, RIVAL, OURS, "legato")
MEASURES = (P95, P98, STALLED, PICTURE, GOODPUT)
CALLED = (
    P95,
    P98,
    STALLED,
    METRICS["receiver_rate_bps"].named("received, kbit/s", unit="kbit/s", digits=0),
    METRICS["qp_mean"].named("quantiser"),
    METRICS["height_mean"].named("rows"),
)
"""Where a browser sends nothing is compared picture by picture: quantiser and rows are the ones that it reports."""
CLIP = "foreman"
SIZE = (640, 360)
MAX_BPS = 2_000_000
CALLED_FAMILIES = ("cellular", "wifi-zhuge", "nyu-mets")


@dataclass(frozen=True)
class Kind:
    """One kind of call in which Chromium sends."""

    title: str
    peers: str
    feedback: str
    controller: str
    """At the receiver; a sender-side one leaves Chromium's own rate control alone."""


KINDS = (
    Kind("Chromium alone, twcc", "chromium", "twcc", SENDER),
    Kind("`gcc-receiver`, twcc", "chromium", "twcc", RIVAL),
    Kind("`legato-receiver`, twcc", "chromium", "twcc", OURS),
    Kind("`gcc-receiver`, remb", "chromium", "remb", RIVAL),
    Kind("`legato-receiver`, remb", "chromium", "remb", OURS),
    Kind("Chromium to Chromium, twcc", "chromium-chromium", "twcc", SENDER),
    Kind("Chromium to Chromium, remb", "chromium-chromium", "remb", SENDER),
)
BASES = (KINDS[0], KINDS[5])
"""Chromium's: the same with a Legato receiving end, and with Chromium's."""


@dataclass(frozen=True)
class Made:
    """One real call."""

    late: bool
    figures: Mapping[str, float]
    capped: float | None
    """The share of the sending browser's reports in which its target equals REMB."""


def capped(folder: Path, controller: str) -> float | None:
    """Whether REMB decides: of the reports from the fifth second on, the ones with a target within 3 % of the highest
    or the lowest REMB of the second before. ``None``: no REMB is sent.
    """
    if controller == SENDER:
        return None
    reports = query(folder, "SELECT time_ms, available_bitrate_bps AS aims FROM outbound WHERE time_ms > 5000")
    allowed = {
        row["time_ms"]: row["bps"] for row in query(folder, "SELECT time_ms, target_bitrate_bps AS bps FROM series")
    }
    found = []
    for report in reports:
        recent = [bps for at, bps in allowed.items() if report["time_ms"] - 1_000 <= at <= report["time_ms"]]
        if recent:
            found.append(0.97 * min(recent) <= report["aims"] <= 1.03 * max(recent))
    return sum(found) / len(found) if found else None


def read(folder: Path, kind: Kind, call: TimedCall) -> Made:
    """A call's figures."""
    row = call.row | coded(folder)
    figures = {measure.column: float(row[measure.column]) for measure in CALLED}
    return Made(call.late, figures, capped(folder, kind.controller))


def coded(folder: Path) -> dict[str, float]:
    """The mean quantiser of H.264, 0 to 51, and the mean of the picture's rows, by the sending browser's reports."""
    sql = "SELECT max(qp_sum) / max(frames_encoded) AS qp_mean, avg(height) AS height_mean FROM outbound"
    return query(folder, sql)[0]


def make(link: Link, kind: Kind, seed: int, folder: Path, options: Options) -> Made | None:
    """The call, made if it was not, and again while the machine is late."""

    def on_made(call: TimedCall) -> None:
        made = read(folder, kind, call)
        figures = ", ".join(f"{m.text(made.figures[m.column])} {m.title}" for m in CALLED)
        print(f"{link.family} {link.path.stem}, {kind.title}, {seed}: {figures}{'; late' * made.late}", flush=True)

    call = in_time(
        folder,
        0 if options.no_new_calls else options.tries,
        lambda: legato.real_calls(
            "cellular",
            out=folder,
            options={
                "duration_s": options.seconds,
                "limits.max_bps": MAX_BPS,
                "forward.capacity": {"trace": str(link.path), "scale": link.scale},
            },
            controllers=[kind.controller],
            seeds=[seed],
            pictures=Pictures(width=SIZE[0], height=SIZE[1]),
            peers=kind.peers,
            direction="receive" if kind.peers == "chromium" else "send",
            feedback=kind.feedback,
        ),
        on_made,
    )
    return None if call is None else read(folder, kind, call)


def named(link: Link) -> str:
    """As :class:`Calls` names its trace."""
    return f"{link.path.parent.name}/{link.path.name}"


def simulated(count: int, duration_s: float) -> Calls:
    """All controllers over the live links of every family."""
    links = mixed(NAMES, count)
    with tempfile.TemporaryDirectory() as place:
        clips, how = [str(shipped.profile(CLIP))], {"duration_s": duration_s}
        return live(play(Path(place) / "run", links, SIMULATED, clips=clips, options=how))


CalledOver = dict[Link, dict[str, list[Made]]]
"""By link and the kind's title."""


def of_kind(found: CalledOver, kind: Kind, column: str) -> dict[Link, float]:
    """Means per link over the calls that the machine was in time for."""
    counted = {link: [m.figures[column] for m in kinds[kind.title] if not m.late] for link, kinds in found.items()}
    return {link: sum(values) / len(values) for link, values in counted.items() if values}


def called(found: CalledOver) -> Section:
    """A row per kind: means over links, and how often REMB decides."""
    rows = []
    for kind in KINDS:
        per_link = {m: of_kind(found, kind, m.column) for m in CALLED}
        made = [call for kinds in found.values() for call in kinds[kind.title]]
        if not per_link[P95]:
            continue
        cells = [m.text(sum(values.values()) / len(values)) for m, values in per_link.items()]
        shares = [call.capped for call in made if not call.late and call.capped is not None]
        decides = f"{100 * sum(shares) / len(shares):.0f}" if shares else "-"
        counts = f"{len(per_link[P95])}, {len(made)}, {sum(call.late for call in made)}"
        rows.append([kind.title, *cells, decides, counts])
    columns = ["Chromium sends to", *(m.title for m in CALLED), "REMB decides, %", "links, calls, late"]
    return Section("", columns=columns, rows=rows)


def minus(found: CalledOver, base: Kind) -> Section:
    """Every kind minus one of Chromium's own, link by link, with intervals over links."""
    rows = [
        [kind.title, *_apart(found, kind, base)] for kind in KINDS if kind != base and of_kind(found, kind, P95.column)
    ]
    return Section("", columns=[f"minus *{base.title}*", *(m.title for m in CALLED), "links"], rows=rows)


def _apart(found: CalledOver, kind: Kind, base: Kind) -> Iterator[str]:
    count = 0
    for measure in CALLED:
        ours, theirs = of_kind(found, kind, measure.column), of_kind(found, base, measure.column)
        pairs = [(at, ours[link] - theirs[link]) for at, link in enumerate(ours) if link in theirs]
        count = len(pairs)
        yield measure.interval(stats.grouped_mean(pairs), sign=True) if pairs else "-"
    yield str(count)


def per_link(found: CalledOver) -> Section:
    """Every kind on every link."""
    shown: tuple[Shown, ...] = (P95, STALLED, *CALLED[3:])
    rows = []
    for link in found:
        for kind in KINDS:
            values = [of_kind({link: found[link]}, kind, measure.column).get(link) for measure in shown]
            if None not in values:
                cells = [m.text(v) for m, v in zip(shown, values, strict=True) if v is not None]
                rows.append([f"{link.family}, {link.path.name.split('.')[0]}", kind.title, *cells])
    return Section("", columns=["link", "Chromium sends to", *(m.title for m in shown)], rows=rows)


def shown(played: Calls, found: CalledOver, options: Options) -> Found:
    """What the page shows."""
    every = [call for kinds in found.values() for calls in kinds.values() for call in calls]
    sections = [
        means(f"All {len(played)} live links", played, SIMULATED, MEASURES),
        differences(played, SIMULATED),
        differences(played, (OURS,), RIVAL),
    ]
    return Found(
        {
            "clip": CLIP,
            "duration_s": options.duration,
            "counts": ", ".join(f"{family} {count}" for family, count in played.networks().items()),
            "sections": marked(sections),
            "width": SIZE[0],
            "height": SIZE[1],
            "max_kbps": MAX_BPS // 1000,
            "seconds": options.seconds,
            "links": len(found),
            "late": sum(call.late for call in every),
            "calls": len(every),
            "called": [called(found), *(minus(found, base) for base in BASES if of_kind(found, base, P95.column))],
            "per_link": per_link(found),
        }
    )


def play_all(options: Options) -> Found:
    """Simulate, then call; one kind after the other over each link, so that what changes on the machine meets all."""
    played = simulated(options.links, options.duration)
    alive = {call.network for call in played.calls}
    links = [link for link in mixed(CALLED_FAMILIES, options.links) if (link.family, named(link)) in alive]
    found: CalledOver = {link: {kind.title: [] for kind in KINDS} for link in links[: options.calls]}
    for seed in range(1, options.repeats + 1):
        for link in found:
            for at, kind in enumerate(KINDS):
                folder = options.out / f"{link.family}-{link.path.stem}-{at}-{kind.controller}-{kind.feedback}-{seed}"
                made = make(link, kind, seed, folder, options)
                found[link][kind.title] += [made] if made else []
    return shown(played, found, options)


PAGE = Page(
    "receiver",
    play_all,
    {
        "--links": {"default": 10, "help": "simulated, of each family"},
        "--duration": {"default": 60.0, "help": "of a simulated call, in seconds"},
        "--calls": {"default": 3, "help": "links that are called over"},
        "--repeats": {"default": 2, "help": "real calls per link and kind; the seed is the number"},
        "--seconds": {"default": 20.0, "help": "of each real call"},
        "--tries": {"default": 3, "help": "of each real call, while the machine is late for it"},
        "--no-new-calls": {"action": "store_true", "help": "write the page of the calls that there are"},
        "--out": {"default": Path("runs/receiver"), "type": Path, "help": "where the calls' folders are"},
    },
)
