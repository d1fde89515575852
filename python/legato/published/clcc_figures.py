"""What is compared of CLCC and its rivals (docs/papers/clcc.md): printed changes, ours with intervals, verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from legato.eval.stats import FEWEST, Estimate, of_groups
from legato.published.clcc_setups import (
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
from legato.published.reproduction import Row
from legato.published.verdict import Lead, Verdict, judged

BETTER = 0.0
"""The paper's drawing shows it better than the rival's, without a figure."""
VMAF = "vmaf"
LOWER = "lower"
"""The paper says that CLCC's is lower, without a figure."""
Printed = Mapping[str, Mapping[str, float | str]]
"""What is printed, by rival and set of networks; a figure that is absent is not claimed."""


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
# prints no figures: all are better but the receiving rate. §V-B says that HRCC's pictures are good on LTE, and nothing
# else of it; and that CLCC's receiving rate is low, the one thing in which the others are ahead.
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
    """What is compared of one call."""

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
    (:mod:`legato.published.clcc_causes`), where packets were logged."""

    @property
    def qoe_packet(self) -> float | None:
        """[clcc] eq. (10)."""
        if self.largest_delay_ms is None:
            return None
        delays_ms = (self.least_delay_ms, self.one_way_delay_p95_ms, self.largest_delay_ms)
        return qoe_packet(self.utilisation_ratio, *delays_ms, self.loss_ratio)

    @property
    def qoe_frame(self) -> float:
        """[clcc] eq. (14)."""
        return qoe_frame(self.psnr_db_mean, self.frame_delay_mean_ms, self.frame_drop_ratio)

    @property
    def viewed_qoe_frame(self) -> float:
        """The same of what was on screen, with the wait for it."""
        return qoe_frame(self.viewed_psnr_db_mean, self.viewed_delay_mean_ms, self.frame_drop_ratio)

    def value(self, column: str) -> float | None:
        """A figure, or a part of one."""
        return self.parts.get(column) if column not in _OF_CALLS else getattr(self, column)


SUMMED_UP = (
    "utilisation_ratio", "one_way_delay_mean_ms", "one_way_delay_p95_ms", "loss_ratio", "psnr_db_mean", "ssim_db_mean",
    "frame_delay_mean_ms", "frame_drop_ratio", "height_mean", "viewed_psnr_db_mean", "viewed_ssim_db_mean",
    "viewed_delay_mean_ms",
)  # fmt: skip
"""What a call has from the summary as it stands there."""
_OF_CALLS = {*SUMMED_UP, "receiver_rate_bps", "qoe_packet", "qoe_frame", "viewed_qoe_frame"}


def judge(calls: Sequence[Call]) -> list[Row]:
    """Every row of Figures 3 to 6: the change from each rival's mean to CLCC's, with an interval over networks."""
    return [
        row
        for comparison in COMPARISONS
        for setup in SETUPS
        for group in setup.groups
        for row in _compared(calls, comparison, setup, group)
    ]


def _compared(calls: Sequence[Call], comparison: Comparison, setup: Setup, group: str) -> Iterator[Row]:
    if comparison.rival not in setup.rivals:
        return
    rival = setup.rivals[comparison.rival]
    here = [call for call in calls if (call.setup, call.networks) == (setup.name, group)]
    for figure in FIGURES:
        pairs = Pairs.of(here, comparison.own, rival, setup.column(figure.column, figure.viewed))
        if len(pairs.totals):
            published = figure.published.get(comparison.printed, {}).get(group)
            ours = pairs.change(relative=figure.relative)
            found = _judged(figure, published, ours, pairs)
            yield Row.of(
                comparison.table(group), figure.name, published, ours, *found, values=pairs.means, setup=setup.name
            )


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
                    return 100.0 * (own / rival - 1.0)
            return (own - rival) / number

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


# --- the scores of a call, of its packets and of its frames: [clcc] §V-C; interpretation in docs/papers/clcc.md


def qoe_packet(
    utilisation_ratio: float, shortest_ms: float, p95_ms: float, largest_ms: float, loss_ratio: float
) -> float:
    """The packet-level score, 0 to 70."""
    # [clcc] eq. (7): QoE_recv_rate = 100 U. Utilisation above 1 is an artefact of the bins.
    rate = 100.0 * min(utilisation_ratio, 1.0)
    # [clcc] eq. (8): QoE_delay = 100 (d_max - d_95th) / (d_max - d_min)
    delay = 100.0 * (largest_ms - p95_ms) / (largest_ms - shortest_ms) if largest_ms > shortest_ms else 100.0
    # [clcc] eq. (9): QoE_loss = 100 (1 - L)
    kept = 100.0 * (1.0 - loss_ratio)
    # [clcc] eq. (10): 0.2 rate + 0.2 delay + 0.3 loss; the weights sum to 0.7, as in the challenge it is from
    return 0.2 * rate + 0.2 * delay + 0.3 * kept


def qoe_frame(psnr_db: float, delay_ms: float, drop_ratio: float) -> float:
    """The frame-level score, 0 to 70."""
    # [clcc] eq. (11): 100 (MSE(PSNR) - MSE_min) / (MSE_max - MSE_min), MSE(PSNR) = 10^(PSNR / 10), 36 and 42 dB.
    # What they call MSE is its inverse and grows with quality; clipped to the range they set.
    low, high = 10.0 ** (LOW_PSNR_DB / 10.0), 10.0 ** (HIGH_PSNR_DB / 10.0)
    quality = 100.0 * (10.0 ** (min(max(psnr_db, LOW_PSNR_DB), HIGH_PSNR_DB) / 10.0) - low) / (high - low)
    # Deviates from [clcc] eq. (12), 100 d_avg / 3, which would reward delay: read as 100 - d_avg / 3, 0 from 300 ms on.
    delay = max(100.0 - delay_ms / 3.0, 0.0)
    # [clcc] eq. (13): QoE_drop = 100 (1 - D)
    shown = 100.0 * (1.0 - drop_ratio)
    # [clcc] eq. (14): 0.2 quality + 0.2 delay + 0.3 drop
    return 0.2 * quality + 0.2 * delay + 0.3 * shown


LOW_PSNR_DB, HIGH_PSNR_DB = 36.0, 42.0
"""[clcc] §V-C: the range of eq. (11)."""
