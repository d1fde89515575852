"""The report in a real headless Chromium: it opens offline, draws what it should, themes, prints, answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import legato
from legato import report
from legato.call.browser import find
from run_folders import write_run

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

pytestmark = pytest.mark.browser

_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find(), args=_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    traces = ("lte/a", "lte/d", "wifi/b", "wifi/e", "5g/c")  # enough for intervals
    run = write_run(folder / "demo", traces=traces, clips=("anna", "bob"), duration_s=20.0)
    return report.write(run, folder / "report.html")


class Opened:
    """A page with its messages and requests."""

    def __init__(self, browser: object, file: Path, **options: object) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})  # type: ignore[attr-defined]
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("#calls-figure .call svg")

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def count(self, selector: str) -> int:
        return self.page.locator(selector).count()

    def style(self, selector: str, name: str) -> str:
        return self.page.eval_on_selector(selector, f"e => getComputedStyle(e).{name}")

    def wide(self) -> tuple[int, int]:
        return tuple(self.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]"))


def test_it_draws_everything_and_asks_for_nothing(browser: object, page_file: Path) -> None:
    with Opened(browser, page_file) as it:
        assert it.said == []
        assert it.asked == [page_file.as_uri()]
        assert it.count("#trade-off-figure .point") == 30
        assert it.count("#trade-off-figure .ellipse") == 3
        assert it.page.locator("#trade-off-figure .mean .name").all_text_contents() == ["fixed", "gcc", "oracle"]
        assert it.count("#distributions-figure figure") == len(report.CDF_METRICS)
        assert it.count("#distributions-figure .curve") == 3 * len(report.CDF_METRICS)
        assert it.count("#by-trace-figure .mark") == 3 * 5
        assert it.count("#means tbody tr") == 3
        assert it.count("#calls-figure .call") == 3
        for series in ("capacity", "target", "sending", "receiver", "queue", "frame-delay", "ssim"):
            assert it.count(f"#calls-figure path.s-{series}") == 3 + it.count(f"#calls-figure .key path.s-{series}")
        assert it.count("#gauges-figure path.gauge") == 2
        drawn = it.page.eval_on_selector_all("path", "all => all.map(e => e.outerHTML).join()")
        assert "NaN" not in drawn and "undefined" not in drawn


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(browser: object, page_file: Path, scheme: str) -> None:
    with Opened(browser, page_file, color_scheme=scheme) as it:
        ground = it.style("body", "backgroundColor")
        assert (luminance(ground) < 0.1) == (scheme == "dark")
        # WCAG 2.2: 4.5 for text, 3 for marks and large text; long text has more.
        least_of = {
            "h1": 7,
            ".caption": 4.5,
            "td b": 7,
            "th small": 4.5,
            "svg .title": 7,
            ".c0": 4.5,
            ".c2": 3,
            ".c5": 3,
        }
        for selector, least in least_of.items():
            name = "fill" if selector.startswith("svg") else "color"
            assert contrast(it.style(selector, name), ground) >= least, selector


def test_the_button_goes_round_the_schemes(browser: object, page_file: Path) -> None:
    with Opened(browser, page_file, color_scheme="light") as it:
        grounds = [it.style("body", "backgroundColor")]
        for _ in range(3):
            it.page.click("#scheme")
            grounds.append(it.style("body", "backgroundColor"))
        assert [luminance(ground) < 0.1 for ground in grounds] == [False, True, False, False]


@pytest.mark.parametrize("width", [1280, 700, 380])
def test_the_page_is_never_wider_than_its_window(browser: object, page_file: Path, width: int) -> None:
    with Opened(browser, page_file, viewport={"width": width, "height": 900}) as it:
        content, window = it.wide()
        assert content <= window


def test_names_in_the_trade_off_do_not_overlap(browser: object, tmp_path: Path) -> None:
    run = write_run(
        tmp_path / "run", controllers=[f"controller{at}" for at in range(40)], traces=["lte/a"], clips=["a", "b", "c"],
        duration_s=10.0,
    )  # fmt: skip
    with Opened(browser, report.write(run, tmp_path / "report.html")) as it:
        assert it.said == []
        boxes = it.page.eval_on_selector_all(
            "#trade-off-figure .name",
            "all => all.map(e => e.getBoundingClientRect()).map(b => [b.left, b.top, b.right, b.bottom])",
        )
        assert len(boxes) > 10
        for at, a in enumerate(boxes):
            for b in boxes[:at]:
                assert a[2] <= b[0] + 1 or b[2] <= a[0] + 1 or a[3] <= b[1] + 4 or b[3] <= a[1] + 4
        assert it.count("#legend button") == 40 and it.count("#calls-figure .call") == 4


def test_it_prints_on_paper(browser: object, page_file: Path, tmp_path: Path) -> None:
    with Opened(browser, page_file, color_scheme="dark") as it:
        it.page.emulate_media(media="print")
        assert luminance(it.style("body", "backgroundColor")) > 0.9, "paper is white, whatever the screen"
        assert it.style("#scheme", "display") == "none"
        it.page.emulate_media(media="screen")
        pdf = it.page.pdf(path=str(tmp_path / "report.pdf"), prefer_css_page_size=True, print_background=True)
        assert pdf.startswith(b"%PDF")
        assert 3 <= pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") + pdf.count(b"/Type /Page/") <= 9
        assert it.said == []


def test_one_cross_hair_goes_through_all_time_lines(browser: object, page_file: Path) -> None:
    with Opened(browser, page_file) as it:
        drawing = it.page.locator("#calls-figure .call svg[role=img]").first
        drawing.scroll_into_view_if_needed()
        box = drawing.bounding_box()
        it.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60)
        shown = it.page.eval_on_selector_all(
            "#calls-figure .cross", "all => all.map(e => [e.getAttribute('visibility'), e.getAttribute('x1')])"
        )
        assert len(shown) == 3 and len({x for _, x in shown}) == 1 and all(v is None for v, _ in shown)
        times = it.page.locator(".call .time").all_text_contents()
        assert all("· at 9." in text or "· at 10." in text for text in times)
        assert "ms" in it.page.locator(".call .key").first.inner_text()


def test_a_drag_zooms_all_time_lines_and_a_double_click_undoes_it(browser: object, page_file: Path) -> None:
    with Opened(browser, page_file) as it:
        last_tick = "#calls-figure .call:last-child .axis.x .tick:last-of-type text"
        assert it.page.locator(last_tick).text_content() == "20 s"
        drawing = it.page.locator("#calls-figure .call svg[role=img]").first
        drawing.scroll_into_view_if_needed()
        box = drawing.bounding_box()
        it.page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 60)
        it.page.mouse.down()
        it.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 60, steps=4)
        it.page.mouse.up()
        assert float(it.page.locator(last_tick).text_content().split()[0]) < 11
        it.page.mouse.dblclick(box["x"] + box["width"] * 0.5, box["y"] + 60)
        assert it.page.locator(last_tick).text_content() == "20 s"


def test_a_controller_can_be_hidden_and_a_point_opens_its_call(browser: object, page_file: Path) -> None:
    with Opened(browser, page_file) as it:
        it.page.click("#legend button:has-text('oracle')")
        assert it.count("#trade-off-figure .ellipse") == 2
        assert it.count("#distributions-figure .curve") == 2 * len(report.CDF_METRICS)
        before = it.page.locator(".call .condition").first.inner_text()
        it.page.locator("#trade-off-figure .point").nth(5).dispatch_event("click")
        assert it.page.locator(".call .condition").first.inner_text() != before


def test_the_table_sorts_and_copies_as_csv(browser: object, page_file: Path) -> None:
    with Opened(browser, page_file) as it:
        first = "#means tbody tr:first-child th"
        head = it.page.locator("#means th[data-column=frame_delay_p98_ms] button")
        head.click()
        highest = it.page.locator(first).get_attribute("data-value")
        head.click()
        lowest = it.page.locator(first).get_attribute("data-value")
        rows = report.summarise(page_file.parent / "demo").rows
        means = {row.controller: row.estimates["frame_delay_p98_ms"].mean for row in rows}
        assert (highest, lowest) == (max(means, key=means.get), min(means, key=means.get))
        lines = it.page.evaluate("Legato.table.csv()").splitlines()
        assert len(lines) == 4 and len({line.count(",") for line in lines}) == 1
        columns = dict(zip(lines[0].split(","), lines[1].split(","), strict=True))
        assert columns["controller"] == lowest
        assert float(columns["frame_delay_p98_ms"]) == pytest.approx(means[lowest], rel=1e-5)
        it.page.check("#all-metrics")
        assert it.page.locator("#means th[data-column=qp_mean]").is_visible()


def test_another_figure_can_be_put_on_an_axis(browser: object, page_file: Path) -> None:
    with Opened(browser, page_file) as it:
        it.page.select_option("#trade-off-x", "utilisation_ratio")
        assert "Utilisation" in it.page.locator("#trade-off-figure svg").get_attribute("aria-label")
        assert "↗ better" in it.page.locator("#trade-off-figure").inner_text()


def test_one_call_alone_is_drawn_without_comparison(browser: object, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", controllers=["gcc"], traces=["lte/a"], clips=["anna"], duration_s=10.0)
    with Opened(browser, report.write(run, tmp_path / "report.html")) as it:
        assert it.said == []
        assert not it.page.locator("#trade-off").is_visible()
        assert it.count("#calls-figure .call") == 1


def test_calls_that_were_really_simulated_are_drawn(browser: object, tmp_path: Path) -> None:
    options = {"duration_s": 10.0}
    legato.run("cellular", out=tmp_path / "run", controllers=["fixed", "gcc"], clips=["foreman"], options=options)
    with Opened(browser, report.write(tmp_path / "run", tmp_path / "report.html")) as it:
        assert it.said == []
        assert it.count("#calls-figure .call") == 2
        assert it.count("#gauges-figure path.gauge") > 3
        drawn = it.page.eval_on_selector_all("path", "all => all.map(e => e.outerHTML).join()")
        assert "NaN" not in drawn and "undefined" not in drawn


def luminance(colour: str) -> float:
    """WCAG 2.2 relative luminance of `rgb(r, g, b)`."""
    channels = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2 contrast ratio."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.fixture(scope="module")
def shared_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    scenario = Path(__file__).parents[1] / "golden" / "beside_tcp.toml"
    legato.run(scenario, out=folder / "run", controllers=["gcc", "nada"])
    return report.write(folder / "run", folder / "report.html")


def test_flows_that_share_a_link_are_stacked_and_read_out(browser: object, shared_page: Path, page_file: Path) -> None:
    with Opened(browser, page_file) as it:
        assert it.page.locator("#sharing").is_hidden()
    with Opened(browser, shared_page) as it:
        assert it.page.locator("#sharing").is_visible()
        assert it.count("#sharing-figure svg") == 2
        # A call and a TCP flow for each controller, as layers and as rows.
        assert (it.count("#sharing-figure .share"), it.count("#sharing-figure tbody tr")) == (4, 4)
        row = it.page.locator("#sharing-figure tbody tr").nth(1).inner_text()
        assert "tcp 1" in row and "6–16" in row
        stack = it.page.locator("#sharing-figure svg").first
        stack.scroll_into_view_if_needed()
        box = stack.bounding_box()
        it.page.mouse.move(box["x"] + box["width"] * 0.45, box["y"] + 60)
        read = it.page.locator("#tooltip").inner_text()
        assert "capacity" in read and "tcp 1" in read and "2.50" in read
        assert "call 1" in it.page.locator("#calls-figure .condition").first.inner_text()
        assert it.said == []
