"""A headless Chromium as the other end of real calls, driven by Playwright over its pipe: nothing listens.

The page is a string given to the browser, and session descriptions are arguments and results of functions
called in it. So there is no signalling server that could be found from elsewhere.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from legato.errors import CallError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from legato.call.tun import Host

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""What the browser is called on the PATH."""

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=no-user-gesture-required",
    # Addresses need no hiding from ourselves.
    "--disable-features=WebRtcHideLocalIpsWithMdns",
)
LOOPBACK = ("--allow-loopback-in-peer-connection",)
"""For calls on the loopback interface; a namespace's own leads nowhere."""

_HTML = "<!doctype html><title>legato call</title><video muted playsinline></video>"
# Cameras are for secure origins, which this one is. Nothing is asked of the network: the page comes from here.
_ADDRESS = "http://localhost/"
_ANSWER_TIMEOUT_MS = 20_000


def find() -> str | None:
    """The browser of ``LEGATO_CHROMIUM`` or of the PATH; ``None``: Playwright's own, where that is installed."""
    return os.environ.get("LEGATO_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def launched(camera: Path | None = None, host: Host | None = None) -> Iterator[Browser]:
    """A running browser, gone after the block whatever happens in it. ``camera``: a Y4M file that it films; ``host``:
    the network namespace that it is in."""
    try:
        from playwright.sync_api import Error as PlaywrightError
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise CallError("a real call needs Playwright", hint="pip install 'legato-rtc[call]'") from None
    arguments = [*ARGUMENTS, *(LOOPBACK if host is None else ())]
    if camera is not None:
        arguments += [
            "--use-fake-ui-for-media-stream",
            "--use-fake-device-for-media-stream",
            f"--use-file-for-fake-video-capture={camera.resolve()}",
        ]
    with _driver(sync_playwright) as driver:
        program: str | Path | None = find()
        if host is not None:
            program = host.script(str(program or driver.chromium.executable_path))
        try:
            browser = driver.chromium.launch(executable_path=program, args=arguments, handle_sigint=False)
        except PlaywrightError as error:
            first_line = str(error).strip().splitlines()[0]
            raise CallError(
                f"no Chromium to call: {first_line}",
                hint="apt install chromium, or playwright install chromium, or name one in LEGATO_CHROMIUM",
            ) from None
        try:
            yield browser
        finally:
            browser.close()


_running: list[Any] = []


@contextmanager
def _driver(start: Any) -> Iterator[Any]:
    """Playwright's driver; one a process, for all browsers of it."""
    if _running:
        yield _running[0]
        return
    with _deaf_to_ctrl_c():
        begun = start()
        driver = begun.__enter__()
    try:
        _running.append(driver)
        yield driver
    finally:
        _running.clear()
        begun.__exit__(None, None, None)


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Processes started here do not hear Ctrl-C, which a terminal sends to everything that runs in it.

    The driver and its browsers would die of it while they are asked to close, and a question to a dead driver may wait
    forever. They are closed by this process, which hears it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _failing_as(what: str) -> Iterator[None]:
    """Reports what the page refuses, or that it is no longer there, in one line."""
    from playwright.sync_api import Error as PlaywrightError

    try:
        yield
    except PlaywrightError as error:
        raise CallError(f"{what}: {str(error).splitlines()[0]}") from None


_GONE = "the browser went away"


class Peer:
    """One page: one end of one call."""

    def __init__(self, browser: Browser) -> None:
        self._page: Page = browser.new_page()
        self._page.route("**/*", lambda route: route.fulfill(body=_HTML, content_type="text/html"))
        self._page.goto(_ADDRESS)
        self._page.evaluate(files("legato.call").joinpath("page.js").read_text(encoding="utf-8"))

    def answer(self, offer: str) -> str:
        """The answer to an offer."""
        return str(self._ask("offer => window.legato.answer(offer)", offer))

    def offer(self, width: int, height: int, fps: int, codec: str = "h264") -> str:
        """An offer to send what the camera sees, in one codec of :func:`legato._core.codecs`."""
        asked = "([width, height, fps, codec]) => window.legato.offer(width, height, fps, codec)"
        return str(self._ask(asked, [width, height, fps, codec]))

    def answered(self, answer: str, most_bps: int) -> None:
        """The answer to that offer, and the most that may be sent."""
        self._ask("([answer, most]) => window.legato.answered(answer, most)", [answer, most_bps])

    def _ask(self, expression: str, argument: Any) -> Any:
        self._page.set_default_timeout(_ANSWER_TIMEOUT_MS)
        with _failing_as("the browser refused the call"):
            return self._page.evaluate(expression, argument)

    def run(self, script: str, argument: Any = None, timeout_ms: float = _ANSWER_TIMEOUT_MS) -> Any:
        """What another script makes in the page."""
        self._page.set_default_timeout(timeout_ms)
        with _failing_as("the browser refused a script"):
            return self._page.evaluate(script, argument)

    def now_ms(self) -> float:
        """The page's clock."""
        with _failing_as(_GONE):
            return float(self._page.evaluate("performance.now()"))

    def poll(self) -> dict[str, Any]:
        """The reports since the last time: ``now``, ``state``, ``failure``, ``frames``, and statistics: ``inbound``,
        ``outbound``, ``pair``."""
        with _failing_as(_GONE):
            return dict(self._page.evaluate("window.legato.poll()"))

    def wait(self, wait_s: float) -> None:
        """Let the browser work for a while."""
        with _failing_as(_GONE):
            self._page.wait_for_timeout(wait_s * 1e3)

    def close(self) -> None:
        """Close the connection and the page; a page that is gone already is closed."""
        with suppress(CallError), _failing_as(_GONE):
            self._page.evaluate("window.legato.close()")
            self._page.close()
