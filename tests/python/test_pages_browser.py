"""All pages in a real browser: within 390 px, no label cut, units on every axis, one style with the report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from legato import report
from legato.call.browser import find
from legato.conformance import page as conformance_page
from legato.conformance.suite import conformance
from legato.report import chart, pages
from run_folders import write_run

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = pytest.mark.browser

_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
KINDS = ("conformance", "sections", "report")

# Texts that stick out of their picture, which would cut them.
_CUT = """() => [...document.querySelectorAll("figure svg text")].filter(text => {
  const inside = text.getBoundingClientRect(), all = text.ownerSVGElement.getBoundingClientRect();
  const hidden = getComputedStyle(text.ownerSVGElement).overflow !== "visible";
  return inside.width > 0 && hidden && (inside.left < all.left - 1 || inside.right > all.right + 1
    || inside.top < all.top - 1 || inside.bottom > all.bottom + 1);
}).map(text => text.textContent)"""
_STYLE = """() => ["h1", "h2", ".reading", ".caption", "svg text", ".masthead .wordmark"].map(selector => {
  const found = document.querySelector(selector), style = getComputedStyle(found);
  const rest = selector === "svg text" ? [] : [style.fontSize, style.color, style.fontWeight];
  return [selector, style.fontFamily, ...rest];
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find(), args=_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    suite = conformance(["gcc", "nada"], out=folder / "suite", cases=["5.1a-50", "5.4"])
    lines = [chart.Line("c0", [(0.0, 1.0), (1234.0, 98765.0)]), chart.Line("c1", [(0.0, 0.0), (1234.0, 5.0)])]
    drawn = chart.draw([chart.Axes(lines, title="rate, kbit/s")], "rate", unit=" s")
    rows = [[f"a figure with a long name ({unit})", "2333.6", "2313.5", "−20.1"] for unit in ("kbit/s", "ms", "%")]
    section = pages.Section(
        "Figures",
        note="What they mean.",
        columns=("", "simulated", "called", "difference"),
        rows=rows,
        legend=(("c0", "simulated"), ("c1", "called")),
        charts=[("rate", drawn)],
    )
    run = write_run(folder / "run", traces=("lte/a", "wifi/b"), clips=("anna",), duration_s=10.0)
    return {
        "conformance": conformance_page.write(suite, folder / "conformance.html"),
        "sections": pages.write_sections(folder / "sections.html", "A page", ["What it says."], [section], kind="gap"),
        "report": report.write(run, folder / "report.html"),
    }


def opened(browser: object, file: Path, width: int) -> object:
    page = browser.new_page(viewport={"width": width, "height": 900})  # type: ignore[attr-defined]
    page.goto(file.as_uri())
    page.wait_for_selector("svg text")
    return page


def fits(page: object, width: int) -> None:
    """A page is as wide as the screen, cuts no label, and can be read; it is closed."""
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(_CUT) == []
    smallest = (
        "Math.min(...[...document.querySelectorAll('figure svg text')].map(t => t.getBoundingClientRect().height))"
    )
    assert page.evaluate(smallest) >= 9, "can be read"
    page.close()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_as_wide_as_the_screen_and_cuts_no_label(
    browser: object, files: dict[str, Path], kind: str, width: int
) -> None:
    fits(opened(browser, files[kind], width), width)


@pytest.mark.parametrize("width", [1280, 390])
def test_all_pages_have_one_style(browser: object, files: dict[str, Path], width: int) -> None:
    styles = {}
    for kind in KINDS:
        page = opened(browser, files[kind], width)
        styles[kind] = page.evaluate(_STYLE)
        page.close()
    assert styles["conformance"] == styles["report"]
    assert styles["sections"] == styles["report"]


def test_every_axis_of_a_case_states_its_unit(browser: object, files: dict[str, Path]) -> None:
    page = opened(browser, files["conformance"], 390)
    titles = page.locator("figure svg .title").all_text_contents()
    assert titles == ["rate, Mbit/s", "queue, ms"] * 4
    # A legend's text is as dark as any other; its line has the colour.
    assert page.locator(".legend i").count() == page.locator(".legend span").count() > 0
    page.close()


def test_a_gauge_states_its_unit(browser: object, files: dict[str, Path]) -> None:
    page = opened(browser, files["report"], 1280)
    page.wait_for_selector("#gauges-figure figcaption")
    captions = page.locator("#gauges-figure figcaption").all_text_contents()
    assert captions == ["loss_estimate_ratio", "trendline ms"]
    page.close()
