"""The claims of [nvc-cc] and our figures: its Table 3, Figures 4 to 12, and generalisation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from legato.links import CAPACITIES
from legato.results.figures import METRICS
from legato.results.query import query
from legato.results.stats import Array, Estimate, of_separate_groups
from legato_studies.papers.nvc_cc import readings
from legato_studies.papers.nvc_cc.sessions import Sessions
from legato_studies.papers.nvc_cc.sweeps import FIG_12, GUARDED, PRINTED, PRINTED_GCC, ROUND_TRIP, RULES
from legato_studies.papers.nvc_cc.trainings import H264_LABEL, Convergence
from legato_studies.papers.reproduction import AS_PRINTED, STRICTER, Grid, Row
from legato_studies.papers.verdict import Claim, Lead, Value, Verdict, judged

OURS = "nvc-cc"
Curves = Mapping[str, Sequence[Mapping[str, Any]]]
"""Trainings by policy, as ``training.json`` has them."""

# [nvc-cc] Table 3: throughput in Mbit/s, p98 delay in ms, loss in %.
TABLE_3 = {
    "oracle": (3.17, 113.0, 0.1),
    "gcc": (1.22, 287.0, 1.5),
    "salsify": (1.72, 272.0, 5.6),
    "fbra": (2.19, 478.0, 18.9),
    "aurora": (2.59, 376.0, 4.6),
    GUARDED: (2.12, 325.0, 2.4),
    "nvc-cc": (2.55, 355.0, 3.5),
}
TABLE_3_WITHIN_RATIO = 0.1
"""How far a figure of Table 3 may be from the printed one, as a share of it."""
HOURS = 10.0
"""Of calls in each training: 720,000 decisions of 50 ms."""
WITHIN = 0.02
"""A training has reached its best once it is this close to it, as a share of its gain: evaluations are noisy."""


def judge(
    sessions: Sessions,
    curves: Mapping[str, Curves],
    folders: Sequence[Path] = (),
    convergences: Sequence[Convergence] = (),
    rewards: Mapping[str, Mapping[str, Mapping[str, Array]]] | None = None,
) -> list[Row]:
    """Every row for which there are figures.

    Args:
        sessions: of the sweeps.
        curves: the trainings of each set-up.
        folders: the sweeps' run folders.
        convergences: the trainings of Fig. 7.
        rewards: what each set-up's policies earn by each reading of eq. (3): see ``nvc_cc_readings``.
    """
    rows = [row for setup, of_setup in curves.items() for row in _learning(of_setup, setup)]
    rows += [row for setup, of_setup in (rewards or {}).items() for row in _by_reading(of_setup, setup)]
    rows += [*_synthetic(sessions), *_table_3(sessions), *_round_trip(sessions)]
    rows += [row for setting in FIG_12 for row in _recorded(sessions, setting)]
    return [
        *rows,
        *_generalisation(sessions),
        *_h264(sessions),
        *_sensitivity(convergences),
        *_small(sessions, folders),
    ]


_WHAT: Mapping[str, tuple[str, str]] = {
    "ssim_db_mean": ("SSIM", "dB"),
    "viewed_ssim_db_mean": ("SSIM", "dB"),
    "frame_delay_p98_ms": ("p98 frame delay", "ms"),
    "viewed_delay_p98_ms": ("p98 frame delay", "ms"),
    "stalls_per_s": ("stalls a second", ""),
    "stall_ratio": ("time stalled", ""),
    "receiver_rate_bps": ("throughput", "Mbit/s"),
    "loss_ratio": ("loss", "%"),
}
"""Column of the summary: what claims call it, and the unit of differences."""


def _in_unit(ours: Estimate, unit: str) -> Estimate:
    scale = {"%": 100.0, "Mbit/s": 1e-6}.get(unit, 1.0)
    mean, low, high = (None if x is None else x * scale for x in (ours.mean, ours.low, ours.high))
    return replace(ours, mean=mean, low=low, high=high)


@dataclass(frozen=True)
class Setup:
    """What a claim on networks of Table 2 is read from."""

    name: str
    setting: str
    gcc: str
    """The controller that stands for the paper's GCC."""
    picture: str
    delay: str

    def rival(self, printed: str) -> str:
        """The controller that stands for one of the paper's."""
        return self.gcc if printed == "gcc" else printed


# Frames that are never shown cost nothing in the paper's measures; stricter, each is charged its wait.
SETUPS = (
    Setup(AS_PRINTED, PRINTED, PRINTED_GCC, "ssim_db_mean", "frame_delay_p98_ms"),
    Setup(STRICTER, "synthetic", "gcc", "viewed_ssim_db_mean", "viewed_delay_p98_ms"),
)
PRINTED_RIVALS = ("gcc", "salsify", "fbra", "aurora", "onrl", GUARDED)


def _row(table: str, name: str, printed: str | None, ours: Estimate, unit: str, found: Verdict, why: str) -> Row:
    found = "not comparable" if ours.mean is None else found
    return Row.of(table, name, printed, _in_unit(ours, unit), found, why, unit=unit)


def _judged(table: str, name: str, printed: str, ours: Estimate, unit: str, claim: Claim) -> Row:
    """A claim whose figures are in the row's unit."""
    return _row(table, name, printed, ours, unit, *judged(claim, _in_unit(ours, unit)))


def _at_least(table: str, name: str, printed: float, ours: Estimate, unit: str, text: str = "") -> Row:
    return _judged(table, name, text or f"≥ {printed:g}", ours, unit, Lead(printed or None))


@dataclass(frozen=True)
class _Leads:
    """A controller's leads over others on the networks of a setting."""

    sessions: Sessions
    setting: str
    table: str
    ours: str = OURS

    def over(self, rivals: Sequence[str]) -> list[str]:
        """The rivals that were run."""
        ran = self.sessions.controllers(self.setting)
        return [rival for rival in rivals if rival in ran] if self.ours in ran else []

    def named(self, figure: str, rival: str, of: str = "", known_as: str = "") -> tuple[str, Estimate, str, str]:
        """Name, size and unit of the lead over one of them, and on which side of the rival's it lies."""
        what, unit = _WHAT[figure]
        lower = METRICS[figure].better == "lower"
        side, pair = ("below", (rival, self.ours)) if lower else ("above", (self.ours, rival))
        name = f"{what}{of} {side} {known_as or rival}'s"
        return name, self.sessions.difference(self.setting, *pair, figure), unit, side

    def row(self, figure: str, rival: str, printed: float | None = None, known_as: str = "") -> Row:
        """Of a lead that the paper prints, or only claims."""
        name, lead, unit, side = self.named(figure, rival, known_as=known_as)
        return _at_least(self.table, name, printed or 0.0, lead, unit, side if printed is None else "")


# --- Figure 10: how soon and how far --------------------------------------------------------------------------------


def _learning(curves: Curves, setup: str) -> Iterator[Row]:
    for row in _progress_of(curves):
        yield replace(row, setup=setup)


def _progress_of(curves: Curves) -> Iterator[Row]:
    trainings = {name: [_Training(seed) for seed in seeds] for name, seeds in curves.items() if seeds}
    table = "Fig. 10"
    why = "the reward's quality is normalised by the codec, its latency term is a reading: compare ratios"
    for name, printed in (("nvc-cc", "0.859"), ("aurora", "0.573"), ("onrl", "0.682")):
        if name in trainings:
            best = of_separate_groups([[t.best for t in trainings[name]]], lambda m: m[0])
            yield _row(table, f"best test reward of {name}", printed, best, "", "not comparable", why)
    for rival, percent in (("aurora", 50.0), ("onrl", 26.0)):
        if OURS not in trainings or rival not in trainings:
            continue
        ours, theirs = trainings[OURS], trainings[rival]
        gain = of_separate_groups([[t.best for t in ours], [t.best for t in theirs]], lambda m: m[0] / m[1] - 1.0)
        yield _at_least(table, f"reward above {rival}'s", percent, gain, "%")
        # As printed: each converges to its own best. Our addition: the time at which we are as good as they become.
        sooner = of_separate_groups([[t.converged() for t in each] for each in (ours, theirs)], _saved)
        yield _at_least(table, f"converges sooner than {rival}, in hours of calls", 41.0, sooner, "%")
        bar = float(np.mean([t.best for t in theirs]))
        reached = [t.reaches(bar) for t in ours]
        saved = of_separate_groups([reached, [t.converged() for t in theirs]], _saved)
        row = _at_least(table, f"reaches {rival}'s best sooner, in hours of calls", 41.0, saved, "%")
        yield row if np.isfinite(reached).all() else replace(row, verdict="not met", why="a training never does")


def _saved(hours: list[Array]) -> Array:
    return 1.0 - hours[0] / hours[1]


def _by_reading(rewards: Mapping[str, Mapping[str, Array]], setup: str) -> Iterator[Row]:
    """Fig. 10's ratios under each reading of eq. (3); the first policy is ours, all met the same networks."""
    (_, ours), *rivals = rewards.items()
    why = "a reading of eq. (3)"
    for reading in ours:
        for name, by_reading in rewards.items():
            mean = readings.best(by_reading[reading])
            row = _row("Fig. 10, readings", f"{reading}: reward of {name}", None, mean, "", "no claim", why)
            yield replace(row, setup=setup)
        for (name, theirs), printed in zip(rivals, (50.0, 26.0), strict=True):
            more = readings.above(ours[reading], theirs[reading])
            row = _at_least("Fig. 10, readings", f"{reading}: reward above {name}'s", printed, more, "%")
            yield replace(row, setup=setup)


class _Training:
    """Rewards on held-out networks over a training: rows of (steps, seconds, reward). Every training is of as many
    hours of calls, however long its decisions last."""

    def __init__(self, seed: Mapping[str, Any]) -> None:
        self.points = np.array(seed["evaluations"], dtype=np.float64)

    @property
    def best(self) -> float:
        return float(self.points[:, 2].max())

    def reaches(self, reward: float) -> float:
        """Hours of calls at the first evaluation of at least this; infinite where there is none."""
        hits = np.flatnonzero(self.points[:, 2] >= reward)
        return HOURS * float(self.points[hits[0], 0] / self.points[-1, 0]) if hits.size else np.inf

    def converged(self) -> float:
        """Hours of calls until it has reached its best."""
        first = float(self.points[0, 2])
        return self.reaches(self.best - WITHIN * abs(self.best - first))


# --- Figure 11 and Table 3: networks of the training's distribution ---------------------------------------------------


def _synthetic(sessions: Sessions) -> Iterator[Row]:
    for setup in SETUPS:
        for row in _leads_in(sessions, setup):
            yield replace(row, setup=setup.name)


def _leads_in(sessions: Sessions, setup: Setup) -> Iterator[Row]:
    leads = _Leads(sessions, setup.setting, "Fig. 11")
    for named in PRINTED_RIVALS:
        rival = setup.rival(named)
        if not leads.over([rival]):
            continue
        is_rule = named in RULES
        yield leads.row(setup.picture, rival, 1.6 if is_rule else 0.3, named)
        yield leads.row(setup.delay, rival, 3.0 if is_rule else 200.0, named)
        for figure in ("stalls_per_s", "stall_ratio"):
            share = sessions.fewer(leads.setting, OURS, rival, figure)
            name = f"{_WHAT[figure][0]} fewer than {named}'s"
            if named == "gcc":
                yield _row(leads.table, name, None, share, "%", "no claim", "the paper excepts GCC")
            else:
                yield _at_least(leads.table, name, 20.0, share, "%", "20 to 77")


_OWN = (
    METRICS["ssim_db_mean"].named("SSIM of frames shown, dB"),
    METRICS["viewed_ssim_db_mean"].named("SSIM as viewed, dB"),
    METRICS["frame_delay_p98_ms"].named("p98 frame delay, ms", digits=0),
    METRICS["viewed_delay_p98_ms"].named("p98 as viewed, ms", digits=0),
    METRICS["stalls_per_s"].named("stalls a second"),
    METRICS["stall_ratio"].named("time stalled, %"),
)
"""Columns of a controller's own figures."""


def own_figures(sessions: Sessions) -> Iterator[Grid]:
    """Every controller's own figures where Fig. 11 compares them; [nvc-cc] draws them and prints none."""
    for setup in SETUPS:
        title = f"Figure 11's networks, {setup.name}: each controller's own figures"
        yield sessions.grid("Fig. 11", title, setup.setting, (*RULES, "aurora", "onrl", GUARDED, OURS), _OWN)


_AT_THE_NETWORK = (
    ("receiver_rate_bps", "throughput", "Mbit/s"),
    ("frame_delay_p98_ms", "p98 delay", "ms"),
    ("loss_ratio", "loss", "%"),
)


def _table_3(sessions: Sessions) -> Iterator[Row]:
    for setup in SETUPS:
        yield from (
            replace(row, setup=setup.name) for row in _printed_figures(sessions, setup, setup.setting, "Table 3")
        )
        leads = _Leads(sessions, setup.setting, "Table 3")
        for figure, at, sign, rivals in (
            ("receiver_rate_bps", 0, 1.0, ("gcc", "salsify", "fbra", GUARDED)),
            ("loss_ratio", 2, -1.0, ("salsify", "fbra", "aurora")),
        ):
            for named in rivals:
                rival = setup.rival(named)
                # Differences of printed figures, without what floating point adds to them.
                printed = round(sign * (TABLE_3[OURS][at] - TABLE_3[named][at]), 2)
                if leads.over([rival]):
                    yield replace(leads.row(figure, rival, printed, named), setup=setup.name)


def _round_trip(sessions: Sessions) -> Iterator[Row]:
    """The other reading of Table 2's delay."""
    return _printed_figures(sessions, SETUPS[0], ROUND_TRIP, "Table 3, round trip")


def _printed_figures(sessions: Sessions, setup: Setup, setting: str, table: str) -> Iterator[Row]:
    """Throughput, delay and loss of each controller of Table 3."""
    for named, printed in TABLE_3.items():
        if setup.rival(named) not in sessions.controllers(setting):
            continue
        for (figure, what, unit), value in zip(_AT_THE_NETWORK, printed, strict=True):
            ours = sessions.mean(setting, setup.rival(named), figure)
            claim = Value(value, TABLE_3_WITHIN_RATIO * value)
            yield _judged(table, f"{what} of {named}", f"{value:g}", ours, unit, claim)


# --- Figure 12 and beyond: recorded links -----------------------------------------------------------------------------


def _recorded(sessions: Sessions, setting: str) -> Iterator[Row]:
    leads = _Leads(sessions, setting, f"Fig. 12, {setting}")
    for rival in leads.over(("aurora", GUARDED)):
        for figure in ("ssim_db_mean", "frame_delay_p98_ms", "stalls_per_s", "stall_ratio"):
            yield leads.row(figure, rival)
    why = "the paper calls its lead over rule-based ones marginal here and prints no figure"
    for rival in leads.over(RULES[1:]):
        for figure in ("ssim_db_mean", "frame_delay_p98_ms"):
            name, lead, unit, _ = leads.named(figure, rival)
            yield _row(leads.table, name, "marginal", lead, unit, "not comparable", why)


def _generalisation(sessions: Sessions) -> Iterator[Row]:
    """Not the paper's: nothing that is shipped should lose to GCC on links it was not trained on."""
    for setting in CAPACITIES:
        ran = sessions.controllers(setting)
        for controller in (name for name in (OURS, "aurora", "onrl", GUARDED) if {name, "gcc"} <= set(ran)):
            for figure in ("qoe_p", "qoe_d"):
                more = sessions.difference(setting, controller, "gcc", figure)
                name = f"{setting}: {figure} of {controller} less gcc's"
                yield Row.of("Generalisation", name, None, more, "no claim", "not of the paper", unit="")


# --- Figures of a few calls -------------------------------------------------------------------------------------------


def _h264(sessions: Sessions) -> Iterator[Row]:
    # Trained with H.264, as the paper's; and the shipped one, trained with the loss-tolerant codec.
    for agent, name in ((H264_LABEL, "OnRL"), (GUARDED, "OnRL, trained with another codec,")):
        leads = _Leads(sessions, "Fig. 4", "Fig. 4", agent)
        for rival in leads.over(RULES[1:]):
            for figure in ("viewed_ssim_db_mean", "frame_delay_p98_ms"):
                named, lead, unit, side = leads.named(figure, rival, f" of {name}")
                yield _at_least(leads.table, f"{named}, H.264", 0.0, lead, unit, side)


def _sensitivity(convergences: Sequence[Convergence]) -> Iterator[Row]:
    """What a training under a safeguard earns until it has converged, and how soon that is, by sensitivity."""
    table = "Fig. 7"
    by_kind: dict[float | None, list[Convergence]] = {}
    for each in convergences:
        by_kind.setdefault(each.n_std, []).append(each)
    why = "the paper draws a point and prints no values, and its network is not named"
    for n_std, found in by_kind.items():
        name = "without a safeguard" if n_std is None else f"safeguard above {n_std:g} deviations"
        for what, values, unit in (
            ("reward a decision until convergence", [each.reward for each in found], ""),
            ("decisions until convergence", [each.steps / 1e3 for each in found], "thousand"),
        ):
            mean = of_separate_groups([values], lambda m: m[0])
            yield _row(table, f"{what}, {name}", None, mean, unit, "no claim", why)
    free, guarded = by_kind.get(None, []), [each for each in convergences if each.n_std is not None]
    if not free or not guarded:
        return
    sensitive = by_kind[min(each.n_std for each in guarded if each.n_std is not None)]
    pairs = list(zip(sensitive, free, strict=True))
    more = of_separate_groups([[one.reward - other.reward for one, other in pairs]], lambda m: m[0])
    yield _at_least(table, "reward until convergence, most sensitive less none", 0.0, more, "", "above")
    longer = of_separate_groups([[(one.steps - other.steps) / 1e3 for one, other in pairs]], lambda m: m[0])
    yield _at_least(table, "decisions until convergence, most sensitive less none", 0.0, longer, "thousand", "above")


def _small(sessions: Sessions, folders: Sequence[Path]) -> Iterator[Row]:
    by_name = {folder.name: folder for folder in folders}
    if "fig-5" in by_name:
        shares = _rising(by_name["fig-5"])
        why = "of a trained policy's answers; the paper's are of a training's"
        for name, text in ((GUARDED, "> 70"), ("onrl", "about half")):
            what = f"answers of {name} that raise the rate"
            yield _row("Fig. 5", what, text, shares[name], "%", "not comparable", why)
    if "fig-6" in by_name:
        switches, fallback_s = _safeguard(by_name["fig-6"])
        why = "the link's rate is not printed, the threshold's formula neither; a trained policy"
        for name, text, value, unit in (
            ("switches to GCC in 30 s", "160", switches, ""),
            ("time in GCC of 30 s", "8", fallback_s, "s"),
        ):
            yield _row("Fig. 6", name, text, Estimate(value, None, None, 1), unit, "not comparable", why)
    high, low = "Fig. 8", "fig-8-1068"
    if low in by_name:
        lossy = sessions.mean("fig-8-1810", "fixed", "ssim_db_mean").mean
        clean = sessions.mean(low, "fixed", "ssim_db_mean").mean
        if lossy is not None and clean is not None:
            gain = Estimate(lossy - clean, None, None, 1)
            name = "SSIM at 1810 kbit/s and 10 % loss above 1068 kbit/s without"
            yield _judged(high, name, "about 2", gain, "dB", Lead(2.0))
    if OURS in sessions.controllers("Fig. 9"):
        gain = sessions.difference("Fig. 9", OURS, GUARDED, "ssim_db_mean")
        name = "SSIM without a safeguard above OnRL with one, 1 Mbit/s and a queue of 1.5 KB"
        yield _at_least("Fig. 9", name, 0.2, gain, "dB", "about 0.2")


def _rising(folder: Path) -> dict[str, Estimate]:
    """The share of OnRL's actions that are above the previous one, among the actions that differ from it, by
    controller.
    """
    rows = query(
        folder,
        "with answers as (select call, value, lag(value) over (partition by call order by time_ms) as before "
        "from gauges where name = 'action') "
        "select controller, avg(case when value > before then 1.0 else 0.0 end) as share "
        "from answers join summary using (call) where value != before group by controller, seed",
    )
    return {
        name: of_separate_groups([[row["share"] for row in rows if row["controller"] == name]], lambda means: means[0])
        for name in ("onrl", GUARDED)
    }


def _safeguard(folder: Path) -> tuple[float, float]:
    """How often and how long the safeguard was in control."""
    gauges = query(folder, "select name, max(value) as most from gauges where name like 'safeguard_%' group by name")
    values = {row["name"]: float(row["most"]) for row in gauges}
    return values["safeguard_switches"], values["safeguard_fallback_s"]
