"""Runs and comparisons from the command line: the same bytes every time, stopped and resumed, never half-written."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from fixtures import Legato
from legato.plan import shipped


def bytes_of(folder: Path) -> dict[str, str]:
    """Every file of a run folder and the hash of its content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def material(tmp_path: Path) -> Path:
    """A stranger's folder outside the checkout: two traces and a clip."""
    folder = tmp_path / "material"
    folder.mkdir()
    traces = [trace.path for trace in shipped.traces() if trace.family == "fcc"]
    for number, trace in enumerate(traces[:2]):
        shutil.copyfile(trace, folder / f"trace {number}.txt")
    shutil.copyfile(shipped.profiles()[0], folder / "clip.safetensors")
    return folder


@pytest.fixture
def lists(material: Path) -> list[str]:
    return ["--traces", f"{material}/*.txt", "--clips", f"{material}/*.safetensors"]


def test_a_comparison_of_files_outside_the_checkout(legato: Legato, tmp_path: Path, lists: list[str]):
    done = legato("compare", "--controllers", "fixed,gcc", *lists, "--seeds", 2, "--duration-s", 10, "--out", "made")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "made"
    rows = duckdb.sql(
        f"SELECT controller, trace, seed, duration_s, packets_sent FROM '{folder}/summary/*.parquet' ORDER BY call"
    ).fetchall()
    assert [(row[0], row[2]) for row in rows] == [("fixed", 1), ("fixed", 2)] * 2 + [("gcc", 1), ("gcc", 2)] * 2
    assert {row[3] for row in rows} == {10.0}
    assert all(row[4] > 100 for row in rows)
    assert json.loads((folder / "manifest.json").read_text())["calls"] == 8
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")[:500]
    assert "report: made/report.html" in done.stdout


def test_a_trace_named_outside_is_played_as_it_is_whatever_the_scenario_does_to_its_own(
    legato: Legato, tmp_path: Path, material: Path
):
    """The default scenario slows its own trace to a fifth."""
    import legato as api

    trace = material / "trace 0.txt"
    legato("compare", "--controllers", "fixed", "--traces", trace, "--duration-s", 10, "--no-report", "--out", "made")
    legato(
        *("compare", "--controllers", "fixed", "--traces", f"{trace}@scale=0.5,start_s=10", "--duration-s", 10),
        *("--no-report", "--out", "slower"),
    )
    rates_bps = api.load_trace(trace).rates(10.0)[1]
    for folder, expected_bps in (("made", rates_bps[0]), ("slower", rates_bps[1] / 2)):
        (row,) = duckdb.sql(f"SELECT capacity_mean_bps FROM '{tmp_path}/{folder}/summary/*.parquet'").fetchall()
        assert row[0] == pytest.approx(expected_bps, rel=0.01)


def test_the_same_bytes_whatever_the_number_of_threads(legato: Legato, tmp_path: Path, lists: list[str]):
    for threads in (1, 2):
        done = legato(
            *("compare", "--controllers", "gcc,oracle", *lists, "--seeds", 3, "--duration-s", 5, "--no-report"),
            *("--log", "packets", "--threads", threads, "--out", f"with{threads}"),
        )
        assert done.returncode == 0, done.stderr
    assert bytes_of(tmp_path / "with1") == bytes_of(tmp_path / "with2") != {}


def test_json_is_json_and_names_what_was_written(legato: Legato, tmp_path: Path, lists: list[str]):
    done = legato("compare", "--controllers", "gcc", *lists, "--duration-s", 5, "--out", "made", "--json")
    document = json.loads(done.stdout)
    assert Path(document["report"]).name == "report.html"
    assert [row["controller"] for row in document["means"]] == ["gcc"]
    assert document["means"][0]["calls"] == 2


def test_a_folder_that_holds_a_run_is_left_alone(legato: Legato, tmp_path: Path, lists: list[str]):
    command = ["compare", "--controllers", "fixed", *lists, "--duration-s", 2, "--no-report", "--out", "made"]
    assert legato(*command).returncode == 0
    before = bytes_of(tmp_path / "made")
    again = legato(*command)
    assert again.returncode == 2
    assert "error: made: holds a run already" in again.stderr
    assert "--resume" in again.stderr
    assert legato(*command, "--resume").returncode == 0
    other = legato(*command, "--resume", "--seeds", 2)
    assert other.returncode == 2
    assert "made" in other.stderr.splitlines()[0]
    assert bytes_of(tmp_path / "made") == before


@pytest.mark.slow
def test_a_sweep_stopped_by_ctrl_c_is_readable_and_goes_on_to_the_same_bytes(
    legato: Legato, tmp_path: Path, lists: list[str]
):
    command = ["compare", "--controllers", "gcc,oracle", *lists, "--seeds", "400", "--no-report"]
    command += ["--log", "summary"]
    launch = [sys.executable, "-c", "from legato.cli import main; main()", *command, "--calls-per-part", "16"]
    process = subprocess.Popen([*launch, "--out", "stopped"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list((tmp_path / "stopped").glob("summary/*.parquet")) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "the same command with --resume" in said
    assert "Traceback" not in said
    finished = duckdb.sql(f"SELECT count(*) FROM '{tmp_path}/stopped/summary/*.parquet'").fetchall()[0][0]
    assert 0 < finished < 1600
    assert f"stopped: {finished} of 1600 calls" in said

    assert legato(*command, "--calls-per-part", 16, "--out", "stopped", "--resume").returncode == 0
    assert legato(*command, "--calls-per-part", 16, "--out", "whole").returncode == 0
    assert bytes_of(tmp_path / "stopped") == bytes_of(tmp_path / "whole")


def test_progress_is_plain_lines_where_there_is_no_terminal(legato: Legato, lists: list[str]):
    done = legato("compare", "--controllers", "fixed", *lists, "--duration-s", 2, "--no-report", "--out", "made")
    assert "\x1b" not in done.stderr
    assert "\x1b" not in done.stdout


def test_run_makes_the_next_free_folder_and_keeps_the_old(legato: Legato, tmp_path: Path):
    for folder in ("cellular", "cellular-2"):
        done = legato("run", "cellular", "-o", "duration_s=2")
        assert done.returncode == 0, done.stderr
        assert f"run: runs/{folder}" in done.stdout
        assert (tmp_path / "runs" / folder / "manifest.json").is_file()


def test_run_takes_seeds_controllers_and_overrides(legato: Legato):
    done = legato("run", "cellular", "-o", "duration_s=2", "--seed", 7, "--seed", 9, "--controller", "oracle", "--json")
    calls = json.loads(done.stdout)["calls"]
    assert [(call["controller"], call["seed"], call["duration_s"]) for call in calls] == [
        ("oracle", 7, 2.0),
        ("oracle", 9, 2.0),
    ]


def test_a_replayed_call_is_the_same_and_has_its_packets(legato: Legato, tmp_path: Path, lists: list[str]):
    made = legato("compare", "--controllers", "fixed,gcc", *lists, "--seeds", 2, "--duration-s", 5, "--out", "made")
    assert made.returncode == 0, made.stderr
    again = legato("replay", "made", 6, "--out", "again")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "same: every figure" in again.stdout
    (count,) = duckdb.sql(f"SELECT count(*) FROM '{tmp_path}/again/packets/*.parquet'").fetchall()[0]
    (sent,) = duckdb.sql(f"SELECT packets_sent FROM '{tmp_path}/made/summary/*.parquet' WHERE call = 6").fetchall()[0]
    assert count == sent
    beyond = legato("replay", "made", 8)
    assert beyond.returncode == 2
    assert "call = 8: this run has calls 0 to 7" in beyond.stderr


def test_a_replay_that_differs_says_so_and_leaves_with_1(legato: Legato, tmp_path: Path, lists: list[str]):
    made = legato("compare", "--controllers", "fixed", *lists, "--duration-s", 5, "--no-report", "--out", "made")
    assert made.returncode == 0, made.stderr
    part = tmp_path / "made/summary/00000.parquet"
    table = duckdb.sql(f"SELECT * REPLACE (packets_sent + 1 AS packets_sent) FROM '{part}'")
    table.write_parquet(str(tmp_path / "changed.parquet"))
    (tmp_path / "changed.parquet").replace(part)
    again = legato("replay", "made", 0, "--out", "again")
    assert again.returncode == 1
    assert "different: packets_sent was " in again.stdout


def test_a_scenario_is_replayed_by_its_seed(legato: Legato, tmp_path: Path):
    done = legato("replay", "cellular", "--seed", 3, "--out", "again")
    assert done.returncode == 0, done.stderr
    assert "same: every figure" in done.stdout
    assert list((tmp_path / "again/packets").glob("*.parquet"))


@pytest.mark.parametrize(
    ("option", "names"),
    [
        ("no_such_key=1", "no_such_key"),
        ("duration_s=-1", "duration_s"),
        ("duration_s=nan", "duration_s"),
        ("duration_s=1e30", "duration_s"),
        ("duration_s=text", "duration_s"),
    ],
)
def test_a_scenario_that_makes_no_sense_is_refused_by_key_and_value(
    legato: Legato, tmp_path: Path, option: str, names: str
):
    done = legato("run", "cellular", "-o", option, "--out", "made")
    assert done.returncode == 2
    first = done.stderr.splitlines()[0]
    assert names in first
    assert first.startswith("error: cellular: -o ")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.txt", b""),
        ("binary.txt", bytes(range(256)) * 20),
        ("words.txt", b"this is not\na trace of anything\n"),
        ("backwards.csv", b"time_s,rate_bps\n1,1000\n0,1000\n"),
        ("negative.csv", b"time_s,rate_bps\n0,-5\n1,1000\n"),
        ("huge.csv", b"time_s,rate_bps\n0,1e300\n1,1000\n"),
        ("nan.csv", b"time_s,rate_bps\n0,nan\n1,1000\n"),
        ("cut.gz", b"\x1f\x8b\x08\x00\x00"),
    ],
)
def test_a_bad_trace_is_one_error_line_and_nothing_is_written(
    legato: Legato, tmp_path: Path, material: Path, name: str, content: bytes
):
    (tmp_path / name).write_bytes(content)
    clip = material / "clip.safetensors"
    for command in (
        ["compare", "--controllers", "fixed", "--traces", name, "--clips", str(clip), "--out", "made"],
        ["traces", "show", name],
        ["traces", "import", name, "made"],
    ):
        done = legato(*command)
        assert done.returncode == 2, command
        assert done.stderr.splitlines()[0].startswith("error: ")
        assert name in done.stderr.splitlines()[0]
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, b"\xff" * 8 + b"{}", b"not a profile"])
def test_a_bad_profile_is_one_error_line_and_nothing_is_written(legato: Legato, tmp_path: Path, content: bytes):
    (tmp_path / "bad.safetensors").write_bytes(content)
    done = legato("compare", "--controllers", "fixed", "--clips", "bad.safetensors", "--out", "made")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "bad.safetensors" in done.stderr.splitlines()[0]
    assert not (tmp_path / "made").exists()


def test_an_imported_trace_plays_as_the_original(legato: Legato, tmp_path: Path, material: Path):
    import legato as api

    assert legato("traces", "import", material / "trace 0.txt", "own.csv").returncode == 0
    before, after = api.load_trace(material / "trace 0.txt"), api.load_trace(tmp_path / "own.csv")
    assert after.mean_rate_bps == pytest.approx(before.mean_rate_bps, rel=1e-6)
    assert after.duration_s == pytest.approx(before.duration_s)
    assert (tmp_path / "own.csv").read_text().startswith("time_s,rate_bps\n")
    refused = legato("traces", "import", material / "trace 1.txt", "own.csv")
    assert refused.returncode == 2
    assert "own.csv: is there already" in refused.stderr


def test_traces_are_shown_in_the_terminal_and_as_pictures(legato: Legato, tmp_path: Path, material: Path):
    shown = legato("traces", "show", material / "trace 0.txt")
    assert shown.returncode == 0, shown.stderr
    assert any(0x2800 < ord(letter) <= 0x28FF for letter in shown.stdout)
    drawn = legato("traces", "show", material / "trace 0.txt", "--svg", "a.svg", "--html", "a.html")
    assert drawn.returncode == 0
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "<svg" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_all_shipped_traces_are_listed(legato: Legato):
    listed = json.loads(legato("traces", "list", "--json").stdout)
    files = {Path(trace["path"].partition("#")[0]) for trace in listed}  # some hold several traces
    assert files == {trace.path for trace in shipped.traces()}
    assert all(trace["mean_rate_bps"] > 0 and trace["duration_s"] > 1 for trace in listed)
