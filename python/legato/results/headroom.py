"""How much of the headroom each controller closes: of the way from the baseline to the ceiling.

The ceiling is `clairvoyant`, which knows what the link will pass. A share of 0 % is the baseline's figure, 100 % the
ceiling's; below 0 % a controller is worse than the baseline. It is a ratio of two differences over the same calls, so
its interval comes of resampling networks, as theirs do (stats.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from legato.results import stats
from legato.results.figures import Metric
from legato.results.stats import Array, Estimate
from legato.results.store import base_name

CEILING = "clairvoyant"
MEASURES = (
    "viewed_ssim_db_mean",
    "viewed_delay_p95_ms",
    "viewed_delay_p98_ms",
    "on_time_150ms_ratio",
    "stall_ratio",
)
"""Of all captured frames: by these a ceiling cannot be passed by showing fewer."""


def ceiling(variants: Sequence[str], baseline: str) -> str | None:
    """The variant that is the ceiling, if it ran with a baseline."""
    return next((name for name in variants if base_name(name) == CEILING and name != baseline), None)


def closed(metrics: Sequence[Metric], own: tuple[Array, Array], top: tuple[Array, Array]) -> dict[str, Estimate]:
    """The share of the headroom that a controller closes, by column; a column without headroom has none.

    Args:
        metrics: the columns of the arrays.
        own: totals of the controller's differences to the baseline, (networks, metrics), and of how many each is.
        top: the same of the ceiling.
    """
    found = {}
    for at, metric in enumerate(metrics):
        if metric.column in MEASURES:
            share = _share(metric, *((totals[:, at], counts[:, at]) for totals, counts in (own, top)))
            if share is not None:
                found[metric.column] = share
    return found


def _share(metric: Metric, own: tuple[Array, Array], top: tuple[Array, Array]) -> Estimate | None:
    weights = np.minimum(own[1], top[1])
    present = weights > 0
    weights = weights[present]
    own_part, top_part = (weights * totals[present] / counts[present] for totals, counts in (own, top))
    better = 1.0 if metric.better == "higher" else -1.0
    # Where the baseline is no worse than the ceiling there is nothing to close.
    if better * top_part.sum() <= 0:
        return None
    return stats.of_groups(lambda drawn: (drawn @ own_part) / (drawn @ top_part), weights)
