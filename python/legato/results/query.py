"""The tables of one run folder by SQL, and its summary as rows; several folders at once are in store.py."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from legato.errors import RunFolderError


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
