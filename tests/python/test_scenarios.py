"""Scenarios: docs/reference/scenario.md says what the reader reads, and the shipped ones run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import legato
from fixtures import ROOT
from legato import _core
from legato.errors import ScenarioError, TraceError
from legato.plan import shipped
from legato.results.query import summary_rows

# Every table that is absent unless given, so that its defaults show.
ALL_TABLES = """
[audio]
[forward.capacity]
constant_bps = 1
[forward.gilbert_elliott]
[forward.jitter]
[forward.reorder]
"""


def flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in table.items():
        values |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return values


def documented() -> dict[str, str]:
    """Each key of docs/reference/scenario.md and its entry in the column of defaults."""
    text = (ROOT / "docs/reference/scenario.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `([a-z_.]+)` \| ([^|]*?) ?\|", text, re.MULTILINE))


def test_every_key_with_a_default_is_documented_with_it():
    table = documented()
    resolved = flat(tomllib.loads(_core.resolve_scenario(ALL_TABLES, "all.toml")))
    for key, value in resolved.items():
        if key.startswith("reverse.") or key == "forward.capacity.constant_bps":
            continue  # reverse has the keys of forward
        assert key in table, f"docs/reference/scenario.md does not list {key}"
        shown = re.findall(r"`([^`]*)`", table[key])
        assert shown, f"{key} has no default in docs/reference/scenario.md"
        assert tomllib.loads(f"x = {shown[-1]}")["x"] == value, key


@pytest.mark.parametrize("key", sorted(documented()))
def test_every_documented_key_is_known(key: str):
    """A value of the wrong type is refused for its type, not for its name."""
    *tables, last = key.split(".")
    text = "".join(f"[{'.'.join(tables)}]\n" if tables else "") + f"{last} = [[[1]]]\n"
    with pytest.raises(ScenarioError) as error:
        _core.resolve_scenario(text, "a.toml")
    assert f"unknown field `{last}`" not in str(error.value)


def test_an_unknown_key_is_refused_with_file_line_and_name():
    with pytest.raises(ScenarioError, match=r"a\.toml:2: unknown field `capacety`"):
        _core.resolve_scenario("[forward]\ncapacety = 1\n", "a.toml")


def own_scenarios() -> list[Path]:
    """The scenarios outside the test suites of RFCs, which have separate tests."""
    return [path for path in shipped.scenarios() if path.parent.name == "scenarios"]


@pytest.mark.parametrize("path", own_scenarios(), ids=lambda path: path.stem)
def test_a_shipped_scenario_runs_and_is_called_after_its_file(path: Path, tmp_path: Path):
    # Flows have fixed times, which do not fit into a shorter session.
    shared = "[[calls]]" in path.read_text(encoding="utf-8")
    run = legato.run(path, out=tmp_path / "run", options={} if shared else {"duration_s": 5.0}, log="summary")
    (call,) = run.summary()
    assert call["scenario"] == path.stem
    assert call["frames_rendered"] > 50


def test_calls_begin_with_the_picture_that_is_named(tmp_path: Path):
    """Drawn from the seed, or named: then calls of all seeds show the same, and their encoder codes the same."""
    import duckdb

    def sizes(name: str, first: int | None) -> list[list[int]]:
        options = {"duration_s": 4}
        if first is not None:
            options["video.first_picture"] = first
        fixed = ["fixed@target_bitrate_bps=300000"]
        run = legato.run(
            "steady", options=options, controllers=fixed, clips=["foreman"], seeds=[1, 2], out=tmp_path / name
        )
        rows = duckdb.read_parquet(str(run.folder / "frames" / "*.parquet")).order("call, frame").fetchall()
        call, size = (run_columns(run.folder).index(column) for column in ("call", "size_bytes"))
        return [[row[size] for row in rows if row[call] == number] for number in (0, 1)]

    def run_columns(folder: Path) -> list[str]:
        return duckdb.read_parquet(str(folder / "frames" / "*.parquet")).columns

    drawn, named, other = sizes("drawn", None), sizes("named", 7), sizes("other", 8)
    assert drawn[0] != drawn[1]
    assert named[0] == named[1]
    # A picture later, all but what the beginning leaves behind is the same, a picture earlier.
    assert other[0] == other[1] != named[0]


def test_an_unknown_generator_is_named_with_file_and_key():
    with pytest.raises(ScenarioError, match=r'a\.toml: forward\.capacity\.generator: "clcc\+clc": "clc" is not one of'):
        _core.resolve_scenario('forward.capacity.generator = "clcc+clc"\n', "a.toml")


@pytest.mark.parametrize("way", ["forward", "reverse"])
def test_a_trace_that_is_missing_is_named_with_its_key(tmp_path: Path, way: str):
    file = tmp_path / "a.toml"
    file.write_text(f'{way}.capacity.trace = "gone.csv"\n', encoding="utf-8")
    with pytest.raises(TraceError, match=rf'^{way}\.capacity\.trace = "gone\.csv": .*gone\.csv: No such file'):
        legato.run(file, out=tmp_path / "run")


def test_one_of_several_generators_is_drawn(tmp_path: Path):
    """The mean of a network of Table III, at least 45 draws from 0.25 to 4 Mbit/s, is never far from their middle."""

    def near_the_middle(names: str) -> int:
        options = {"forward.capacity.generator": names, "duration_s": 45.0}
        run = legato.run("clcc", out=tmp_path / names, options=options, seeds=60, log="summary")
        means_mbps = [row["capacity_mean_bps"] / 1e6 for row in summary_rows(run.folder)]
        return sum(1.4 < mean < 2.9 for mean in means_mbps)

    assert 20 < near_the_middle("clcc+broad") < 45
