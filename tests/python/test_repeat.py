"""What a page prints under "To repeat it" makes the same run folder, byte for byte, in a shell in another folder."""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import legato
from legato import _core, cli
from legato.call import Pictures
from legato.errors import DataWarning, RunFolderError
from legato.plan import Choice, repeat, shipped
from legato.plan.record import recorded

RATES = "time_s,rate_bps\n0,1500000\n1,600000\n2,1200000\n9,1200000\n"
SCENARIO = """\
name = "{name}"
duration_s = 2.0
[controller]
name = "gcc"
[forward]
capacity = {{ trace = "traces/dips.csv" }}
propagation_ms = 20.0
[reverse]
propagation_ms = 20.0
"""
ODD = 'bob\'s "own" scénario, $HOME & `co` [1].toml'

RUNS = {
    "changes and seeds": ["run", "cellular", "-o", "duration_s=2", "-o", "forward.queue.limit_ms=150",
                          "--seed", "7", "--seed", "3"],
    "a change that is a table, one of a list, and text that looks like a number":
        ["run", "steady", "-o", "duration_s=2", "-o", "forward.capacity={constant_bps = 700000}",
         "-o", "pauses=[{start_s = 0.5, end_s = 1.0}]", "-o", 'name="7"'],
    "the scenario's controller, changed": ["run", "steady", "-o", "duration_s=2", "-o", "controller.name=fixed",
                                           "-o", "controller.config.target_bitrate_bps=500000"],
    "controllers with parameters, globs and windows":
        ["compare", "--controllers", 'gcc@aimd.backoff_ratio=0.7,label="a, @b",fixed@target_bitrate_bps=400000',
         "--traces", "traces/*.csv@scale=0.5,start_s=1.5", "--traces", "traces/x,y@1=2.csv", "--seeds", "2",
         "--duration-s", "2"],
    "own scenario that is called as a shipped one": ["run", "cellular.toml", "--seed", "5"],
    "own scenario with an odd name": ["run", ODD, "-o", "forward.loss_ratio=0.02"],
    "shipped traces and a clip by name, packets":
        ["compare", "--controllers", "gcc", "--traces",
         "fcc/1.4s/trace_10137_http---www.amazon.com@start_s=45,duration_s=60,nyc-lte/3",
         "--clips", "foreman", "--duration-s", "2", "--log", "packets"],
    "own clips, a profile and a video": ["compare", "--controllers", "gcc", "--clips", "clips/my, own.safetensors",
                                         "--clips", "clips/noise.mp4", "--duration-s", "2", "--log", "summary"],
    "a policy of one's own": ["run", "steady", "-o", "duration_s=2", "--controller", "nvc-cc@policy=my policies/best"],
    "a policy named by a change": ["run", "steady", "-o", "duration_s=2", "-o", "controller.name=nvc-cc",
                                   "-o", "controller.config.policy=my policies/best"],
    "several flows": ["run", "rfc8867/5_4", "-o", "duration_s=3",
                      "-o", "calls=[{name = 'a'}, {name = \"b's\", start_s = 1}]"],
    "one of several traces in a file, by part": ["run", "steady", "-o", "duration_s=2", "--traces", "parts.csv#run.1",
                                                 "--calls-per-part", "1", "--seed", "1", "--seed", "4"],
    "a folder of traces that has the name of a data set":
        ["compare", "--controllers", "gcc", "--traces", "fcc", "--duration-s", "2"],
}  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's folder."""
    home = tmp_path_factory.mktemp("home of Zoë")
    for name, rates in (("dips", RATES), ("x,y@1=2", RATES.replace("6000", "7000")), ("flat", "0,0.9\n9,0.9\n")):
        (home / "traces").mkdir(exist_ok=True)
        (home / "traces" / f"{name}.csv").write_text(rates)
    runs = ("1.5,Mbits/sec", "9,Mbits/sec", "the,connection", "600,Kbits/sec", "700,Kbits/sec")
    (home / "parts.csv").write_text("\n".join(("Value,Unit", *runs, "")))
    (home / "fcc").mkdir()
    for number in range(5):
        (home / f"fcc/{number}.csv").write_text(RATES.replace("12", f"1{number}"))
    (home / "cellular.toml").write_text(SCENARIO.format(name="cellular"))
    (home / ODD).write_text(SCENARIO.format(name="odd"))
    (home / "clips").mkdir()
    shutil.copyfile(shipped.profile("foreman"), home / "clips/my, own.safetensors")
    shutil.copytree(shipped.policies_folder() / "nvc-cc", home / "my policies/best")
    return home


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a shell that finds `legato`."""
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "legato"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "from legato.cli import main; main()" "$@"\n')
    program.chmod(0o755)
    cache = tmp_path_factory.mktemp("cache")
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "LEGATO_CACHE": str(cache)}


def video(path: Path) -> None:
    """A second of a small moving picture."""
    import numpy as np

    av = pytest.importorskip("av")
    if not hasattr(_core, "picture_quality"):
        pytest.skip("built without a C++ compiler: no encoders")
    random = np.random.default_rng(1)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=25, width=160, height=96, pix_fmt="yuv420p", bit_rate=1_000_000)
        picture = random.integers(60, 200, (96, 160, 3), dtype=np.uint8)
        for number in range(25):
            shown = np.roll(picture, 3 * number, axis=1)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(shown, format="rgb24")))
        container.mux(stream.encode())


def bytes_of(folder: Path) -> dict[str, str]:
    """Every file of a run folder but its page, which has the folder's name in it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "report.html"
    }


def printed(*runs: Path) -> list[str]:
    """The commands on the page of some runs."""
    page = legato.write_report(runs, runs[0].parent / f"{runs[0].name}.html").read_text(encoding="utf-8")
    found = re.findall(r'<div class="command">.*?<pre class="code"><code>(.*?)</code></pre>', page, re.DOTALL)
    return [html.unescape(command) for command in found]


def repeated(command: str, folder: Path, environment: dict[str, str]) -> Path:
    """Run a command by the shell; the folder that it wrote."""
    folder.mkdir()
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    (made,) = folder.iterdir()
    return made


@pytest.mark.parametrize("case", RUNS)
def test_the_printed_command_makes_the_same_bytes_from_another_folder(
    case: str, home: Path, shell: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(home)
    monkeypatch.setenv("LEGATO_CACHE", shell["LEGATO_CACHE"])
    if "clips/noise.mp4" in RUNS[case] and not (home / "clips/noise.mp4").exists():
        video(home / "clips/noise.mp4")
    made = tmp_path / "it's made"
    assert cli.status_of([*RUNS[case], "--out", str(made)]) == 0
    (command,) = printed(made)
    again = repeated(command, tmp_path / "elsewhere", shell)
    assert again.name == "it's made-again"
    assert bytes_of(again) == bytes_of(made)
    assert len(bytes_of(made)) > 3


def test_pages_before_and_after_print_a_command_for_each(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(home)
    for name, limit_ms in (("before", 100), ("after", 400)):
        options = {"duration_s": 1.0, "forward.queue.limit_ms": limit_ms}
        legato.run("steady", out=tmp_path / name, options=options)
    assert printed(tmp_path / "before", tmp_path / "after") == [
        f"legato run steady -o duration_s=1.0 -o forward.queue.limit_ms={limit_ms} --out {name}-again"
        for name, limit_ms in (("before", 100), ("after", 400))
    ]


def test_the_page_has_the_hash_of_each_of_the_users_files_and_says_which_has_changed(home: Path, tmp_path: Path):
    scenario, trace = tmp_path / "mine.toml", tmp_path / "traces/dips.csv"
    trace.parent.mkdir()
    scenario.write_text(SCENARIO.format(name="mine"))
    trace.write_text(RATES)
    made = tmp_path / "made"
    legato.run(scenario, out=made, options={"duration_s": 1.0})
    page = legato.write_report([made], tmp_path / "page.html").read_text(encoding="utf-8")
    for file in (scenario, trace):
        assert f"<code>{file}</code> <small>SHA-256 {hashlib.sha256(file.read_bytes()).hexdigest()}" in page
    assert "no longer repeats" not in page

    trace.write_text(RATES.replace("600000", "700000"))
    scenario.unlink()
    page = legato.write_report([made], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "This command no longer repeats the run" in page
    assert f"{trace}: it has changed since" in page
    assert f"{scenario}: it is no longer there" in page
    with pytest.raises(RunFolderError, match=r"traces/dips\.csv: it has changed since"):
        legato.replay(made, 0, out=tmp_path / "replayed")


def test_a_plan_names_files_alike_wherever_they_lie(tmp_path: Path):
    kept = []
    for place in ("here", "there"):
        (tmp_path / place / "traces").mkdir(parents=True)
        (tmp_path / place / "more").mkdir()
        (tmp_path / place / "mine.toml").write_text(SCENARIO.format(name="mine"))
        for name in ("traces/dips.csv", "more/dips.csv"):
            (tmp_path / place / name).write_text(RATES)
        made = tmp_path / place / "made"
        traces = [tmp_path / place / "more/dips.csv"]
        legato.run(tmp_path / place / "mine.toml", out=made, options={"duration_s": 1.0}, traces=traces)
        kept.append((made / "plan.json").read_text(encoding="utf-8"))
    assert kept[0] == kept[1]
    plan = json.loads(kept[0])
    assert plan["scenario_path"] == "mine.toml"
    # Of two files of one name, each has as much of its path as tells them apart.
    assert [file["name"] for file in plan["files"]] == ["mine.toml", "more/dips.csv", "traces/dips.csv"]


def test_copies_of_a_trace_and_links_to_it_are_one_network_and_warned_of(tmp_path: Path):
    for name in ("a.csv", "b.csv", "c.csv"):
        (tmp_path / name).write_text(RATES)
    (tmp_path / "d.csv").symlink_to("a.csv")
    (tmp_path / "other.csv").write_text(RATES.replace("600000", "700000"))
    with pytest.warns(DataWarning, match=r"^a.csv, b.csv and 2 more have the same content: copies count as one netw"):
        run = legato.compare(
            ["gcc"], traces=[tmp_path], clips=["foreman"], options={"duration_s": 1.0}, out=tmp_path / "run"
        )
    assert legato.report.summarise(run.folder).over == "2 traces"


def test_a_call_of_ones_own_files_is_replayed_from_another_folder(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(home)
    made = tmp_path / "made"
    legato.run("cellular.toml", out=made, traces=["parts.csv#run.0"], controllers=["nvc-cc@policy=my policies/best"])
    monkeypatch.chdir(tmp_path)
    replay = legato.replay(made, 0, out="replayed")
    assert not replay.differences
    (command,) = printed(Path("replayed"))
    assert command.startswith("legato compare --scenario ") and "--log packets" in command


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (
            {"seeds": [3], "controllers": ["gcc"], "call": {"peers": "legato", "direction": "both", "vmaf": True}},
            "call steady --controller gcc --seed 3 --peers legato --direction both --vmaf",
        ),
        (
            {"call": {"peers": "chromium", "size": "640x360", "fps": 15, "codec": "vp9", "vmaf": False}},
            "call steady --size 640x360 --fps 15 --codec vp9",
        ),
        (
            {"call": {"peers": "legato", **Pictures(codec="vp8", parity="0.2").options(), "vmaf": False}},
            "call steady --peers legato --codec vp8 --parity 0.2",
        ),
        (
            {"call": {"peers": "legato", **Pictures(recovery="references").options(), "vmaf": False}},
            "call steady --peers legato --recovery references",
        ),
        (
            {"call": {"near": "ping -c 9 $LEGATO_PEER", "far": "sleep 9", "name": "pings"}},
            "link steady --near 'ping -c 9 $LEGATO_PEER' --far 'sleep 9' --name pings",
        ),
    ],
)
def test_real_calls_print_what_made_them(how: dict, words: str):
    call = how.pop("call")
    specs = {"controllers": how.get("controllers", ()), "seeds": how.get("seeds", 1)}
    plan = replace(Choice("steady", **specs).plan(), call=call)
    assert shlex.join(repeat.words(recorded(plan))) == f"legato {words}"
