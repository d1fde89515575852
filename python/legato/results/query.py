"""The tables of one run folder by SQL, and its summary as rows; several folders at once are in store.py."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from legato.errors import RunFolderError

if TYPE_CHECKING:
    from legato.results.stats import Array


def parts(folder: Path, table: str) -> list[str]:
    """The files of a run's table, in the order of its calls; none where it was not logged."""
    return sorted(str(part) for part in (folder / table).glob("*.parquet"))


def version(folder: Path) -> str:
    """The version of Legato and the commit that made a run."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return f"{manifest['legato']} ({manifest['commit'][:12]})"


def query(folder: Path, sql: str) -> list[dict[str, Any]]:
    """The rows of a query over a run's tables, which have their names of docs/reference/run-folder.md.

    Raises:
        RunFolderError: a table is not there (it was not logged, or no part of the run is finished), or damaged.
    """
    import duckdb

    with duckdb.connect() as database:
        try:
            for table in filter(Path.is_dir, folder.iterdir()):
                # Those alone that are asked for: another one may be large, or damaged.
                if re.search(rf"\b{re.escape(table.name)}\b", sql) and (found := parts(folder, table.name)):
                    database.read_parquet(found).create_view(table.name)
            answer = database.sql(sql)
            return [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]
        except duckdb.CatalogException as error:
            missing = str(error).splitlines()[0].removeprefix("Catalog Error: ").removesuffix("!")
            raise RunFolderError(f"{folder}: {missing}: it was not logged, or no part of it is finished") from None
        except (duckdb.IOException, duckdb.InvalidInputException) as error:
            raise RunFolderError(f"{folder}: {str(error).splitlines()[0]}") from None


def summary_rows(folder: Path) -> list[dict[str, Any]]:
    """The summary of a run folder, one dict per call, in the order of the plan."""
    if not parts(folder, "summary"):
        raise RunFolderError(f"{folder}: no part of this run is finished", hint="continue it with --resume")
    return query(folder, "from summary order by call")


def columns(folder: Path, names: Sequence[str]) -> dict[str, Array]:
    """Figures of the summary by controller, (calls, names), its calls by trace, clip and seed; NaN where there is none.

    Two controllers of one sweep met the same conditions in the same rows.
    """
    import numpy as np

    order = "order by trace, clip, seed"
    rows = query(folder, f"select controller, {', '.join(names)} from summary {order}")
    found: dict[str, list[list[Any]]] = {}
    for row in rows:
        found.setdefault(row["controller"], []).append([row[name] for name in names])
    return {controller: np.array(table, dtype=np.float64) for controller, table in found.items()}


def network_totals(
    folders: Sequence[Path], names: Sequence[str], live_only: bool = False
) -> dict[str, tuple[Array, Array]]:
    """Sums of figures over networks, and the number of calls that have each, (networks, names), by controller.

    A network is a recording, or a seed where networks are drawn. Calls of several folders over it are added up.

    Args:
        folders: of runs.
        names: columns of the summary.
        live_only: without links that are dead for a second or more.
    """
    import duckdb
    import numpy as np

    files = [file for folder in folders for file in parts(folder, "summary")]
    sums = ", ".join(f"coalesce(sum({name}), 0), count({name})" for name in names)
    live = "where coalesce(dead_link_s, 0) = 0 " if live_only else ""
    rows = duckdb.execute(
        "select controller, split_part(coalesce(trace, ''), ' ', 1) as recording, "
        f"case when trace_family = 'generator' then seed end as drawn, {sums} from read_parquet({files}) {live}"
        "group by controller, recording, drawn order by controller, recording, drawn"
    ).fetchall()
    tables: dict[str, tuple[Array, Array]] = {}
    for controller in dict.fromkeys(row[0] for row in rows):
        figures = np.array([row[3:] for row in rows if row[0] == controller], dtype=np.float64)
        tables[controller] = (figures[:, 0::2], figures[:, 1::2])
    return tables
