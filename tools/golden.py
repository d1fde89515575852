"""Writes the golden tables: what each controller does in a few short scenarios, one aligned text table each.

    python3 tools/golden.py                     print how tables differ from the kept ones; status 1 if any does
    python3 tools/golden.py --write [NAME ...]  keep the tables of these controllers (of all, without a name)

A table is tests/golden/CONTROLLER/SCENARIO.snap, its scenario tests/golden/SCENARIO.toml. A change of behaviour is read
as a diff of these files, in a separate commit. Controllers come from the registry; one that cannot be made from its
name alone (a learned one without a policy) has no table.
"""

from __future__ import annotations

import difflib
import sys
import tempfile
from pathlib import Path
from typing import Any

from legato.conformance.contestants import playable, refusal

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"
INTERVAL_S = 2
_NOTHING = "-"

_ROWS = """
WITH rates AS (
    SELECT call, time_ms // {interval_ms} AS row, avg(capacity_bps) AS capacity_bps,
        arg_max(target_bitrate_bps, time_ms) AS target_bps, avg(sending_rate_bps) AS sending_bps,
        avg(receiver_rate_bps) AS receiver_bps
    FROM read_parquet('{folder}/series/*.parquet') GROUP BY ALL
), packets AS (
    SELECT call, sent_ns // ({interval_ms} * 1000000) AS row, count("drop") / count(*) AS loss_ratio,
        quantile_disc(arrived_ns - sent_ns, 0.5) AS delay_ns
    FROM read_parquet('{folder}/packets/*.parquet') GROUP BY ALL
)
SELECT row, capacity_bps, target_bps, sending_bps, receiver_bps, delay_ns / 1e6, loss_ratio * 100
FROM rates LEFT JOIN packets USING (call, row) WHERE call = {call} ORDER BY row
"""
_HEAD = ("from s", "capacity", "target", "sent", "received", "delay p50", "loss")
_UNITS = ("", "kbit/s", "kbit/s", "kbit/s", "kbit/s", "ms", "%")

_FIGURES = (
    ("utilisation_ratio", 1.0), ("loss_ratio", 1.0), ("residual_loss_ratio", 1.0), ("one_way_delay_p50_ms", 1.0),
    ("one_way_delay_p95_ms", 1.0), ("queue_delay_p95_ms", 1.0), ("frame_delay_p95_ms", 1.0), ("rendered_fps", 1.0),
    ("stall_ratio", 1.0), ("ssim_db_mean", 1.0), ("fec_ratio", 1.0), ("rtx_ratio", 1.0), ("padding_ratio", 1.0),
    ("feedback_rate_kbps", 1e-3), ("target_bitrate_change_ratio", 1.0),
)  # fmt: skip


def scenarios() -> list[Path]:
    """The calls."""
    return sorted(GOLDEN.glob("*.toml"))


def tables(scenario: Path, names: list[str]) -> dict[str, str]:
    """The table of each controller in one scenario."""
    import duckdb

    from legato.plan import Choice
    from legato.results.query import summary_rows
    from legato.runs.sweep import sweep

    # One that knows the link's future is refused where others share the link.
    names = [name for name in names if refusal(name, scenario) is None]
    plan = Choice(scenario, controllers=names, log="packets").plan()
    with tempfile.TemporaryDirectory() as place, duckdb.connect() as database:
        folder = Path(place) / "run"
        sweep(plan, folder)
        traffic = [str(part) for part in sorted(folder.glob("traffic/*.parquet"))]
        beside = database.execute("SELECT * FROM read_parquet(?)", [traffic]).fetchall() if traffic else []
        columns = [column[0] for column in database.description] if traffic else []
        found = {}
        for call in summary_rows(folder):
            sql = _ROWS.format(folder=folder, call=call["call"], interval_ms=INTERVAL_S * 1000)
            rows = database.execute(sql).fetchall()
            flows = [dict(zip(columns, row, strict=True)) for row in beside]
            flows = [flow for flow in flows if flow["session"] == call["session"]]
            found[call["controller"]] = table(scenario.stem, call, rows, flows)
        return found


def table(scenario: str, call: dict[str, Any], rows: list[tuple[Any, ...]], traffic: list[dict[str, Any]]) -> str:
    """One controller's table: over time, then the call's figures."""
    lines = [f"{call['controller']} in {scenario}, seed {call['seed']}", ""]
    lines += _aligned([_HEAD, _UNITS, *(_row(row) for row in rows)])
    lines.append("")
    figures = [(name, _figure(call, name, scale)) for name, scale in _FIGURES]
    for flow in traffic:
        figures.append((f"{flow['flow']} goodput_kbps", f"{flow['goodput_bps'] / 1e3:.0f}"))
        figures.append((f"{flow['flow']} packets_lost", str(flow["packets_lost"])))
    width = max(len(name) for name, _ in figures)
    lines += [f"{name:<{width}}  {value:>8}" for name, value in figures]
    return "\n".join(lines) + "\n"


def _row(row: tuple[Any, ...]) -> tuple[str, ...]:
    at, *rates, delay_ms, loss_percent = row
    return (
        str(at * INTERVAL_S),
        *(_NOTHING if bps is None else f"{bps / 1e3:.0f}" for bps in rates),
        _NOTHING if delay_ms is None else f"{delay_ms:.0f}",
        _NOTHING if loss_percent is None else f"{loss_percent:.1f}",
    )


def _figure(call: dict[str, Any], name: str, scale: float) -> str:
    value = call[name.replace("_kbps", "_bps")]
    return _NOTHING if value is None else f"{value * scale:.3f}"


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def kept(controller: str, scenario: Path) -> Path:
    """Where a table is kept."""
    return GOLDEN / controller / f"{scenario.stem}.snap"


def differences(names: list[str]) -> list[str]:
    """The lines in which tables differ from the kept ones, and the names of tables that should not be there."""
    lines: list[str] = []
    expected = set()
    for scenario in scenarios():
        for name, text in tables(scenario, names).items():
            path = kept(name, scenario)
            expected.add(path)
            old = path.read_text(encoding="utf-8") if path.is_file() else ""
            if text != old:
                place = f"{name}/{path.name}"
                lines += difflib.unified_diff(
                    old.splitlines(), text.splitlines(), f"{place} as kept", f"{place} now", lineterm="", n=1
                )
    lines += [f"{path.relative_to(GOLDEN)}: of no controller" for path in GOLDEN.glob("*/*") if path not in expected]
    return lines


def write(names: list[str]) -> None:
    """Keep tables as they are now."""
    for scenario in scenarios():
        for name, text in tables(scenario, names).items():
            path = kept(name, scenario)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")


def main(arguments: list[str]) -> int:
    """Compare, or with ``--write`` keep."""
    known = playable()
    if arguments[:1] == ["--write"]:
        names = arguments[1:] or known
        strangers = [name for name in names if name not in known]
        if strangers:
            print(f"golden: no controller is called {strangers[0]!r}; there are {', '.join(known)}", file=sys.stderr)
            return 2
        write(names)
        return 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    found = differences(known)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
