"""Where CLCC's changes come from: the parts of a frame's delay, of dropped frames and of lost packets.

All of it is of calls whose packets were logged, the first repeat. Nothing here is the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from legato.results.query import parts, query
from legato_studies.papers.clcc.figures import Call, Pairs
from legato_studies.papers.clcc.scores import HIGH_PSNR_DB
from legato_studies.papers.clcc.setups import GCC, OWN, SETUPS, Setup
from legato_studies.papers.reproduction import Row

PARTS: Mapping[str, str] = {
    "pacer_ms": "frame delay, in the sender's pacer (ms)",
    "path_ms": "frame delay, on the empty path (ms)",
    "queue_ms": "frame delay, in the link's queue (ms)",
    "repair_ms": "frame delay, waiting for repair or for the frame before (ms)",
    "skipped_percent": "frames skipped by the sender (% of captured)",
    "undecodable_percent": "frames that were never decodable (% of captured)",
    "overtaken_percent": "frames due together with a later one (% of captured)",
    "random_loss_percent": "packets lost at random (% of sent)",
    "full_queue_percent": "packets lost to a full queue (% of sent)",
    "saturated_percent": f"calls above {HIGH_PSNR_DB:g} dB, where eq. (11) ends (% of calls)",
}
"""A call's figures, and what a row says of the change from GCC's to CLCC's."""
_WHY = "measured here; the paper has no such figure"

# A frame goes to the pacer when it is coded. Its last packet leaves, and of the packets that arrive without repair the
# last arrives; then it waits for repair, or for the frame that it is predicted from. All of its packets may be lost.
_SQL = """
with media as (
  select call, sequence, max(sent_ns) / 1e6 as left_ms, max(arrived_ns) / 1e6 as came_ms
  from packets where kind = 'video' group by call, sequence
), timed as (
  select call, decodable_ms, frame_delay_ms, left_ms, came_ms,
    one_way_delay_mean_ms - queue_delay_mean_ms as least_ms
  from frames join media using (call, sequence) join summary using (call) where decodable_ms is not null
), delays as (
  select call,
    avg(left_ms - decodable_ms + frame_delay_ms) as pacer_ms,
    avg(case when came_ms is null then 0 else least_ms end) as path_ms,
    avg(case when came_ms is null then 0 else came_ms - left_ms - least_ms end) as queue_ms,
    avg(decodable_ms - coalesce(came_ms, left_ms)) as repair_ms
  from timed group by call
), shown as (
  select call,
    100.0 * avg((not encoded)::int) as skipped_percent,
    100.0 * avg((encoded and decodable_ms is null)::int) as undecodable_percent,
    100.0 * avg((decodable_ms is not null and rendered_ms is null)::int) as overtaken_percent
  from frames group by call
), lost as (
  select call,
    100.0 * avg(coalesce("drop" = 'random', false)::int) as random_loss_percent,
    100.0 * avg(coalesce("drop" = 'queue_full', false)::int) as full_queue_percent
  from packets group by call
)
select call, delays.* exclude (call), shown.* exclude (call), lost.* exclude (call),
  100.0 * (psnr_db_mean > {mark})::int as saturated_percent
from delays join shown using (call) join lost using (call) join summary using (call) order by call
"""


def read(folder: Path) -> dict[int, dict[str, float]]:
    """The parts of each call of a run folder, by its number; empty where packets were not logged."""
    if not parts(folder, "packets"):
        return {}
    rows = query(folder, _SQL.format(mark=HIGH_PSNR_DB))
    return {row["call"]: {name: float(row[name]) for name in PARTS} for row in rows}


def judge(calls: Sequence[Call]) -> list[Row]:
    """The rows of the parts, by set-up and set of networks."""
    logged = [call for call in calls if call.parts]
    return list(_parts(logged))


def table_of(group: str) -> str:
    """The table of the parts on a set of networks."""
    return f"{group}, parts"


def _parts(calls: Sequence[Call]) -> Iterator[Row]:
    for setup in SETUPS:
        for group in SETUPS[0].groups:
            here = [call for call in calls if (call.setup, call.networks) == (setup.name, group)]
            for column, name in PARTS.items():
                yield from _row(table_of(group), name, here, setup, column, relative=False)


def _row(table: str, name: str, calls: Sequence[Call], setup: Setup, column: str, *, relative: bool) -> Iterator[Row]:
    pairs = Pairs.of(calls, OWN, setup.rivals[GCC], column)
    if len(pairs.totals):
        ours = pairs.change(relative=relative)
        yield Row.of(table, name, None, ours, "not comparable", _WHY, values=pairs.means, setup=setup.name)
