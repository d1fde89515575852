"""What is compared of CLCC and its rivals (docs/papers/clcc.md): printed changes, ours with intervals, verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from legato.eval.stats import FEWEST, Estimate, of_groups
from legato.published.reproduction import Row
from legato.published.verdict import UNDECIDABLE, Lead, Verdict, judged

CONTROLLERS = ("clcc", "gcc", "hrcc")
OWN = CONTROLLERS[0]
RIVALS = CONTROLLERS[1:]


@dataclass(frozen=True)
class Figure:
    """One of the paper's figures of merit: how it changes from a rival's to CLCC's."""

    name: str
    column: str
    published: Mapping[str, float | None]
    """By table: percent of the rival's where relative, else a difference."""
    relative: bool
    less_is_better: bool
    unit: str = ""
    """Of a controller's own mean, which is multiplied by ``scale`` and shown with ``digits``."""
    scale: float = 1.0
    digits: int = 2
    judged: bool = True


BETTER = 0.0
"""The paper's drawing shows it better than the rival's, without a figure."""


def table_of(group: str, rival: str) -> str:
    """The table of a set of networks: against GCC, the paper's bar, it has the set's own name."""
    return group if rival == "gcc" else f"{group}, {rival}"


def _printed(*published: float | None) -> dict[str, float | None]:
    """Against GCC on random networks and on LTE, then against HRCC."""
    tables = (table_of(group, rival) for rival in RIVALS for group in ("random", "LTE"))
    return dict(zip(tables, published, strict=True))


# [clcc] §V: Fig. 3 and Fig. 4, then Fig. 5 and Fig. 6: changes against GCC, on random and LTE traces. Against HRCC it
# prints no figures: all are better but the receiving rate. §V-B says that HRCC's pictures are good on LTE, and nothing
# else of it.
FIGURES: tuple[Figure, ...] = (
    Figure("packet delay (%)", "one_way_delay_mean_ms", _printed(-5.0, -7.0, BETTER, BETTER), True, True, "ms", 1.0, 1),
    Figure("packet loss (%)", "loss_ratio", _printed(-8.0, -33.0, BETTER, BETTER), True, True, "%", 100.0, 2),
    Figure("frame PSNR (dB)", "psnr_db_mean", _printed(0.4, 0.6, BETTER, None), False, False, "dB"),
    Figure("VMAF; ours SSIM (dB)", "ssim_db_mean", _printed(0.4, 1.8, BETTER, None), False, False, "dB", judged=False),
    Figure("frame delay (%)", "frame_delay_mean_ms", _printed(-17.0, -23.0, BETTER, BETTER), True, True, "ms", 1.0, 1),
    Figure("frame drops (%)", "frame_drop_ratio", _printed(-25.0, -30.0, BETTER, BETTER), True, True, "%", 100.0, 2),
    Figure("receiving rate (%)", "receiver_rate_bps", {}, True, False, "kbit/s", 1e-3, 0, judged=False),
    Figure("packet QoE", "qoe_packet", _printed(BETTER, BETTER, BETTER, BETTER), False, False),
    Figure("frame QoE", "qoe_frame", _printed(BETTER, BETTER, BETTER, BETTER), False, False),
)


@dataclass(frozen=True)
class Call:
    """What is compared of one call."""

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


SUMMED_UP = (
    "utilisation_ratio", "one_way_delay_mean_ms", "one_way_delay_p95_ms", "loss_ratio", "psnr_db_mean", "ssim_db_mean",
    "frame_delay_mean_ms", "frame_drop_ratio", "height_mean",
)  # fmt: skip
"""What a call has from the summary as it stands there."""


def judge(calls: Sequence[Call]) -> list[Row]:
    """Every row: the change from each rival's mean to CLCC's, with an interval over networks."""
    rows = []
    for rival in RIVALS:
        for group in dict.fromkeys(call.networks for call in calls):
            for figure in FIGURES:
                totals = _totals(calls, group, figure.column)
                if len(totals) and {OWN, rival} <= totals.keys():
                    rows.append(_row(table_of(group, rival), figure, totals, rival))
    return rows


def _totals(calls: Sequence[Call], group: str, column: str) -> dict[str, np.ndarray]:
    """``(networks, 2)`` of each controller: the total of its figure over the calls that all have, and how many."""
    values: dict[tuple[str, int], dict[str, float]] = {}
    for call in calls:
        value = getattr(call, column)
        if call.networks == group and value is not None and np.isfinite(value):
            values.setdefault((call.network, call.repeat), {})[call.controller] = value
    names = set().union(*values.values())
    totals: dict[str, dict[str, np.ndarray]] = {name: {} for name in CONTROLLERS if name in names}
    for (network, _), each in values.items():
        if len(each) == len(totals):
            for name, of_networks in totals.items():
                of_networks[network] = of_networks.get(network, np.zeros(2)) + np.array([each[name], 1.0])
    return {name: np.array(list(of_networks.values())).reshape(-1, 2) for name, of_networks in totals.items()}


def _row(table: str, figure: Figure, totals: Mapping[str, np.ndarray], rival: str) -> Row:
    pairs = np.column_stack([totals[OWN][:, 0], totals[rival]])
    values = {name: float(total[:, 0].sum() / total[:, 1].sum()) for name, total in totals.items()}
    ours = of_groups(lambda weights: _change(weights @ pairs, figure.relative), pairs[:, 2])
    # Where all of a rival's is in fewer networks, the others say nothing of the change.
    if figure.relative and np.count_nonzero(pairs[:, 1]) < FEWEST:
        ours = replace(ours, low=None, high=None, groups=int(np.count_nonzero(pairs[:, 1])))
    published = figure.published.get(table)
    return Row.of(table, figure.name, published, ours, *_judged(figure, published, ours, rival), values=values)


def _change(totals: np.ndarray, relative: bool) -> np.ndarray:
    if relative:
        with np.errstate(invalid="ignore", divide="ignore"):
            return 100.0 * (totals[:, 0] / totals[:, 1] - 1.0)
    return (totals[:, 0] - totals[:, 1]) / totals[:, 2]


def _judged(figure: Figure, published: float | None, ours: Estimate, rival: str) -> tuple[Verdict, str]:
    if not figure.judged:
        no_more = "the paper says no more than that it is low"
        return "not comparable", "no VMAF here" if "VMAF" in figure.name else no_more
    if published is None:
        return "not comparable", "the paper says nothing of it"
    if ours.mean is None:
        return "not comparable", f"{rival} has none of it"
    if figure.relative and ours.low is None:
        return "undecidable", f"{rival} has any of it in too few networks: {UNDECIDABLE}"
    return judged(Lead(published or None, more_is_better=not figure.less_is_better), ours)


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
    low, high = 10.0**3.6, 10.0**4.2
    quality = 100.0 * (10.0 ** (min(max(psnr_db, 36.0), 42.0) / 10.0) - low) / (high - low)
    # Deviates from [clcc] eq. (12), 100 d_avg / 3, which would reward delay: read as 100 - d_avg / 3, 0 from 300 ms on.
    delay = max(100.0 - delay_ms / 3.0, 0.0)
    # [clcc] eq. (13): QoE_drop = 100 (1 - D)
    shown = 100.0 * (1.0 - drop_ratio)
    # [clcc] eq. (14): 0.2 quality + 0.2 delay + 0.3 drop
    return 0.2 * quality + 0.2 * delay + 0.3 * shown
