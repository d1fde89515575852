"""The compared figures of CLCC and its rivals (docs/papers/clcc.md): printed changes, ours with intervals, verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from legato.results.stats import FEWEST, Estimate, of_groups, of_separate_groups
from legato_studies.papers.clcc import scores
from legato_studies.papers.clcc.setups import (
    CONSTANT,
    GCC,
    HRCC,
    MEDIAN,
    MODULE,
    OWN,
    SENDER,
    SETUPS,
    SHIPPED,
    TABLE_II,
    Setup,
)
from legato_studies.papers.reproduction import Row
from legato_studies.papers.verdict import Lead, Verdict, judged

BETTER = 0.0
"""The paper's drawing shows it better than the rival's, without a figure."""
VMAF = "vmaf"
LOWER = "lower"
"""The paper says that CLCC's is lower, without a figure."""
Printed = Mapping[str, Mapping[str, float | str]]
"""The printed figures, by rival and set of networks; an absent figure is not claimed."""


@dataclass(frozen=True)
class Figure:
    """One of the paper's figures of merit: how it changes from a rival's to CLCC's."""

    name: str
    column: str
    published: Printed
    """Percent of the rival's where relative, else a difference."""
    relative: bool
    less_is_better: bool
    viewed: str = ""
    """The column in its place where frames that are never shown are charged."""


def _both(random: float | str, lte: float | str, hrcc_random: float | str, hrcc_lte: float | str | None) -> Printed:
    """Against GCC on random networks and on LTE, then against HRCC."""
    of_hrcc = {"random": hrcc_random} | ({} if hrcc_lte is None else {"LTE": hrcc_lte})
    return {GCC: {"random": random, "LTE": lte}, HRCC: of_hrcc}


# [clcc] §V: Fig. 3 and Fig. 4, then Fig. 5 and Fig. 6: changes against GCC, on random and LTE traces. Against HRCC it
# prints no figures: all are better but the receiving rate. In §V-B it says only that HRCC's pictures are good on LTE,
# and that CLCC's receiving rate is low, the one thing in which the others are ahead.
FIGURES: tuple[Figure, ...] = (
    Figure("packet delay (%)", "one_way_delay_mean_ms", _both(-5.0, -7.0, BETTER, BETTER), True, True),
    Figure("packet loss (%)", "loss_ratio", _both(-8.0, -33.0, BETTER, BETTER), True, True),
    Figure("frame PSNR (dB)", "psnr_db_mean", _both(0.4, 0.6, BETTER, None), False, False, "viewed_psnr_db_mean"),
    Figure("VMAF", VMAF, _both(0.4, 1.8, BETTER, None), False, False),
    Figure("SSIM (dB)", "ssim_db_mean", {}, False, False, "viewed_ssim_db_mean"),
    Figure(
        "frame delay (%)",
        "frame_delay_mean_ms",
        _both(-17.0, -23.0, BETTER, BETTER),
        True,
        True,
        "viewed_delay_mean_ms",
    ),
    Figure("frame drops (%)", "frame_drop_ratio", _both(-25.0, -30.0, BETTER, BETTER), True, True),
    Figure("receiving rate (%)", "receiver_rate_bps", _both(LOWER, LOWER, LOWER, LOWER), True, True),
    Figure("packet QoE", "qoe_packet", _both(BETTER, BETTER, BETTER, BETTER), False, False),
    Figure("frame QoE", "qoe_frame", _both(BETTER, BETTER, BETTER, BETTER), False, False, "viewed_qoe_frame"),
)

# [clcc] Fig. 5b, c and 6b, c: the parts of both scores, without figures. In §V-C: "CLCC has a large advantage over the
# other two algorithms in both latency and video quality". In §V-B: loss and drops are lower, and so is the receiving
# rate. That HRCC has high PSNR on LTE (§V-B) and that CLCC has the advantage there too contradict each other.
SCORE_PARTS: tuple[Figure, ...] = (
    Figure("packet score: rate, eq. (7)", "rate_part", _both(LOWER, LOWER, LOWER, LOWER), False, True),
    Figure("packet score: delay, eq. (8)", "delay_part", _both(BETTER, BETTER, BETTER, BETTER), False, False),
    Figure("packet score: loss, eq. (9)", "loss_part", _both(BETTER, BETTER, BETTER, BETTER), False, False),
    Figure(
        "frame score: quality, eq. (11)",
        "quality_part",
        _both(BETTER, BETTER, BETTER, None),
        False,
        False,
        "viewed_quality_part",
    ),
    Figure(
        "frame score: delay, eq. (12)",
        "frame_delay_part",
        _both(BETTER, BETTER, BETTER, BETTER),
        False,
        False,
        "viewed_frame_delay_part",
    ),
    Figure("frame score: drops, eq. (13)", "drop_part", _both(BETTER, BETTER, BETTER, BETTER), False, False),
)
LTE_BESIDE_RANDOM = "LTE beside random"
"""The table of what §V-C says of both sets of networks."""


@dataclass(frozen=True)
class Comparison:
    """CLCC, of one seed, against a rival."""

    own: str
    rival: str
    suffix: str = ""
    """Of its tables' names; none: the paper's own comparison."""
    printed: str = GCC
    """The rival whose printed figures it is held against; none: the paper has no such comparison."""

    def table(self, group: str) -> str:
        """The table of a set of networks."""
        return f"{group}, {self.suffix}" if self.suffix else group


COMPARISONS = (
    Comparison(OWN, GCC),
    Comparison(OWN, HRCC, HRCC, HRCC),
    Comparison(OWN, MODULE, MODULE),
    Comparison(OWN, SENDER, SENDER),
    Comparison(HRCC, GCC, "hrcc against gcc", ""),
    Comparison(SHIPPED, GCC, "shipped policy"),
    Comparison(MEDIAN, GCC, "median seed"),
    Comparison(TABLE_II, GCC, "Table II"),
    Comparison(TABLE_II, SENDER, "Table II, gcc at the sender"),
    Comparison(CONSTANT, GCC, "constant rate", ""),
)


@dataclass(frozen=True)
class Call:
    """The compared figures of one call."""

    setup: str
    networks: str
    network: str
    repeat: int
    controller: str
    receiver_rate_bps: float
    utilisation_ratio: float
    one_way_delay_mean_ms: float
    one_way_delay_p95_ms: float
    least_delay_ms: float
    largest_delay_ms: float | None
    """Known where packets were logged: the first repeat."""
    loss_ratio: float
    psnr_db_mean: float
    ssim_db_mean: float
    frame_delay_mean_ms: float
    frame_drop_ratio: float
    height_mean: float
    viewed_psnr_db_mean: float
    viewed_ssim_db_mean: float
    viewed_delay_mean_ms: float
    parts: Mapping[str, Any] = field(default_factory=dict)
    """Its VMAF where it has one, and the parts of its frames' delay, drops and losses
    (:mod:`legato_studies.papers.clcc.causes`), where packets were logged."""

    def value(self, column: str) -> float | None:
        """A figure, a score or a part of one; ``None`` where the call has none."""
        if column in SCORES:
            return SCORES[column](self)
        return getattr(self, column) if column in (*SUMMED_UP, "receiver_rate_bps") else self.parts.get(column)

    @property
    def delays_ms(self) -> tuple[float, float, float] | None:
        """The smallest packet delay, its p95 and the largest, where packets were logged."""
        largest_ms = self.largest_delay_ms
        return None if largest_ms is None else (self.least_delay_ms, self.one_way_delay_p95_ms, largest_ms)


def _qoe_packet(call: Call) -> float | None:
    delays_ms = call.delays_ms
    return delays_ms and scores.qoe_packet(call.utilisation_ratio, *delays_ms, call.loss_ratio)


# [clcc] eq. (7) to (14); as viewed: of what was on screen, with the wait for it.
SCORES: Mapping[str, Callable[[Call], float | None]] = {
    "rate_part": lambda call: scores.rate_part(call.utilisation_ratio),
    "delay_part": lambda call: call.delays_ms and scores.delay_part(*call.delays_ms),
    "loss_part": lambda call: scores.loss_part(call.loss_ratio),
    "qoe_packet": _qoe_packet,
    "quality_part": lambda call: scores.quality_part(call.psnr_db_mean),
    "viewed_quality_part": lambda call: scores.quality_part(call.viewed_psnr_db_mean),
    "frame_delay_part": lambda call: scores.frame_delay_part(call.frame_delay_mean_ms),
    "viewed_frame_delay_part": lambda call: scores.frame_delay_part(call.viewed_delay_mean_ms),
    "drop_part": lambda call: scores.drop_part(call.frame_drop_ratio),
    "qoe_frame": lambda call: scores.qoe_frame(call.psnr_db_mean, call.frame_delay_mean_ms, call.frame_drop_ratio),
    "viewed_qoe_frame": lambda call: scores.qoe_frame(
        call.viewed_psnr_db_mean, call.viewed_delay_mean_ms, call.frame_drop_ratio
    ),
}
SUMMED_UP = (
    "utilisation_ratio", "one_way_delay_mean_ms", "one_way_delay_p95_ms", "loss_ratio", "psnr_db_mean", "ssim_db_mean",
    "frame_delay_mean_ms", "frame_drop_ratio", "height_mean", "viewed_psnr_db_mean", "viewed_ssim_db_mean",
    "viewed_delay_mean_ms",
)  # fmt: skip
"""The columns taken from the summary unchanged."""


def judge(calls: Sequence[Call]) -> list[Row]:
    """Every row of Figures 3 to 6: the change from each rival's mean to CLCC's, with an interval over networks."""
    return [
        row
        for comparison in COMPARISONS
        for setup in SETUPS
        for group in setup.groups
        for row in _compared(calls, comparison, setup, group, FIGURES, comparison.table(group))
    ]


def parts_table(group: str, rival: str) -> str:
    """The table of the scores' parts."""
    return f"{group}, parts of scores, {rival}"


def judge_parts(calls: Sequence[Call]) -> list[Row]:
    """The parts of both scores, minus those of the paper's two rivals; and LTE against random networks."""
    rows = [
        row
        for comparison in COMPARISONS[:2]
        for setup in SETUPS
        for group in SETUPS[0].groups
        for row in _compared(calls, comparison, setup, group, SCORE_PARTS, parts_table(group, comparison.rival))
    ]
    return rows + [row for setup in SETUPS for row in _lte_beside_random(calls, setup)]


def _lte_beside_random(calls: Sequence[Call], setup: Setup) -> Iterator[Row]:
    """[clcc] §V-C: the advantage of CLCC's frame delay under LTE is not as great as that on random networks."""
    column, rival = setup.column("frame_delay_part", "viewed_frame_delay_part"), setup.rivals[GCC]
    leads = []
    for group in SETUPS[0].groups:
        here = [call for call in calls if (call.setup, call.networks) == (setup.name, group)]
        totals = Pairs.of(here, OWN, rival, column).totals
        leads.append([float((own - other) / number) for own, other, number in totals])
    if all(leads):
        found = of_separate_groups(leads, lambda means: means[1] - means[0])
        name = "frame score, delay: lead over GCC on LTE minus on random networks"
        claim = Lead(more_is_better=False)
        yield Row.judged(LTE_BESIDE_RANDOM, name, LOWER, found, claim, setup=setup.name)


def _compared(
    calls: Sequence[Call], comparison: Comparison, setup: Setup, group: str, figures: Sequence[Figure], table: str
) -> Iterator[Row]:
    if comparison.rival not in setup.rivals:
        return
    rival = setup.rivals[comparison.rival]
    here = [call for call in calls if (call.setup, call.networks) == (setup.name, group)]
    for figure in figures:
        pairs = Pairs.of(here, comparison.own, rival, setup.column(figure.column, figure.viewed))
        if len(pairs.totals):
            published = figure.published.get(comparison.printed, {}).get(group)
            ours = pairs.change(relative=figure.relative)
            found = _judged(figure, published, ours, pairs)
            yield Row.of(table, figure.name, published, ours, *found, values=pairs.means, setup=setup.name)


@dataclass(frozen=True)
class Pairs:
    """A figure of two controllers over the calls that both have it."""

    own: str
    rival: str
    totals: np.ndarray
    """``(networks, 3)``: the totals of both, and of how many calls."""

    @classmethod
    def of(cls, calls: Sequence[Call], own: str, rival: str, column: str) -> Pairs:
        """Of the calls of one set-up and one set of networks."""
        values: dict[tuple[str, int], dict[str, float]] = {}
        for call in calls:
            value = call.value(column) if call.controller in (own, rival) else None
            if value is not None and np.isfinite(value):
                values.setdefault((call.network, call.repeat), {})[call.controller] = value
        totals: dict[str, np.ndarray] = {}
        for (network, _), each in values.items():
            if len(each) == 2:
                totals[network] = totals.get(network, np.zeros(3)) + np.array([each[own], each[rival], 1.0])
        return cls(own, rival, np.array(list(totals.values())).reshape(-1, 3))

    @property
    def means(self) -> dict[str, float]:
        """Of each."""
        own, rival, number = self.totals.sum(axis=0)
        return {self.own: float(own / number), self.rival: float(rival / number)}

    @property
    def held_by(self) -> float:
        """In how many networks' worth the figure is: (sum)² / sum of squares, of the controller with fewer.

        A tenth of a per cent of packets, all of them lost on two networks of thirteen, is the figure of two.
        """
        sums, squares = self.totals[:, :2].sum(axis=0), (self.totals[:, :2] ** 2).sum(axis=0)
        return float(min((total**2 / square for total, square in zip(sums, squares, strict=True) if square), default=0))

    def change(self, *, relative: bool) -> Estimate:
        """From the rival's mean to CLCC's: percent of it, or the difference."""

        def of(weights: np.ndarray) -> np.ndarray:
            own, rival, number = (weights @ self.totals).T
            if relative:
                with np.errstate(invalid="ignore", divide="ignore"):
                    return np.asarray(100.0 * (own / rival - 1.0))
            return np.asarray((own - rival) / number)

        ours = of_groups(of, self.totals[:, 2])
        # Where nearly all of it is in a few networks, the others say nothing of the change.
        few = relative and self.held_by < FEWEST
        return replace(ours, low=None, high=None) if few else ours


def _judged(figure: Figure, published: float | str | None, ours: Estimate, pairs: Pairs) -> tuple[Verdict, str]:
    if published is None:
        return "not comparable", "the paper says nothing of it"
    if ours.mean is None:
        return "not comparable", f"{pairs.rival} has none of it"
    if figure.relative and pairs.held_by < FEWEST:
        return "undecidable", f"too rare: nearly all of it is in {pairs.held_by:.1f} of {len(pairs.totals)} networks"
    claimed = published if isinstance(published, float) and published != BETTER else None
    return judged(Lead(claimed, more_is_better=not figure.less_is_better), ours)
