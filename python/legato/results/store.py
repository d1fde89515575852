"""Run folders as one table: DuckDB over the Parquet files, several folders merged.

A *variant* is what a report calls a controller. It is the controller's name. If the same controller appears in several
folders that are not shards of one sweep (another scenario or version, or a call of the same trace, clip and seed in
both), the folder's name goes with it, and the two are compared instead of mixed.

A *condition* is one trace, clip and seed, and where calls share a session one of its flows: what differs between two
variants in the same condition is the variant. A *network* is what conditions are independent of each other by
(networks.py).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb

from legato.errors import RunFolderError
from legato.results.late import LateCall, without
from legato.results.late import late_calls as late_ones
from legato.results.networks import NOT_RECORDED, network_of, quoted
from legato.results.run_folder import RunFolder, open_run

REQUIRED = ("call", "controller", "trace", "clip", "seed")
"""Columns of `summary` without which calls cannot be told apart."""
MEMORY_LIMIT = "2GB"


class Store:
    """Opened run folders, queried through `summary`: the columns documented, plus `run`, `variant`, `condition` and
    `network`. Real calls that do not count (late.py) are left out of it unless ``late_calls``."""

    def __init__(self, run_dirs: Sequence[str | Path], live_only: bool = False, *, late_calls: bool = False) -> None:
        """`live_only`: leave out calls whose link was dead for a second or more (`dead_link_s`)."""
        if not run_dirs:
            raise RunFolderError("no run folder given", "name one or more folders that `legato run` wrote")
        self.runs: list[RunFolder] = [open_run(path) for path in run_dirs]
        resolved = [run.path.resolve() for run in self.runs]
        for at, path in enumerate(resolved):
            if path in resolved[:at]:
                raise RunFolderError(f"{self.runs[at].path}: named twice")
        self._database = duckdb.connect(
            config={
                "memory_limit": MEMORY_LIMIT,
                "temp_directory": tempfile.gettempdir(),
                "autoinstall_known_extensions": "false",
            }
        )
        self.late: list[list[LateCall]] = [late_ones(run.path) if run.real else [] for run in self.runs]
        """Of each run the calls that do not count."""
        self.late_counted = late_calls
        """Whether they are in `summary` because that was asked for."""
        self.columns: frozenset[str] = self._create_summary(with_late=late_calls)
        self.none_counts = False
        """Whether no call counts; `summary` then has the calls that do not, to be shown and not to be averaged."""
        if any(self.late) and not late_calls and self.rows("SELECT count(*) FROM found")[0][0] == 0:
            self.none_counts = True
            self._create_summary(with_late=True)
        self.variants: list[str] = self._create_variants(live_only)

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Runs one query, with values for its ``?``; a Parquet file that cannot be read is named."""
        try:
            return self._database.execute(sql, values or None).fetchall()
        except duckdb.Error as error:
            raise self._blame(error) from error

    def arrays(self, sql: str) -> dict[str, Any]:
        """Runs one query; columns as NumPy arrays, masked where null."""
        try:
            return self._database.execute(sql).fetchnumpy()
        except duckdb.Error as error:
            raise self._blame(error) from error

    def column(self, name: str) -> str:
        """SQL of a figure of `summary` as a double; null where the run does not have the column."""
        # Values that are not finite are absent too: one such figure must not swallow every mean.
        finite = f'CASE WHEN isfinite("{name}"::DOUBLE) THEN "{name}"::DOUBLE END'
        return finite if name in self.columns else "NULL::DOUBLE"

    def networks(self) -> tuple[int, str]:
        """How many independent networks there are (networks.py), and what one of them is: a trace or a network."""
        recorded = NOT_RECORDED if "trace_family" in self.columns else "false"
        number, other = self.rows(f"SELECT count(DISTINCT network), bool_or({recorded}) FROM summary")[0]
        return number, "network" if other else "trace"

    def _create_summary(self, *, with_late: bool) -> frozenset[str]:
        parts, columns = [], set()
        for at, run in enumerate(self.runs):
            first = run.summary[0]
            # The first file alone says what columns there are: opening every footer of a long sweep takes seconds.
            described = self.rows(f"DESCRIBE SELECT * FROM {parquet([first])}")
            names = {row[0] for row in described}
            missing = [name for name in REQUIRED if name not in names]
            if missing:
                raise RunFolderError(f"{first}: has no column `{missing[0]}`: not a summary of calls")
            columns |= names
            counted = "" if with_late else f" WHERE {without(late.call for late in self.late[at])}"
            parts.append(f"SELECT {at} AS run, * FROM {parquet(run.summary)}{counted}")
        several = "WHEN flow IS NOT NULL THEN hash(trace, clip, seed, flow) " if "flow" in columns else ""
        condition = f"CASE {several}ELSE hash(trace, clip, seed) END" if several else "hash(trace, clip, seed)"
        network = network_of(self.runs, columns)
        self.rows(
            f"CREATE OR REPLACE VIEW found AS SELECT *, {condition} AS condition, {network} AS network FROM ("
            + " UNION ALL BY NAME ".join(parts)
            + ")"
        )
        return frozenset(columns)

    def _create_variants(self, live_only: bool) -> list[str]:
        # Variants are named before calls are left out: a part of a report has the names of the whole.
        live = f" WHERE coalesce({self.column('dead_link_s')}, 0) = 0" if live_only else ""
        if len(self.runs) == 1:
            self.rows(f"CREATE VIEW summary AS SELECT *, controller AS variant FROM found{live}")
        else:
            clashing = self._clashing_controllers()
            labels = _distinct_labels(self.runs)
            cases = " ".join(f"WHEN {at} THEN {quoted(' · ' + label)}" for at, label in enumerate(labels))
            names = ", ".join(quoted(name) for name in sorted(clashing)) or "''"
            self.rows(
                "CREATE VIEW summary AS SELECT *, CASE WHEN controller IN "
                f"({names}) THEN controller || CASE run {cases} END ELSE controller END AS variant FROM found{live}"
            )
        # Calls are numbered controller by controller, so the first call of each gives the order asked for.
        found = self.rows("SELECT variant FROM summary GROUP BY variant ORDER BY min(run), min(call), variant")
        return [row[0] for row in found]

    def _clashing_controllers(self) -> set[str]:
        clashing = set()
        shared = self.rows(
            "SELECT controller, list_sort(list(DISTINCT run)) FROM found "
            "GROUP BY controller HAVING count(DISTINCT run) > 1"
        )
        for name, runs in shared:
            if len({(self.runs[at].scenario, self.runs[at].version) for at in runs}) > 1:
                clashing.add(name)
        repeated = self.rows(
            "SELECT DISTINCT controller FROM (SELECT controller, condition FROM found "
            "GROUP BY controller, condition HAVING count(DISTINCT run) > 1)"
        )
        return clashing | {row[0] for row in repeated}

    def _blame(self, error: duckdb.Error) -> RunFolderError:
        """Finds the file that a query failed on: DuckDB does not always name it."""
        for path in self._all_files():
            try:
                with duckdb.connect() as database:
                    database.execute(f"SELECT count(COLUMNS(*)) FROM {parquet([path])}").fetchall()
            except duckdb.Error as cause:
                return RunFolderError(
                    f"{path}: not a readable Parquet file: {_first_line(cause)}",
                    "delete this part and run the sweep again: it continues with the parts that are missing",
                )
        return RunFolderError(f"{self.runs[0].path}: {_first_line(error)}")

    def _all_files(self) -> Iterable[Path]:
        for run in self.runs:
            yield from sorted(run.path.glob("*/[0-9]*.parquet"))


def base_name(variant: str) -> str:
    """The controller without its parameters and folder: `fixed(target_bitrate_bps=800000) · before` is `fixed`."""
    return re.split(r" · |\(", variant, maxsplit=1)[0]


def parquet(paths: Sequence[Path]) -> str:
    """A table expression over exactly these files."""
    return f"read_parquet([{', '.join(quoted(_literal_path(path)) for path in paths)}])"


def _literal_path(path: Path) -> str:
    # DuckDB expands wildcards; a folder called `run[1]` must mean itself.
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))


def _distinct_labels(runs: Sequence[RunFolder]) -> list[str]:
    names = [run.name for run in runs]
    return names if len(set(names)) == len(names) else [str(run.path) for run in runs]


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
