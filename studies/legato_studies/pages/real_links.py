"""Real calls over recorded links, `legato` against `gcc` and against Chromium alone: writes
docs/measured/real-links.md.

    python -m legato_studies.pages real_links [--links N] [--repeats N] [--seconds S] [--out FOLDER]

Links are live ones (no second below 50 kbit/s) that `legato` was not tuned on, spread over the families of the
leaderboard. Over each, Legato calls Chromium with `legato` and with `gcc`, and Chromium calls Chromium: the receiver is
the same program in all three. The first two are also simulated, with the same link, length, limits and pictures, to see
whether a simulation has the same one ahead. For that the scene's profile is measured first, which takes a minute. Each
call is a run folder below ``--out``; one that the machine was late for is made again, up to ``--tries`` times, and then
marked as late. A call that counts is not made again, so a run that was stopped goes on where it was.

As shipped: 15 links, 3 calls of 20 s of each kind, 135 calls; 75 minutes on a quiet machine with two processors.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import legato
from legato import _core
from legato.call import Pictures
from legato.links import Link
from legato.plan import Choice, clips
from legato.report.pages import Section
from legato.results import stats
from legato.results.figures import Shown
from legato.results.query import query
from legato.runs.sweep import sweep
from legato_studies.leaderboard import NAMES, mixed
from legato_studies.leaderboard.measures import GOODPUT, P95, PICTURE, STALLED
from legato_studies.page import Found, Options, Page, table
from legato_studies.timed_calls import TimedCall, in_time

OURS, RIVAL, BROWSERS = "legato", "gcc", "Chromium to Chromium"
KINDS = (OURS, RIVAL, BROWSERS)
SIZE = (640, 360)
FPS, PICTURES = 30, 300
"""Of the generated scene that calls send: its profile covers ten seconds, played in a loop as calls do."""


FIGURES = (PICTURE, P95, STALLED, GOODPUT)
NEAR = {PICTURE: 0.1, P95: 5.0, STALLED: 0.001}
"""What decides; differences smaller than this, in the column's own unit, have no sign."""


def limits(arguments: Options) -> dict[str, Any]:
    """The changes of all calls to the scenario."""
    return {"duration_s": arguments.seconds, "limits.max_bps": arguments.max_kbps * 1_000}


def make(link: Link, kind: str, seed: int, folder: Path, arguments: Options) -> TimedCall:
    """The call, made if it was not, and again while the machine is late."""

    def on_made(call: TimedCall) -> None:
        shown = ", ".join(f"{text(figure, call.row[figure.column])} {figure.title}" for figure in FIGURES)
        late = f"; late: {call.lateness_p999_ms:.1f} ms" if call.late else ""
        print(f"{link.family} {link.path.stem}, {kind}, call {seed}: {shown}{late}", flush=True)

    call = in_time(
        folder,
        arguments.tries,
        lambda: legato.real_calls(
            "cellular",
            out=folder,
            options={
                **limits(arguments),
                "forward.capacity": {"trace": str(link.path), "scale": link.scale},
            },
            controllers=[] if kind == BROWSERS else [kind],
            seeds=[seed],
            pictures=Pictures(width=SIZE[0], height=SIZE[1]),
            peers="chromium-chromium" if kind == BROWSERS else "chromium",
        ),
        on_made,
    )
    if call is None:
        raise SystemExit(f"{folder}: no call was made with --tries {arguments.tries}")
    return call


Means = dict[str, dict[str, float | None]]
"""By kind and column; ``None``: not measured, as the picture is not where a browser sends."""


def text(figure: Shown, value: float | None) -> str:
    """The figure, or a dash where there is none."""
    return "-" if value is None else figure.text(value)


def apart(figure: Shown, found: Means, rival: str) -> float | None:
    """`legato` minus another, where both have the figure."""
    ours, other = (found.get(kind, {}).get(figure.column) for kind in (OURS, rival))
    return None if ours is None or other is None else ours - other


def scene_profile(folder: Path) -> Path:
    """The generated scene as OpenH264 codes it, measured unless it was: simulations shall have the pictures that calls
    send.
    """
    found = folder / "scene.safetensors"
    if not found.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as place:
            film = Path(place) / "scene.y4m"
            _core.write_scene(str(film), *SIZE, FPS, PICTURES)
            clips.profiler().profile_clip(film, found, encoders=["openh264"], looped=True)
    return found


def simulate(arguments: Options) -> tuple[dict[Link, Means], dict[Link, float]]:
    """The live links of the leaderboard that `legato` was not tuned on, of each family in turn. Each has both
    controllers' simulated figures, means over the seeds of the real calls, and the share of the time for which a link's
    gaps stall every sender.
    """
    links = mixed(NAMES, 10)
    plan = Choice(
        "cellular",
        options={**limits(arguments), "video.encoder": "openh264"},
        controllers=[OURS, RIVAL],
        traces=[link.spec for link in links],
        clips=[str(scene_profile(arguments.out))],
        seeds=arguments.repeats,
        log="summary",
    ).plan()
    found: dict[Link, Means] = {}
    floors: dict[Link, float] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        sweep(plan, folder)
        columns = ", ".join(f"avg({figure.column}) AS {figure.column}" for figure in FIGURES)
        rows = query(
            folder,
            f"SELECT min(call) AS call, controller, max(dead_link_s) AS dead_s, "
            f"avg(stall_floor_ratio) AS stall_floor_ratio, {columns} "
            "FROM summary GROUP BY controller, trace ORDER BY call",
        )
        for row in rows:
            _, link, _, _ = plan.places(row["call"])
            if row["dead_s"] == 0 and None not in row.values():
                found.setdefault(links[link], {})[row["controller"]] = {f.column: row[f.column] for f in FIGURES}
                floors[links[link]] = row["stall_floor_ratio"]
    both = [link for link in links if len(found.get(link, {})) == 2][: arguments.links]
    return {link: found[link] for link in both}, {link: floors[link] for link in both}


def means(calls: Mapping[str, Sequence[TimedCall]]) -> Means:
    """Of each kind, over the calls that the machine was in time for."""
    found: Means = {}
    for kind, made in calls.items():
        counted = [call for call in made if not call.late]
        if counted:
            values = {f.column: [c.row[f.column] for c in counted] for f in FIGURES}
            found[kind] = {column: None if None in each else sum(each) / len(each) for column, each in values.items()}
    return found


def sign(figure: Shown, difference: float) -> int:
    """1: ahead; -1: behind; 0: level."""
    if abs(difference) < NEAR[figure]:
        return 0
    return 1 if (difference > 0) == figure.more_is_better else -1


def signs_match(real: Means, foretold: Means, figure: Shown) -> bool:
    """Whether the same one is ahead called and simulated; level in both is the same too."""
    called, model = apart(figure, real, RIVAL), apart(figure, foretold, RIVAL)
    return called is not None and model is not None and sign(figure, called) == sign(figure, model)


def per_link(foretold: Mapping[Link, Means], real: Mapping[Link, Means]) -> Section:
    """A row per link: the figures called, and by how much `legato` differs, called (simulated)."""

    def all_kinds(figure: Shown) -> Callable[[Link], str]:
        return lambda link: " / ".join(text(figure, real[link].get(kind, {}).get(figure.column)) for kind in KINDS)

    def difference(figure: Shown) -> Callable[[Link], str]:
        def shown(link: Link) -> str:
            called, model = apart(figure, real[link], RIVAL), apart(figure, foretold[link], RIVAL)
            other = "" if signs_match(real[link], foretold[link], figure) else " **other sign**"
            return f"{text(figure, called)} ({text(figure, model)}){other}"

        return shown

    columns = {
        "link": lambda link: f"{link.family}, {link.path.name.split('.')[0]}",
        **{figure.title: all_kinds(figure) for figure in FIGURES},
        **{f"{figure.title}: minus gcc": difference(figure) for figure in NEAR},
    }
    return table(columns, real)


def in_sum(foretold: Mapping[Link, Means], real: Mapping[Link, Means]) -> Section:
    """`legato` minus each of the others, with intervals over links, called and simulated."""
    rivals = {
        f"`{RIVAL}`, called": (RIVAL, real),
        f"`{RIVAL}`, simulated": (RIVAL, foretold),
        f"{BROWSERS}, called": (BROWSERS, real),
    }

    def difference(figure: Shown) -> Callable[[str], str]:
        def shown(name: str) -> str:
            rival, source = rivals[name]
            pairs = {
                link: (difference, found[rival][figure.column] or 0.0)
                for link, found in source.items()
                if (difference := apart(figure, found, rival)) is not None
            }
            if not pairs:
                return "-"
            estimate = stats.grouped_mean((link, difference) for link, (difference, _) in pairs.items())
            of = figure.text(sum(other for _, other in pairs.values()) / len(pairs))
            return f"{figure.interval(estimate, sign=True)} of {of}, {len(pairs)} links"

        return shown

    return table({"minus": str, **{f.title: difference(f) for f in FIGURES}}, rivals)


def bound(foretold: Mapping[Link, Means], floors: Mapping[Link, float]) -> dict[str, str]:
    """The stalls that no sender could avoid, and the stalls above them."""
    floor = sum(floors.values()) / len(floors)
    ours, rival = (
        sum(found[kind][STALLED.column] or 0.0 for found in foretold.values()) / len(foretold) for kind in (OURS, RIVAL)
    )
    shares = {"floor": floor, "ours": ours, "rival": rival, "ours_above": ours - floor, "rival_above": rival - floor}
    return {name: STALLED.text(share) for name, share in shares.items()}


def found(
    foretold: Mapping[Link, Means],
    floors: Mapping[Link, float],
    made: Mapping[Link, Mapping[str, Sequence[TimedCall]]],
    options: Options,
) -> Found:
    """What the page shows."""
    real = {link: means(calls) for link, calls in made.items()}
    both = {link: found for link, found in real.items() if OURS in found and RIVAL in found}
    late = sum(call.late for kinds in made.values() for calls in kinds.values() for call in calls)
    total = sum(len(calls) for kinds in made.values() for calls in kinds.values())
    each = [
        f"{figure.title} {sum(signs_match(found, foretold[link], figure) for link, found in both.items())}"
        for figure in NEAR
    ]
    all_three = sum(all(signs_match(found, foretold[link], figure) for figure in NEAR) for link, found in both.items())
    near = ", ".join(f"{figure.text(NEAR[figure])} of {figure.title}" for figure in NEAR)
    return Found(
        {
            "seconds": options.seconds,
            "links": len(made),
            "asked_links": options.links,
            "repeats": options.repeats,
            "max_kbps": options.max_kbps,
            "late": f"**{late} of {total} calls are late** and count nowhere." if late else "No call is late.",
            "in_sum": in_sum(foretold, real),
            **bound(foretold, floors),
            "all_three": all_three,
            "both": len(both),
            "each": "; ".join(each),
            "near": near,
            "per_link": per_link(foretold, real),
        }
    )


def play(options: Options) -> Found:
    """Simulate, then call; one kind after the other over each link, so that what changes on the machine meets all."""
    foretold, floors = simulate(options)
    made: dict[Link, dict[str, list[TimedCall]]] = {link: {kind: [] for kind in KINDS} for link in foretold}
    for seed in range(1, options.repeats + 1):
        for link in foretold:
            for kind in KINDS:
                name = f"{link.family}-{link.path.stem}-{kind.replace(' ', '-')}-{seed}-{options.seconds:g}s"
                made[link][kind].append(make(link, kind, seed, options.out / name, options))
    return found(foretold, floors, made, options)


PAGE = Page(
    "real-links",
    play,
    {
        "--links": {"default": 15, "help": "at most as many"},
        "--repeats": {"default": 3, "help": "calls per link and kind; the seed is the number"},
        "--seconds": {"default": 20.0, "help": "of each call"},
        "--tries": {"default": 3, "help": "of each call, while the machine is late for it"},
        "--max-kbps": {"default": 2_000, "help": "of all controllers"},
        "--out": {"default": Path("runs/real-links"), "type": Path, "help": "where the calls' folders are"},
    },
)
