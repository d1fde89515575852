"""The verbs that this package adds: found by ``legato``, with options that are checked."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Legato = Callable[..., CompletedProcess[str]]


def test_legato_lists_them(legato: Legato) -> None:
    alone = legato().stdout
    for verb in ("leaderboard", "reproduce"):
        assert re.search(rf"^│ {verb} ", alone, re.MULTILINE), verb


@pytest.mark.parametrize("verb", ["leaderboard", "reproduce"])
def test_every_verb_explains_itself_with_an_example(legato: Legato, verb: str) -> None:
    shown = legato(verb, "--help")
    assert shown.returncode == 0
    assert f"legato {verb}" in shown.stdout.partition("Example")[2]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["reproduce", "nvc-cc", "--seeds", "2", "--out", "x"], "--seeds: nvc-cc has no such option"),
        (["reproduce", "r3net", "--real", "--quick", "--out", "x"], "--quick: is not for --real"),
        (["reproduce", "vtfrc", "--real", "--out", "x"], "--real: vtfrc has no such option"),
        (["reproduce", "clcc", "--calls", "2", "--out", "x"], "--calls: is for --real"),
        (["reproduce", "mine", "--out", "x"], "paper: 'mine' is not one of 'clcc'"),
    ],
)
def test_a_wrong_command_line_is_one_error_line_and_status_2(
    legato: Legato, tmp_path: Path, arguments: list[str], error: str
) -> None:
    said = legato(*arguments)
    assert said.returncode == 2
    assert said.stdout == ""
    first, *rest = said.stderr.splitlines()
    assert first.startswith("error: ")
    assert error in first
    assert len(rest) <= 1
    assert list(tmp_path.iterdir()) == []


def test_several_runs_are_not_put_into_a_file_or_among_other_files(legato: Legato, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("x")
    in_file, among = (legato("reproduce", "vtfrc", "--out", out) for out in ("file", "folder"))
    assert "error: file: is a file, a run needs a folder" in in_file.stderr and in_file.returncode == 2
    assert "error: folder: exists and is not empty" in among.stderr and among.returncode == 2
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["mine"]


@pytest.mark.slow
@pytest.mark.parametrize("paper", ["vtfrc", "clcc", "r3net", "concerto", "nvc-cc"])
def test_every_paper_is_reproduced_with_what_a_checkout_builds(tmp_path: Path, paper: str) -> None:
    command = [sys.executable, Path(__file__).with_name("as_built.py"), "reproduce", paper, "--quick"]
    done = subprocess.run([*command, "--out", "out"], cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "reproduction.html").stat().st_size > 10_000


def test_what_only_development_needs_is_hidden_there() -> None:
    from as_built import hidden_modules

    hidden = hidden_modules()
    assert {"pytest", "hypothesis"} < hidden
    assert not hidden & {"numpy", "duckdb", "safetensors", "legato", "legato_studies"}
