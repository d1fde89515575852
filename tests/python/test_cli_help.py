"""What a newcomer sees without having read anything."""

from __future__ import annotations

import json
import re

import pytest

from conftest import Legato

VERBS = (
    "demo",
    "run",
    "call",
    "compare",
    "gap",
    "link",
    "report",
    "replay",
    "reproduce",
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


def test_the_version_is_the_crates(legato: Legato):
    assert re.fullmatch(r"legato \d+\.\d+\.\d+\n", legato("--version").stdout)


def test_controllers_can_be_listed_for_people_and_for_scripts(legato: Legato):
    listed = json.loads(legato("controllers", "list", "--json").stdout)
    assert {"fixed", "gcc", "oracle", "remote"} <= {entry["name"] for entry in listed}
    shown = legato("controllers", "list").stdout
    for entry in listed:
        assert re.search(rf"^{entry['name']} +{entry['side']} +\S", shown, re.MULTILINE)
        assert set(entry) == {"name", "side", "learned", "summary", "cites", "defaults_toml"}


def test_a_controller_is_shown_as_toml_that_can_be_used(legato: Legato):
    import tomllib

    shown = legato("controllers", "show", "gcc").stdout
    assert tomllib.loads(shown)
    assert shown.startswith("# gcc (sender): ")


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


def test_debug_shows_where_an_error_came_from(legato: Legato):
    said = legato("--debug", "run", "nowhere.toml")
    assert said.returncode == 2
    assert "Traceback" in said.stderr
    assert said.stderr.splitlines()[-2].startswith("error: ")
