"""One way of media through a session: what a browser at either end of it offers, answers and reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from legato.call.camera import Film, with_limits
from legato.call.log import BrowserLog
from legato.call.offered import without_transport_feedback
from legato.errors import CallError

if TYPE_CHECKING:
    from legato._core import RealCall
    from legato.call.browser import Peer


@dataclass
class Way:
    """One way of media, by its number in the session, with the pages at its ends where these are browsers."""

    number: int = 0
    sender: Peer | None = None
    receiver: Peer | None = None
    film: Film | None = None
    """What the sending page's camera films."""
    transport_feedback: bool = True
    """Whether a sending page is to get it; it offers it always."""
    log: BrowserLog = field(default_factory=BrowserLog)
    frames: int = 0
    """Decoded by the receiving page."""

    @property
    def pages(self) -> list[Peer]:
        """Those there are."""
        return [page for page in (self.receiver, self.sender) if page is not None]

    def connect(self, call: RealCall) -> None:
        """Carry the offer from the sending end to the receiving one, and the answer back."""
        own = None
        if self.sender is not None and self.film is not None:
            own = self.sender.offer(self.film.width, self.film.height, self.film.fps, self.film.codec)
            own = own if self.transport_feedback else without_transport_feedback(own)
        offer = call.offer(self.number, own)
        answer = call.answer(self.number, None if self.receiver is None else self.receiver.answer(offer))
        if self.sender is not None:
            limits_bps = call.limits_bps[self.number]
            self.sender.answered(with_limits(answer, *limits_bps), limits_bps[-1])

    def poll(self, call: RealCall) -> None:
        """Keep what the pages report; and what a sending one aims at is the call's target."""
        if self.receiver is not None:
            before_ms = call.now_ms()
            page_ms = self.receiver.now_ms()
            self.log.clocks(before_ms, page_ms, call.now_ms())
            self.last_frames()
        if self.sender is not None:
            polled = self.sender.poll()
            self.log.sent(polled, call.now_ms())
            if polled["pair"] and polled["pair"].get("availableOutgoingBitrate"):
                call.aims_at(self.number, int(polled["pair"]["availableOutgoingBitrate"]))

    def last_frames(self) -> None:
        """Keep what the receiving page reports."""
        if self.receiver is not None:
            polled = self.receiver.poll()
            self.log.poll(polled)
            if polled["failure"]:
                raise CallError(f"the browser does not play: {polled['failure']}")
            self.frames = (polled["inbound"] or {}).get("framesDecoded", self.frames)

    def close(self) -> None:
        """Close the pages."""
        for page in self.pages:
            page.close()
