"""What a newcomer sees without having read anything."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from fixtures import Legato

VERBS = (
    "demo",
    "run",
    "call",
    "compare",
    "gap",
    "link",
    "report",
    "replay",
    "rtp-log",
    "profile",
    "traces",
    "controllers",
    "policy",
)
SUBVERBS = (
    ("traces", "list"),
    ("traces", "show"),
    ("traces", "import"),
    ("controllers", "list"),
    ("controllers", "show"),
    ("policy", "import"),
    ("policy", "learn"),
)


def test_legato_alone_prints_its_help_and_is_content(legato: Legato):
    alone = legato()
    assert alone.returncode == 0
    assert alone.stderr == ""
    for verb in VERBS:
        assert re.search(rf"^│ {verb} ", alone.stdout, re.MULTILINE), verb


@pytest.mark.parametrize(
    "verb", [(verb,) for verb in VERBS if verb not in ("traces", "controllers", "policy")] + [*SUBVERBS]
)
def test_every_verb_explains_itself_with_an_example(legato: Legato, verb: tuple[str, ...]):
    shown = legato(*verb, "--help", env=None)
    assert shown.returncode == 0
    assert f"legato {' '.join(verb)}" in shown.stdout.partition("Example")[2]


@pytest.mark.parametrize("verb", ["leaderboard", "reproduce"])
def test_a_verb_whose_package_is_missing_says_what_to_install(tmp_path, verb: str):
    hidden = "import importlib.metadata as m; m.entry_points = lambda **_: (); from legato.cli import main; main()"
    arguments = [verb, "anything", "--out", "x", "--out", "y"]
    said = subprocess.run([sys.executable, "-c", hidden, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.splitlines() == [
        f"error: {verb} needs the package legato-studies, which is not installed",
        "hint: pip install legato-studies",
    ]


def test_the_version_is_the_crates(legato: Legato):
    assert re.fullmatch(r"legato \d+\.\d+\.\d+\n", legato("--version").stdout)


def test_controllers_can_be_listed_for_people_and_for_scripts(legato: Legato):
    listed = json.loads(legato("controllers", "list", "--json").stdout)
    assert {"fixed", "gcc", "oracle", "remote"} <= {entry["name"] for entry in listed}
    shown = legato("controllers", "list").stdout
    for entry in listed:
        assert re.search(rf"^{entry['name']} +{entry['side']} +\S", shown, re.MULTILINE)
        assert set(entry) == {"name", "side", "learned", "for_study", "summary", "cites", "defaults_toml"}


def test_a_controller_is_shown_as_toml_that_can_be_used(legato: Legato):
    import tomllib

    shown = legato("controllers", "show", "gcc").stdout
    assert tomllib.loads(shown)
    assert shown.startswith("# gcc (sender): ")
    assert "shortest round trip plus this much queue. [ms, 0 to 60000]\nqueue_ms = 350\n" in shown
    assert tomllib.loads(shown)["probe"]["initial_ratios"] == [3.0, 6.0]


def test_a_controller_is_shown_with_its_parameters_changed(legato: Legato):
    import tomllib

    shown = legato("controllers", "show", "gcc@profile=low-delay,pushback.queue_ms=120").stdout
    assert tomllib.loads(shown)["pushback"] == {
        "enabled": True, "queue_ms": 120, "min_bitrate_bps": 30_000, "drop_frames": True, "add_pacer_queue": True,
    }  # fmt: skip
    assert "queue_ms = 120  # default: 350\n" in shown
    failed = legato("controllers", "show", "gcc@profile=fast")
    assert failed.returncode == 2 and "low-delay" in failed.stderr


def test_every_controllers_parameters_are_toml(legato: Legato):
    import tomllib

    for entry in json.loads(legato("controllers", "list", "--json").stdout):
        shown = legato("controllers", "show", entry["name"]).stdout
        assert tomllib.loads(shown) == tomllib.loads(entry["defaults_toml"]), entry["name"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["compare"], "Missing option '--controllers'"),
        (["compare", "--controllers", "gcc", "--out", "x", "stray"], "unexpected extra argument"),
        (["controllers", "show", "bbr"], "no controller is called 'bbr'"),
        (["run", "nowhere.toml"], "nowhere.toml: no such scenario file"),
        (["run", "cellular", "-o", "nonsense"], "-o nonsense: not of the form key=value"),
        (["run", "cellular", "--log", "everything"], "log = everything: not one of summary, series, packets"),
        (["compare", "--controllers", "bbr", "--out", "x"], "no controller is called 'bbr'"),
        (["compare", "--controllers", "gcc", "--traces", "none/*", "--out", "x"], "none/*: matches no file"),
        (["compare", "--controllers", "gcc", "--clips", "none.mp4", "--out", "x"], "none.mp4: no such clip file"),
        (["compare", "--controllers", ",", "--out", "x"], "controllers = ',': names none"),
        (["compare", "--controllers", "gcc", "--traces", "", "--out", "x"], "traces = '': names none"),
        (["run", "celular"], "celular: no such scenario file"),
        (["conformance", "--cases", "9.9", "--out", "x"], "cases = 9.9: no case has this name"),
        (["policy", "import", "m.onnx", "--like", "nowhere", "--out", "x"], "nowhere: no such policy"),
        (["demo", "--seeds", "0"], "--seeds = 0: has to be greater than or equal to 1"),
        (["run", "cellular", "--seed", "1", "--seed=abc"], "--seed = 1, abc: has to be a valid integer"),
        (["rtp-log", "x", "abc"], "call: has to be a valid integer"),
        (["report", "nowhere"], "nowhere"),
        (["replay", "nowhere"], "nowhere: is not a run folder"),
        (["traces", "show", "nowhere.csv"], "nowhere.csv"),
        (["profile", "nowhere.mp4"], "nowhere.mp4"),
    ],
)
def test_a_wrong_command_line_is_one_error_line_and_status_2(
    legato: Legato, tmp_path, arguments: list[str], error: str
):
    said = legato(*arguments)
    assert said.returncode == 2
    assert said.stdout == ""
    first, *rest = said.stderr.splitlines()
    assert first.startswith("error: ")
    assert error in first
    assert all(line.startswith("hint: ") for line in rest)
    assert len(rest) <= 1
    assert list(tmp_path.iterdir()) == []


def test_a_hint_is_short_enough_to_be_read(legato: Legato):
    assert legato("run", "celular").stderr.splitlines()[-1] == "hint: did you mean cellular?"
    for arguments in (["run", "nowhere"], ["conformance", "--cases", "9.9", "--out", "x"]):
        assert len(legato(*arguments).stderr.splitlines()[-1]) < 200


def test_an_option_of_a_trace_that_is_no_number_is_named(legato: Legato, tmp_path):
    (tmp_path / "my.csv").write_text("time_s,rate_bps\n0,1000000\n9,1000000\n")
    for option in ("scale=abc", "start_s=true"):
        said = legato("compare", "--controllers", "gcc", "--traces", f"my.csv@{option}", "--out", "x")
        assert said.returncode == 2
        name, _, value = option.partition("=")
        assert f"my.csv@{name}={value.title() if value == 'true' else value}: {name} has to be a number" in said.stderr


@pytest.mark.parametrize("verb", [["conformance", "--cases", "5.1a-50"], ["gap", "steady", "--peers", "legato"]])
def test_several_runs_are_not_put_into_a_file_or_among_other_files(legato: Legato, tmp_path, verb: list[str]):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("x")
    in_file, among = (legato(*verb, "--out", out) for out in ("file", "folder"))
    assert "error: file: is a file, a run needs a folder" in in_file.stderr and in_file.returncode == 2
    assert "error: folder: exists and is not empty" in among.stderr and among.returncode == 2
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["mine"]


def test_what_is_no_video_is_refused_in_plain_words(legato: Legato, tmp_path):
    pytest.importorskip("av", reason="PyAV is not installed")
    (tmp_path / "clip.mp4").write_text("abc")
    said = legato("profile", "clip.mp4").stderr.splitlines()
    assert said[0].startswith("error: clip.mp4: not a video that can be decoded (") and "Errno" not in said[0]


def test_a_table_for_a_script_has_no_blanks_at_the_end_of_lines(legato: Legato):
    assert not re.search(r" $", legato("controllers", "list").stdout, re.MULTILINE)


def test_debug_shows_where_an_error_came_from(legato: Legato):
    said = legato("--debug", "run", "nowhere.toml")
    assert said.returncode == 2
    assert "Traceback" in said.stderr
    assert said.stderr.splitlines()[-2].startswith("error: ")
