"""What the sessions of a run have in common: the browsers or programs at their ends, and these ends' namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from legato.call import browser, camera, tun
from legato.call.camera import Film
from legato.call.ends import End, Others, Session
from legato.call.way import Way

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from legato.call.others import Programs
    from legato.call.pictures import Pictures


@dataclass(frozen=True)
class Stage:
    """Set for the sessions of a run."""

    session: Session
    pictures: Pictures
    film: Film | None = None
    """What a browser that sends films."""
    browsers: tuple[Browser | None, Browser | None] = (None, None)
    """At the near end and at the far one."""
    tuns: tun.Pair | None = None
    programs: Programs | None = None
    ffmpeg: str | None = None

    def native(self) -> dict[str, Any]:
        """What the native module takes of it."""
        others = self.film.others() if self.film else None
        if self.programs is not None:
            others = Others(self.programs.name)
        tuns = self.tuns.native if self.tuns else None
        return {"pictures": self.pictures, "others": others, "tuns": tuns, "ffmpeg": self.ffmpeg}

    def ways(self) -> list[Way]:
        """Those of one session, with new pages."""
        ways: list[Way] = []
        for number, ends in enumerate(self.session.ways):
            sender, receiver = (None if (at := self.browsers[end]) is None else browser.Peer(at) for end in ends)
            transport_feedback = self.session.feedback == "twcc"
            ways.append(Way(number, sender, receiver, self.film, transport_feedback))
        return ways

    def browser_version(self) -> str | None:
        """Of the browser, where there is one."""
        return next((at.version for at in self.browsers if at is not None), None)


@contextmanager
def opened(
    session: Session, pictures: Pictures, programs: Programs | None = None, ffmpeg: str | None = None
) -> Iterator[Stage]:
    """All that the sessions need; nothing of it is left after the block.

    Raises:
        CallError: no browser, or no namespaces where they are needed.
    """
    with ExitStack() as stack:
        tuns = stack.enter_context(tun.opened()) if session.link == "tun" else None
        hosts = (tuns.near, tuns.far) if tuns else (None, None)
        film, browsers = None, []
        if End.CHROMIUM in session.senders():
            film = stack.enter_context(camera.film(pictures, tuns.near.folder if tuns else None))
        for place, (end, host) in enumerate(zip(session.ends, hosts, strict=True)):
            sends = any(sender == place for sender, _ in session.ways)
            file = film.file if film and sends else None
            here = end == End.CHROMIUM
            browsers.append(stack.enter_context(browser.launched(camera=file, host=host)) if here else None)
        near, far = browsers
        yield Stage(session, pictures, film, (near, far), tuns, programs, ffmpeg)
