"""Pages of docs are what their data give, and what a study finds fills its page."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from legato.links import Link
from legato.report.pages import Section
from legato_studies import page
from legato_studies.page import Found, Page, lines, render, stale
from legato_studies.pages import hybrid_calls, real_links, receiver
from legato_studies.pages.__main__ import NAMES, main, page_of
from legato_studies.timed_calls import TimedCall

WHOLE = [name for name in NAMES if isinstance(page_of(name), Page)]
ROW = {
    "viewed_delay_p95_ms": 100.0,
    "viewed_delay_p98_ms": 120.0,
    "stall_ratio": 0.01,
    "viewed_ssim_db_mean": 15.0,
    "goodput_bps": 1e6,
    "receiver_rate_bps": 1e6,
    "qp_mean": 30.0,
    "height_mean": 360.0,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_what_its_data_give(name: str) -> None:
    assert stale(page_of(name)) == [], f"python -m legato_studies.pages {name} --render writes it"


@pytest.mark.parametrize("name", NAMES)
def test_every_page_explains_its_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])
    assert left.value.code == 0
    said = capsys.readouterr().out
    assert f"python -m legato_studies.pages {name}" in said
    assert all(option in said for option in page_of(name).options)


@pytest.mark.parametrize("name", WHOLE)
def test_every_page_has_data(name: str) -> None:
    assert page_of(name).kept() is not None


def test_a_template_is_filled_with_numbers_tables_and_sections() -> None:
    shares = Section("", columns=["", "a"], rows=[["x", "1"], ["y", ""]])
    several = [Section("One", "Why.", ["b"], [["2"]]), Section("Two", columns=["c"], rows=[["3"]])]
    text = render("{seconds:g} s\n\n{shares}\n\n{several}\n", {
        "seconds": 20.0, "shares": page._document(shares), "several": page._document(several),
    })  # fmt: skip
    assert text == (
        "20 s\n\n| | a |\n|---|---|\n| x | 1 |\n| y | |\n\n## One\n\nWhy.\n\n| b |\n|---|\n| 2 |\n\n## Two\n\n"
        "| c |\n|---|\n| 3 |\n"
    )
    assert page.markdown(several).startswith("## One\n\nWhy.\n\n| b |")


def test_what_is_found_is_kept_and_a_page_that_was_edited_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ROOT", "KEPT", "TEMPLATES"):
        monkeypatch.setattr(page, name, tmp_path)
    monkeypatch.setattr(page, "DOCS", tmp_path / "docs")
    (tmp_path / "mine.md.in").write_text("{links} links\n\n{table}\n")
    found = Found({"links": 3, "table": Section("", columns=["a"], rows=[["1"]])}, {"mine.svg": "<svg/>"})
    mine = Page("mine", lambda options: found)
    assert mine.texts() == {}
    mine.run(Namespace())
    written = tmp_path / "docs" / "measured" / "mine.md"
    assert written.read_text() == "3 links\n\n| a |\n|---|\n| 1 |\n"
    assert (tmp_path / "docs" / "images" / "mine.svg").read_text() == "<svg/>"
    assert stale(mine) == []
    written.write_text("edited")
    assert stale(mine) == [written]
    mine.write()
    assert stale(mine) == []


def test_the_program_lists_names_and_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out.split() == NAMES
    assert main(["--check"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("belief", {"files": 1}),
        ("ceiling", {"links": 1, "duration": 20.0}),
        ("edges", {"seeds": 1}),
        ("gcc_profiles", {"windows": 1}),
        ("generalisation", {"links": 1, "duration": 5.0}),
        ("intervals", {"repetitions": 20}),
        ("legato_choices", {"windows": 1}),
        ("rivals", {"links": 1, "duration": 5.0}),
    ],
)
def test_what_is_played_fills_the_page(name: str, options: dict[str, object]) -> None:
    filled(page_of(name), page_of(name).play(Namespace(**options)))


def filled(of: Page, found: Found) -> str:
    """The page of the findings; every place of its template is filled, and no finding is unused."""
    template = (page.TEMPLATES / f"{of.name}.md.in").read_text(encoding="utf-8")
    assert all(f"{{{name}" in template for name in found.values)
    return render(template, {name: page._document(value) for name, value in found.values.items()})


def test_real_links_are_shown_beside_what_was_simulated() -> None:
    link = Link("cellular", Path("nyc-lte/a.gz"), 0.25)
    means = dict.fromkeys(ROW, 2.0)
    foretold = {link: {"legato": means, "gcc": means}}
    made = {link: {kind: [TimedCall(False, 0.1, ROW)] for kind in real_links.KINDS}}
    options = Namespace(seconds=20.0, links=15, repeats=1, max_kbps=2000)
    text = filled(real_links.PAGE, real_links.found(foretold, {link: 0.01}, made, options))
    assert "in 1 of 1 links" in text and "No call is late." in text
    assert "| cellular, a | 15.00 / 15.00 / 15.00 |" in text


def test_calls_at_the_receiver_are_compared_with_chromiums_own() -> None:
    link = Link("cellular", Path("nyc-lte/a.gz"), 0.25)
    figures = {measure.column: ROW[measure.column] for measure in receiver.CALLED}
    calls = {
        kind.title: [receiver.Made(False, figures, 0.5), receiver.Made(True, figures, 0.5)] for kind in receiver.KINDS
    }
    shown = receiver.called({link: calls})
    assert shown.rows[0] == ["Chromium alone, twcc", "100", "120", "1.00", "1000", "30.0", "360", "50", "1, 2, 1"]
    apart = receiver.minus({link: calls}, receiver.BASES[0])
    assert [row[-1] for row in apart.rows] == ["1"] * (len(receiver.KINDS) - 1)
    assert len(receiver.per_link({link: calls}).rows) == len(receiver.KINDS)


def test_calls_that_are_not_made_again_stay_on_the_page() -> None:
    options = Namespace(**{name: hybrid_calls.PAGE.kept()[name] for name in hybrid_calls.ASKED})
    rows = hybrid_calls.kept(options)
    assert len(rows) == len(hybrid_calls.LINKS) * len(hybrid_calls.KINDS)
    assert filled(hybrid_calls.PAGE, hybrid_calls.found(rows, options)) == hybrid_calls.PAGE.path.read_text("utf-8")
    assert hybrid_calls.kept(Namespace(**{**vars(options), "seconds": 1.0})) == {}


def test_a_table_is_as_wide_as_its_head() -> None:
    assert lines(["a", "b"], [["", "2"]]) == ["| a | b |", "|---|---|", "| | 2 |"]
