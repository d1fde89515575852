"""`legato leaderboard`: its figures by hand, its table to the byte, its refusals."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from fixtures import Legato
from legato.errors import Error
from legato_studies.leaderboard import Board, Size, leaderboard, pictures, tables, write_page
from legato_studies.leaderboard.calls import COLUMNS, Call, Calls
from legato_studies.leaderboard.measures import GOODPUT, ON_TIME, P95, PICTURE, STALLED
from legato_studies.leaderboard.page import marked, sections
from legato_studies.page import markdown

GOLDEN = Path(__file__).parent / "golden" / "leaderboard.md"


def call(controller: str, trace: str, figures: Mapping[str, float | None], *, live: bool = True) -> Call:
    return Call(controller, "lte", trace, "clip", live, {**dict.fromkeys(COLUMNS), **figures})


def three(own: float, *, picture_db: float = 14.0) -> Calls:
    """Six links: `gcc` at 300 ms and 12 dB, the ceiling at 100 ms and 16 dB, `x` at ``own`` ms."""
    found = []
    for at in range(6):
        for name, p95, ssim in (("gcc", 300.0, 12.0), ("clairvoyant", 100.0, 16.0), ("x", own, picture_db)):
            found.append(call(name, f"{at}", {P95.column: p95, PICTURE.column: ssim, GOODPUT.column: p95 * 1e3}))
    return Calls(found)


def test_the_share_of_the_headroom_by_hand():
    # Half of the way in the picture, three quarters in delay; the groups count alike.
    closed = tables.closed(three(150.0), "x")
    assert closed.mean == pytest.approx((0.5 + 0.75) / 2)
    assert closed.groups == 6
    assert tables.closed(three(150.0), "gcc").mean == 0.0
    assert tables.closed(three(150.0), "clairvoyant").mean == 1.0


def test_a_share_is_cut_where_a_figure_is_many_times_worse():
    assert tables.closed(three(9_000.0), "x").mean == pytest.approx((0.5 - 1.0) / 2)
    # One that sends next to nothing is as timely as the ceiling, and wins nothing.
    assert tables.closed(three(100.0, picture_db=2.0), "x").mean == 0.0


def test_intervals_hold_nothing_that_cannot_be():
    rare = [call(name, f"{at}", {P95.column: 5_000.0 if at == 0 else 90.0, ON_TIME.column: 0.1 if at == 0 else 1.0,
                                 STALLED.column: 0.9 if at == 0 else 0.0, PICTURE.column: 12.0})
            for name in ("gcc", "x", "clairvoyant") for at in range(7)]  # fmt: skip
    played = Calls([*rare, *(call("gcc", f"{at + 7}", {P95.column: 400.0, ON_TIME.column: 0.5}) for at in range(6))])
    for measure, most in ((P95, 1e9), (ON_TIME, 1.0), (STALLED, 1.0)):
        found = played.mean("x", measure)
        assert 0.0 <= found.low < found.mean < found.high <= most, measure.title
    assert "-" not in P95.interval(played.mean("x", P95))
    # A share of the headroom is cut to -100 to 100 %, and so is its interval.
    figures = [(300.0, 100.0, own) for own in (90.0, 80.0, 100.0, 101.0, 600.0, 60.0)]
    part = Calls(
        call(name, f"{at}", {P95.column: value})
        for at, values in enumerate(figures)
        for name, value in zip(("gcc", "clairvoyant", "x"), values, strict=True)
    )
    share = part.closed("x", "gcc", "clairvoyant", [P95])
    assert -1.0 <= share.low < share.mean < share.high <= 1.0


def test_a_ratio_is_of_the_same_calls():
    played = three(150.0)
    assert played.over("x", "gcc", GOODPUT).mean == pytest.approx(0.5)
    without = [one if one.trace != "0" or one.controller != "x" else call("x", "0", {}) for one in played.calls]
    assert Calls(without).over("x", "gcc", GOODPUT).mean == pytest.approx(0.5)
    assert Calls(without).missing("x", GOODPUT) == 1
    assert played.over("x", "gcc", STALLED).mean is None


def test_a_page_without_a_live_link_has_every_other_figure(tmp_path: Path):
    dead = Calls([dataclasses.replace(one, live=False) for one in three(150.0).calls])
    board = Board(tmp_path, Size(), ("x", "gcc", "clairvoyant"), ("clip",), ("x264",), dead, papers={"vidaptive": dead})
    text = markdown(marked(sections(board)))
    assert "All 6 links, with outages" in text
    # Headroom is of live links: empty; the p95 over all links is not.
    assert "| `x` | variant | | | | | 150 |" in text
    assert write_page(board, tmp_path / "leaderboard.html").exists()


def test_names_in_the_plane_do_not_cover_each_other():
    import re

    points = [pictures.Point(f"controller {at}", 100.0 + at, 18.0) for at in range(8)]
    drawn = pictures.scatter(points, x_title="x", y_title="y", x_end=700.0, y_low_db=15.0)
    places = [(float(x), float(y)) for x, y in re.findall(r'class="name other" x="([\d.]+)" y="([\d.]+)"', str(drawn))]
    assert len(places) == 8
    wide = pictures.LETTER * len("controller 0")
    for at, (x, y) in enumerate(places):
        assert all(abs(x - x2) >= wide or abs(y - y2) >= 12 for x2, y2 in places[:at])


def test_what_is_not_there_is_refused_by_name(tmp_path: Path):
    with pytest.raises(Error, match="families = celular: no family"):
        leaderboard(["gcc"], out=tmp_path / "a", families=["celular"])
    with pytest.raises(Error, match="parts = network: a leaderboard has no such part"):
        leaderboard(["gcc"], out=tmp_path / "b", parts=["network"])


def test_a_small_leaderboard_is_what_it_was(tmp_path: Path):
    size = Size(links=2, duration_s=15.0, seeds=1, paper_duration_s=15.0)
    how = {"families": ["Ethernet", "cellular"], "encoders": ["openh264"], "cases": ["5.1a-50"], "size": size}
    board = leaderboard(["gcc,scream-v2"], out=tmp_path / "board", **how)
    text = markdown(marked(sections(board))) + "\n"
    assert text == GOLDEN.read_text(encoding="utf-8"), (
        "If this is meant, read it and keep it: python studies/tests/test_leaderboard.py, a commit of its own."
    )
    # Stopped and continued it is the same.
    again = leaderboard(["gcc,scream-v2"], out=tmp_path / "board", resume=True, **how)
    assert markdown(marked(sections(again))) + "\n" == text


def test_the_verb_writes_both_pages_and_prints_the_table(legato: Legato, tmp_path: Path):
    out = tmp_path / "board"
    options = ["--controllers", "gcc", "--parts", "networks", "--links", "1", "--families", "cellular"]
    done = legato("leaderboard", *options, "--duration-s", "5", "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [row["controller"] for row in found["standing"]] == ["clairvoyant", "gcc"]
    assert "<svg" in (out / "leaderboard.html").read_text(encoding="utf-8")
    assert "## Standing" in (out / "leaderboard.md").read_text(encoding="utf-8")
    again = legato("leaderboard", *options, "--out", str(out))
    assert again.returncode == 2
    assert "exists and is not empty" in again.stderr


def _keep() -> None:
    import tempfile

    size = Size(links=2, duration_s=15.0, seeds=1, paper_duration_s=15.0)
    how = {"families": ["Ethernet", "cellular"], "encoders": ["openh264"], "cases": ["5.1a-50"], "size": size}
    with tempfile.TemporaryDirectory() as place:
        found = leaderboard(["gcc,scream-v2"], out=Path(place) / "board", **how)
        GOLDEN.write_text(markdown(marked(sections(found))) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _keep()
