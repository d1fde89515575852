"""Errors name what the user typed: their file with its own lines, the change, the name; never where Legato lies."""

from __future__ import annotations

import os
import re
import stat
import sys
import threading
from pathlib import Path

import pytest

from fixtures import ROOT, Legato
from legato import atomic
from legato.errors import Error, ScenarioError
from legato.plan import scenarios, shipped, traces

MINE = """\
# of eleven lines
name = "mine"
duration_s = 10

[forward]
propagation_ms = 20

[forward.queue]
limit_ms = 300

# the last one
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    return path


@pytest.mark.parametrize("clip", ["nothere", "me.mp4"])
def test_a_clip_of_a_scenario_is_named_with_its_key_and_the_scenario(
    mine: Path, legato: Legato, tmp_path: Path, clip: str
) -> None:
    (tmp_path / "me.mp4").write_bytes(bytes(range(256)))
    mine.write_text(f'{MINE}\n[video]\nclip = "{clip}"\n')
    said = legato("run", "mine.toml", "--out", "run")
    assert said.returncode == 2
    assert said.stderr.startswith(f"error: mine.toml: video.clip: {tmp_path / clip}: ")


def test_a_clip_that_is_no_y4m_file_comes_with_the_command_that_makes_one(tmp_path: Path, legato: Legato) -> None:
    (tmp_path / "me.mp4").write_bytes(bytes(64))
    said = legato("call", "steady", "--clip", "me.mp4", "--out", "call")
    assert said.returncode == 2
    assert said.stderr.splitlines() == [
        "error: --clip me.mp4: is no Y4M file",
        "hint: make one: ffmpeg -i me.mp4 -pix_fmt yuv420p clip.y4m",
    ]


def refusal(name: str, changes: dict[str, object] | None = None) -> str:
    with pytest.raises(ScenarioError) as refused:
        scenarios.read(name, changes)
    return str(refused.value)


def test_a_fault_of_the_file_has_the_line_that_it_has_there(mine: Path) -> None:
    mine.write_text(MINE.replace("limit_ms", "limt_ms"))
    assert refusal("mine.toml").startswith("mine.toml:9: unknown field `limt_ms`")
    # A change rewrites the text, in which the same fault is on another line.
    assert refusal("mine.toml", {"duration_s": 5}).startswith("mine.toml:9: unknown field `limt_ms`")
    mine.write_text(MINE.replace("duration_s = 10", "duration_s ="))
    for changes in (None, {"duration_s": 5}):
        assert refusal("mine.toml", changes).startswith("mine.toml:3: ")


def test_a_fault_of_a_change_names_the_change_and_no_line(mine: Path) -> None:
    changes = {"duration_s": 5, "forward.queue.limt_ms": 3, "name": "other"}
    said = refusal("mine.toml", changes)
    assert said.startswith("mine.toml: -o forward.queue.limt_ms=3: unknown field `limt_ms`, expected one of ")
    assert re.search(r"toml:\d", said) is None and ", in `" not in said
    assert (
        refusal("mine.toml", {"duration_s": float("nan")})
        == "mine.toml: -o duration_s=nan: NaN is not within 0.1 to 86400"
    )
    assert refusal("mine.toml", {"forward.propagation_ms": 1e6}).startswith(
        "mine.toml: -o forward.propagation_ms=1000000.0: "
    )


def test_a_change_may_mend_a_file(mine: Path) -> None:
    mine.write_text(MINE.replace("duration_s = 10", "duration_s = 0"))
    assert "mine.toml: duration_s: 0 is not within" in refusal("mine.toml")
    assert "duration_s = 5" in scenarios.read("mine.toml", {"duration_s": 5})[1]


def test_a_shipped_scenario_goes_by_its_name(mine: Path) -> None:
    said = refusal("cellular", {"duraton_s": 3})
    assert said.startswith("cellular: -o duraton_s=3: unknown field `duraton_s`")
    assert str(ROOT) not in said and "site-packages" not in said


def test_no_error_shows_where_legato_lies(mine: Path, legato: Legato) -> None:
    for arguments in (
        ("run", "cellular", "-o", "video.fps=abc"),
        ("run", "cellular", "-o", "forward.capacity.trace=nowhere"),
        ("run", "cellular", "-o", "video.clip=nowhere"),
        ("run", "steady", "--controller", "onrl@policy=aurora"),
        ("compare", "--controllers", "gcc", "--traces", "fcc/1@start_s=1e9", "--out", "x"),
        ("compare", "--controllers", "gcc", "--traces", "fcc/1@family=starlink", "--out", "x"),
    ):
        said = legato(*arguments)
        assert said.returncode == 2, arguments
        assert str(shipped.policies_folder().parent) not in said.stderr, said.stderr
        assert "site-packages" not in said.stderr


def test_a_name_that_is_no_text_is_refused_in_one_line(mine: Path, legato: Legato) -> None:
    odd = os.fsdecode(b"caf\xe9.csv")
    Path(odd).write_text("time_s,rate_bps\n0,1000000\n")
    for arguments in (
        ("compare", "--controllers", "gcc", "--traces", odd, "--out", "x"),
        ("traces", "show", odd),
        ("run", odd),
        ("report", odd),
        ("run", "steady", "--out", odd),
        ("run", "steady", "--controller", f"gcc@label={odd}"),
    ):
        said = legato(*arguments)
        assert said.returncode == 2, arguments
        assert said.stderr.splitlines()[0].endswith("caf\\xe9.csv: the name is not UTF-8")
        assert "Traceback" not in said.stderr
    with pytest.raises(Error, match=r"caf\\xe9.csv: the name is not UTF-8"):
        traces.chosen([odd])


def test_a_folder_whose_name_is_no_text_can_be_worked_in(tmp_path: Path, legato: Legato) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    (folder / "a.csv").write_text("time_s,rate_bps\n0,1000000\n9,1000000\n")
    arguments = ("compare", "--controllers", "gcc", "--traces", "*.csv", "-o", "duration_s=2", "--out", "x")
    made = legato(*arguments, cwd=folder)
    assert made.returncode == 0, made.stderr
    assert (folder / "x/report.html").stat().st_size > 10_000


def test_a_terminal_that_lacks_a_sign_shows_an_escape(legato: Legato) -> None:
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    shown = legato("--help", env=plain)
    assert shown.returncode == 0, shown.stderr
    assert legato("run", "käse", env=plain).stderr.startswith("error: k\\xe4se: no such scenario file")


def test_a_report_is_written_through_a_link(tmp_path: Path, legato: Legato) -> None:
    assert legato("run", "steady", "-o", "duration_s=2", "--out", "run").returncode == 0
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/old.html").write_text("old")
    for link, target in (("link.html", "old.html"), ("dangling.html", "new.html")):
        (tmp_path / link).symlink_to(Path("pages") / target)
        assert legato("report", "run", "--out", link).returncode == 0
        assert (tmp_path / link).is_symlink()
        assert "<html" in (tmp_path / "pages" / target).read_text(encoding="utf-8")[:200]
    said = legato("report", "run", "--out", "pages")
    assert said.returncode == 2 and said.stderr.startswith("error: pages: cannot be written: is a folder")


def test_a_report_to_a_pipe_arrives_there_and_a_device_stays_one(tmp_path: Path, legato: Legato) -> None:
    assert legato("run", "steady", "-o", "duration_s=2", "--out", "run").returncode == 0
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    assert legato("report", "run", "--out", "pipe").returncode == 0
    reader.join(60)
    assert read[0].rstrip().endswith(b"</html>")
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    written = legato("report", "run", "--out", "/dev/null")
    assert written.returncode == 0, written.stderr
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    page = legato("report", "run", "--out", "/dev/stdout").stdout
    assert page.rstrip().endswith("</html>"), "nothing but the page"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pipe", "run"]


def test_what_is_written_in_place_of_a_file_is_all_there_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("before")
    with pytest.raises(RuntimeError), atomic.replacing(path) as partial:
        partial.write_text("half")
        raise RuntimeError
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]
