"""Traces that record more than a capacity: names, the played records, networks, trace names in scenarios."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import legato
from fixtures import Legato
from legato import _core, report
from legato.errors import ScenarioError, TraceError
from legato.plan import shipped, traces
from legato.results.query import summary_rows

SHORT = {"duration_s": 5.0}


def column(run: legato.Run, name: str) -> list[object]:
    return [row[name] for row in summary_rows(run.folder)]


def test_both_families_have_names():
    assert len(traces.addresses("hairpin")) == 16
    assert len(traces.addresses("ibox")) == 217
    (path,) = traces.addresses("ibox/12")
    assert Path(path).name == "china-cellular-017.json"


def test_a_path_is_one_network_whatever_its_seeds(tmp_path: Path):
    paths = [f"ibox/{number}" for number in (1, 40, 90, 139, 200)]
    run = legato.run("ibox", controllers=["gcc", "nada"], traces=paths, options=SHORT, seeds=3, out=tmp_path / "run")
    summary = report.summarise([run.folder])
    assert (summary.networks, summary.over) == (5, "5 traces")
    assert set(column(run, "trace_family")) == {"ibox"}


def test_a_recorded_path_replaces_the_scenarios(tmp_path: Path):
    """eth-trace3 has round trips of 2.5 to 73 ms; the scenario's 100 ms one way would be seen."""

    def shortest_ms(name: str, trace: str) -> float:
        options = {**SHORT, "forward.propagation_ms": 100.0, "reverse.propagation_ms": 100.0}
        run = legato.run("steady", traces=[trace], options=options, out=tmp_path / name, log="summary")
        (value,) = column(run, "one_way_delay_mean_ms")
        assert isinstance(value, float)
        return value

    assert shortest_ms("path", "hairpin/6@scale=0.5") < 60
    assert shortest_ms("capacity", "hairpin/6@scale=0.5,plays=capacity") > 100


def test_what_is_played_is_one_of_two():
    with pytest.raises(TraceError, match=r"hairpin/3@plays=capasity: not one of capacity, path") as caught:
        traces.chosen(["hairpin/3@plays=capasity"])
    assert caught.value.hint == "did you mean capacity?"


def test_an_import_plays_as_the_original(tmp_path: Path):
    """Rates, round-trip times and losses survive as columns of Legato's own format."""
    (path,) = traces.addresses("hairpin/10")
    trace = _core.load_trace(path)
    trace.save(str(tmp_path / "own.csv"))
    own = _core.load_trace(str(tmp_path / "own.csv"))
    assert own.duration_s == pytest.approx(trace.duration_s, abs=1e-6)
    for name in ("propagation_ms", "loss_ratio"):
        before, after = getattr(trace, name)(1.0), getattr(own, name)(1.0)
        assert len(before) == len(after)
        assert abs(before - after).max() < 1e-6
    figures = []
    for number, played in enumerate([path, str(tmp_path / "own.csv")]):
        run = legato.run("steady", traces=[f"{played}@scale=0.3"], options=SHORT, out=tmp_path / f"{number}")
        figures.append([row[name] for row in summary_rows(run.folder) for name in ("packets_sent", "loss_ratio")])
    assert figures[0] == figures[1]


def test_a_scenario_names_a_shipped_trace(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\n[forward.capacity]\ntrace = "fcc/12"\n', encoding="utf-8")
    run = legato.run(file, options=SHORT, out=tmp_path / "run", log="summary")
    (path,) = traces.addresses("fcc/12")
    assert column(run, "trace") == [Path(path).name]
    written = json.loads((run.folder / "plan.json").read_text(encoding="utf-8"))
    assert 'trace = "fcc/12"' in written["scenario"]
    assert "scenario_traces" not in written, "paths belong to one machine"
    beside = tmp_path / "fcc"
    beside.mkdir()
    (beside / "12").write_text("0 1\n1 2\n", encoding="utf-8")
    run = legato.run(file, options=SHORT, out=tmp_path / "other", log="summary")
    assert column(run, "trace") == ["12"], "a file beside the scenario goes before a name"


def test_a_scenario_names_a_shipped_traces_conditions(tmp_path: Path):
    options = {**SHORT, "forward.propagation_ms": 200.0, "forward.conditions.trace": "hairpin/16"}
    run = legato.run("steady", options=options, out=tmp_path / "run", log="summary")
    (delay_ms,) = column(run, "one_way_delay_mean_ms")
    assert isinstance(delay_ms, float)
    assert delay_ms < 100
    with pytest.raises(TraceError, match=r"forward\.conditions\.trace = 'hairpin/99': no such file"):
        legato.run("steady", options={"forward.conditions.trace": "hairpin/99"}, out=tmp_path / "other")


def test_a_scenario_that_names_no_trace_is_refused_with_the_nearest(tmp_path: Path):
    file = tmp_path / "mine.toml"
    for name, message, hint in [
        ("ibox/999", "no such file, and no trace that comes with Legato", "did you mean ibox/9"),
        ("fcc", "means 164 traces", "a scenario plays one, as 'fcc/1'"),
    ]:
        file.write_text(f'[forward.capacity]\ntrace = "{name}"\n', encoding="utf-8")
        with pytest.raises(TraceError, match=rf"forward\.capacity\.trace = '{name}': {message}") as caught:
            legato.run(file, out=tmp_path / "run")
        assert str(caught.value.hint).startswith(hint), caught.value.hint
    # Another trace in its place: what the scenario names is not needed.
    legato.run(file, traces=["fcc/1"], options=SHORT, out=tmp_path / "replaced", log="summary")


def test_a_path_of_ibox_is_chosen_by_an_option(tmp_path: Path):
    changed = {**SHORT, "forward.capacity.trace": "ibox/40"}
    run = legato.run("ibox", options=changed, out=tmp_path / "run", log="summary")
    (path,) = traces.addresses("ibox/40")
    assert column(run, "trace") == [Path(path).name]
    with pytest.raises(ScenarioError, match=r"-o forward\.capacity\.plays=all: .*is not one of capacity, path"):
        legato.run("ibox", options={"forward.capacity.plays": "all"}, out=tmp_path / "other")


def test_a_run_over_recorded_paths_is_repeated_to_the_byte(tmp_path: Path, legato: Legato):
    """The printed command, from another folder."""
    first = legato("run", "ibox", "--traces", "ibox/3,hairpin/16@scale=0.25", "-o", "duration_s=4", "--out", "one")
    assert first.returncode == 0, first.stderr
    command = json.loads((tmp_path / "one" / "repeat.json").read_text(encoding="utf-8"))["command"]
    (tmp_path / "elsewhere").mkdir()
    again = legato(*command[1:], "--out", "two", cwd=tmp_path / "elsewhere")
    assert again.returncode == 0, again.stderr
    for name in ("plan.json", "summary/00000.parquet", "traffic/00000.parquet"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "elsewhere/two" / name).read_bytes(), name


def test_show_says_what_a_reader_has_to_know(legato: Legato):
    shown = legato("traces", "show", "hairpin/1").stdout
    assert "2.50 Mbit/s, the floor of such logs, for 78% of the time" in shown
    assert "Propagation delay, one way, in ms" in shown
    assert "Random loss in %" in shown
    shown = legato("traces", "show", "ibox/139").stdout
    assert "Buffer of 90381 bytes: 237 ms at its bottleneck." in shown
    assert "Cross traffic in Mbit/s" in shown
    assert "Propagation" not in legato("traces", "show", "fcc/1").stdout


def test_ibox_is_in_the_wheel_and_hairpin_is_not():
    """Its licence is MIT; that of Hairpin's logs is the GPL."""
    folders = {trace.family: trace.path.parts for trace in shipped.traces()}
    assert "copyleft" in folders["hairpin"]
    assert "copyleft" not in folders["ibox"]
