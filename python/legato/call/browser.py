"""A headless Chromium as the other end of real calls, driven by Playwright over its pipe: nothing listens.

The page is a string given to the browser, and session descriptions are arguments and results of functions
called in it. So there is no signalling server that could be found from elsewhere.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from legato.errors import CallError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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
    # The calls are on the loopback interface, and addresses need no hiding from ourselves.
    "--allow-loopback-in-peer-connection",
    "--disable-features=WebRtcHideLocalIpsWithMdns",
)

_HTML = "<!doctype html><title>legato call</title><video muted playsinline></video>"
_ANSWER_TIMEOUT_MS = 20_000


def find() -> str | None:
    """The browser of ``LEGATO_CHROMIUM`` or of the PATH; ``None``: Playwright's own, where that is installed."""
    return os.environ.get("LEGATO_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """A running browser, gone after the block whatever happens in it."""
    try:
        from playwright.sync_api import Error as PlaywrightError
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise CallError("a real call needs Playwright", hint="pip install 'legato-rtc[call]'") from None
    with sync_playwright() as driver:
        try:
            browser = driver.chromium.launch(executable_path=find(), args=list(ARGUMENTS))
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


class Peer:
    """One page: one end of one call."""

    def __init__(self, browser: Browser) -> None:
        self._page: Page = browser.new_page()
        self._page.set_content(_HTML)
        self._page.evaluate(files("legato.call").joinpath("page.js").read_text(encoding="utf-8"))

    def answer(self, offer: str) -> str:
        """The answer to an offer."""
        from playwright.sync_api import Error as PlaywrightError

        self._page.set_default_timeout(_ANSWER_TIMEOUT_MS)
        try:
            return self._page.evaluate("offer => window.legato.answer(offer)", offer)
        except PlaywrightError as error:
            raise CallError(f"the browser refused the call: {str(error).splitlines()[0]}") from None

    def now_ms(self) -> float:
        """The page's clock."""
        return self._page.evaluate("performance.now()")

    def poll(self) -> dict[str, Any]:
        """What has come since the last time: ``now``, ``state``, ``failure``, ``inbound`` statistics, ``frames``."""
        from playwright.sync_api import Error as PlaywrightError

        try:
            return self._page.evaluate("window.legato.poll()")
        except PlaywrightError as error:
            raise CallError(f"the browser went away: {str(error).splitlines()[0]}") from None

    def wait(self, wait_s: float) -> None:
        """Let the browser work for a while."""
        self._page.wait_for_timeout(wait_s * 1e3)

    def close(self) -> None:
        """Close the connection and the page; a page that is gone already is closed."""
        from playwright.sync_api import Error as PlaywrightError

        try:
            self._page.evaluate("window.legato.close()")
            self._page.close()
        except PlaywrightError:
            pass
