"""The part of a report that is about controllers alone: calls over links that are never dead for a second.

On a dead link (`dead_link_s` above zero) outages decide every figure, whatever the controller does.
"""

from __future__ import annotations

from dataclasses import dataclass

from legato.results.comparison import Summary, summarise
from legato.results.figures import KEY_METRICS
from legato.results.store import Store


@dataclass(frozen=True)
class LiveLinks:
    """What a report says about dead links, and the figures without them."""

    said: str
    summary: Summary | None
    """None where every link is dead, or none is."""


def live_links(store: Store, baseline: str) -> LiveLinks | None:
    """None where no link is dead for a second, or where dead time is not recorded."""
    dead = f"{store.column('dead_link_s')} > 0"
    counted = f"SELECT count(*) FILTER ({dead}), count(*), count(DISTINCT network) FILTER ({dead}) FROM summary"
    [(dead_calls, calls, networks)] = store.rows(counted)
    if not dead_calls:
        return None
    all_networks, network = store.networks()
    of = f"{networks:,} of {all_networks:,} {network}s" if all_networks > 1 else f"The {network}"
    verb = "is" if networks == 1 else "are"
    said = f"{of} {verb} dead for a second or more (below 50 kbit/s): there, outages decide the figures."
    if dead_calls == calls:
        return LiveLinks(said, None)
    live = Store([run.path for run in store.runs], live_only=True, late_calls=store.late_counted)
    return LiveLinks(said, summarise(live, baseline if baseline in live.variants else None, KEY_METRICS))
