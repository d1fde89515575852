"""The loss of R3Net and the UKF against their utilisation: each over one knob, on the same networks.

R3Net's is the quantile of the coming capacity that its training was guided towards, the UKF's the margin that its rules
keep below the capacity. A policy that is ahead at one loss may be behind at another. So the comparison is of
utilisation at the rival's loss, between the two policies of R3Net that lose less and more than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from markupsafe import Markup

from legato.plan import Plan, shipped
from legato.report import chart
from legato.report.pages import Section
from legato.results.stats import grouped_mean
from legato_studies.papers.r3net.setups import (
    GCC,
    OURS,
    QUICK_PATHS,
    QUICK_WINDOWS,
    SHIPPED,
    TUNED,
    TUNED_RULES,
    Setup,
    networks,
    plan_over,
    policy_of,
    ukf,
)
from legato_studies.papers.reproduction import Row

TABLE = "frontier"
PATHS, WINDOWS = 23, 10
MARGINS_RATIO = (0.0, 0.08, 0.16, 0.24, 0.32, 0.4)
PUBLISHED = {"ukf": (3.8, 73.5), "r3net": (1.9, 77.8)}
"""[r3net] Table 1: loss and utilisation in percent."""


def guided() -> list[str]:
    """The shipped policies of several guidances, by the names of their folders: ``guided-W`` has ``over_weight`` W."""
    return sorted(
        (path.name for path in (shipped.policies_folder() / OURS).glob("guided-*")),
        key=lambda name: float(name.removeprefix("guided-")),
    )


def quantile(name: str) -> float:
    """That a policy was guided towards."""
    return 1.0 / (1.0 + float(name.removeprefix("guided-")))


def margin(ratio: float) -> str:
    """A UKF's label."""
    return f"ukf at margin {ratio:g}"


def plans(setup: Setup, quick: bool) -> dict[str, Plan]:
    """The runs, by folder: one seed on part of the set-up's networks."""
    paths, windows = (QUICK_PATHS, QUICK_WINDOWS) if quick else (PATHS, WINDOWS)
    controllers = [
        *(policy_of(name, name) for name in guided()),
        *(ukf(margin(ratio), {"margin_ratio": ratio}) for ratio in MARGINS_RATIO),
        ukf(TUNED, TUNED_RULES),
        GCC,
        f"{OURS}@label={SHIPPED}",
        *([setup.own] if setup.own != policy_of("", OURS) else []),
    ]
    return {
        f"frontier/path-{number:02}": plan_over(network, controllers, 1)
        for number, network in enumerate(networks(setup.beside, paths, windows))
    }


@dataclass(frozen=True)
class Place:
    """Where a controller is: means over the networks."""

    controller: str
    loss_percent: float
    utilisation_percent: float


def places(calls: Sequence[Any]) -> list[Place]:
    """Of every controller."""
    found = []
    for name in dict.fromkeys(call.controller for call in calls):
        own = [call for call in calls if call.controller == name]
        means = [sum(getattr(call, figure) for call in own) / len(own) for figure in ("loss_percent", _USED)]
        found.append(Place(name, *means))
    return found


_USED = "utilisation_percent"


def judge(calls: Sequence[Any], setup: str) -> list[Row]:
    """R3Net's utilisation at each rival's loss, minus the rival's."""
    found = {place.controller: place for place in places(calls)}
    curve = sorted((found[name] for name in guided() if name in found), key=lambda place: place.loss_percent)
    if len(curve) < 2:
        return []
    rows = []
    for rival, said in ((TUNED, "the ukf tuned to Table 1"), (margin(0.08), "our ukf"), (GCC, "gcc")):
        low, high, share = between(curve, found[rival].loss_percent)
        used = {(name, call.network): getattr(call, _USED) for call in calls for name in [call.controller]}
        leads = [
            (call.recording, (1 - share) * used[low, call.network] + share * used[high, call.network] - call_used)
            for call in calls
            if call.controller == rival
            for call_used in [getattr(call, _USED)]
        ]
        name = f"utilisation at the loss of {said}, minus its own (points)"
        rows.append(Row.of(TABLE, name, None, grouped_mean(leads), "no claim", _WHY, setup=setup))
    rows += [_own(place, calls, setup) for place in found.values()]
    return rows


def _own(place: Place, calls: Sequence[Any], setup: str) -> Row:
    ours = grouped_mean((call.recording, getattr(call, _USED)) for call in calls if call.controller == place.controller)
    name = f"{_said(place.controller)}: utilisation (%), at a loss of {place.loss_percent:.2f} %"
    return Row.of(TABLE, name, None, ours, "not comparable", "a point of the curve", setup=setup)


_WHY = "the paper has one policy and one UKF, at losses that differ"


def _said(controller: str) -> str:
    guided_to = f"r3net guided to the quantile {quantile(controller):.2f}" if controller.startswith("guided-") else ""
    return guided_to or controller


def between(curve: Sequence[Place], loss_percent: float) -> tuple[str, str, float]:
    """The two policies around a loss and the share of the second; beyond the curve, its end alone."""
    for low, high in pairwise(curve):
        if low.loss_percent <= loss_percent <= high.loss_percent:
            return low.controller, high.controller, _share(low, high, loss_percent)
    end = curve[0] if loss_percent < curve[0].loss_percent else curve[-1]
    return end.controller, end.controller, 0.0


def _share(low: Place, high: Place, loss_percent: float) -> float:
    wide = high.loss_percent - low.loss_percent
    return (loss_percent - low.loss_percent) / wide if wide > 0.0 else 0.0


def document(calls: Sequence[Any]) -> list[dict[str, Any]]:
    """As ``reproduction.json`` has it."""
    return [asdict(place) for place in places(calls)]


def _axes(calls: Sequence[Any], *, hints: bool) -> chart.Axes:
    """A cross for each controller, and a line through the ones that differ in one knob."""
    found = {place.controller: (place.loss_percent, place.utilisation_percent) for place in places(calls)}
    knobs = [[name for name in guided() if name in found], [margin(ratio) for ratio in MARGINS_RATIO]]
    lines = [chart.Line(f"c{n}", sorted(found[name] for name in names)) for n, names in enumerate(knobs)]
    kinds = {TUNED: 1, GCC: 2} | dict.fromkeys(knobs[1], 1)
    crosses = [(kinds.get(name, 0), at) for name, at in found.items()] + [(3, at) for at in PUBLISHED.values()]
    lines += [chart.Line(f"c{n}", stroke) for n, at in crosses for stroke in _cross(at)]
    said = {name: f"{_said(name)}: {at[1]:.1f} % at {at[0]:.2f} %" for name, at in found.items()}
    dots = [chart.Dot("c0", at, said[name], 0.0) for name, at in found.items()] if hints else []
    values = [at[1] for _, at in crosses]
    low, high = 10.0 * (min(values) // 10), 10.0 * (max(values) // 10 + 1)
    return chart.Axes(lines, dots, low=low, high=high, height=300, title="utilisation, %")


def _cross(at: chart.Point) -> list[list[chart.Point]]:
    (x, y), (wide, high) = at, (0.06, 1.2)
    return [[(x - wide, y), (x + wide, y)], [(x, y - high), (x, y + high)]]


NAMES = ("R3Net over its guidance", "UKF over its margin", "GCC", "published: UKF, R3Net")


def picture(calls: Sequence[Any]) -> Markup:
    """The frontier as an SVG file."""
    return chart.figure([_axes(calls, hints=False)], title="Utilisation over loss", names=NAMES, unit=" % loss")


def section(calls: Sequence[Any]) -> Section:
    """The frontier on the page."""
    title = "Utilisation (%) over packet loss (%)"
    legend = [(f"c{n}", name) for n, name in enumerate(NAMES)]
    note = "As printed; means over networks, one call each. Further up and further left is better."
    drawn = chart.draw([_axes(calls, hints=True)], title, width=720, unit=" %")
    return Section("What loss buys", note, legend=legend, charts=[(title, drawn)])


def write_picture(folder: Path, calls: Sequence[Any]) -> None:
    """Next to the figures, for documents."""
    (folder / "frontier.svg").write_text(str(picture(calls)), encoding="utf-8")
