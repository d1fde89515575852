"""What the ends of a real call are, which way media go, and where the link is: one :class:`Session`, and the one place
where what cannot be called is refused.

The near end is ours where one is: it sends forward over the scenario's link. ``receive`` has the far end send forward
to us instead; ``both`` has the near end send forward and the far end in reverse.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from legato import _core
from legato.errors import CallError

if TYPE_CHECKING:
    from legato.plan import Plan


class End(StrEnum):
    """What an end is."""

    CHROMIUM = "chromium"
    LEGATO = "legato"
    """Of this process."""
    PROGRAM = "program"
    """Any command line, in a separate network namespace."""


PEERS = {
    "chromium": (End.LEGATO, End.CHROMIUM),
    "chromium-chromium": (End.CHROMIUM, End.CHROMIUM),
    "legato": (End.LEGATO, End.LEGATO),
}
"""The near end and the far one: Legato calls a browser, one browser another, or Legato calls Legato."""

DIRECTIONS = ("send", "receive", "both")
FEEDBACK = ("twcc", "remb")
"""What a browser that sends gets: transport-wide feedback, by which its own rate control works, and REMB, which caps
that; or, where transport-wide feedback is not negotiated, REMB and receiver reports alone."""
LINKS = ("inside", "tun")
"""The emulated link is in this process, on the loopback interface; or between two network namespaces."""

_MAX_PARITY_SHARE = 0.5
"""Of a frame's packets: more parity than media is not sent."""
RECOVERIES = ("nack", "references")
"""Lost packets are requested and sent again, where the codec needs them. Or incomplete frames are shown, and the next
one is predicted from one that the receiver has.
"""
_OURS, _BROWSERS, _PROGRAMS = PEERS["legato"], PEERS["chromium-chromium"], (End.PROGRAM, End.PROGRAM)

_REFUSED: tuple[tuple[tuple[End, End], str | None, str | None, str], ...] = (
    (_OURS, "receive", None, "direction receive: with peers legato both ends are ours, and one receives anyway"),
    (_OURS, None, "tun", "link tun: with peers legato both ends are in this process, and none in a namespace"),
    (_BROWSERS, "receive", None, "direction receive: with peers chromium-chromium no end is ours"),
    (_BROWSERS, "both", "tun", "direction both: with peers chromium-chromium the link is inside"),
    (_PROGRAMS, "receive", None, "direction receive: the near program sends the media"),
    (_PROGRAMS, "both", None, "direction both: the near program sends the media"),
    (_PROGRAMS, None, "inside", "link inside: programs are in network namespaces, and the link is tun"),
)
"""Every combination that cannot be called: ends, direction and link (``None``: any), and why. All others can."""


@dataclass(frozen=True)
class Media:
    """One way of media: whether its ends are ours; and whether a program sends, whose every packet is watched."""

    sent_by_us: bool
    received_by_us: bool
    sent_by_program: bool


@dataclass(frozen=True)
class Session:
    """One session of calls.

    Raises:
        CallError: there is no such session; one line says why.
    """

    near: End = End.LEGATO
    far: End = End.CHROMIUM
    direction: str = "send"
    link: str = "inside"
    feedback: str = "twcc"

    def __post_init__(self) -> None:
        if self.ends not in (*PEERS.values(), _PROGRAMS):
            raise CallError(f"ends {self.near} and {self.far}: no call is possible between these two")
        for ends, direction, link, why in _REFUSED:
            if self.ends == ends and direction in (None, self.direction) and link in (None, self.link):
                raise CallError(why)
        if self.feedback == "remb" and End.CHROMIUM not in self.senders():
            raise CallError("feedback remb: no browser sends here, and what we send needs transport-wide feedback")

    @classmethod
    def of(cls, peers: str, direction: str = "send", link: str = "inside", feedback: str = "twcc") -> Session:
        """The session that options name."""
        options = (
            ("peers", peers, PEERS),
            ("direction", direction, DIRECTIONS),
            ("link", link, LINKS),
            ("feedback", feedback, FEEDBACK),
        )
        for name, chosen, known in options:
            if chosen not in known:
                raise CallError(f"{name} {chosen}: one of {', '.join(known)} is needed")
        return cls(*PEERS[peers], direction, link, feedback)

    @property
    def ends(self) -> tuple[End, End]:
        """The near one and the far one."""
        return self.near, self.far

    @property
    def ways(self) -> tuple[tuple[int, int], ...]:
        """Of each way of media the end that sends and the end that receives, by their places in ``ends``."""
        return {"send": ((0, 1),), "receive": ((1, 0),), "both": ((0, 1), (1, 0))}[self.direction]

    @property
    def media(self) -> tuple[Media, ...]:
        """Each way, as the native module takes it."""
        ends = ((self.ends[sender], self.ends[receiver]) for sender, receiver in self.ways)
        return tuple(Media(near == End.LEGATO, far == End.LEGATO, near == End.PROGRAM) for near, far in ends)

    def senders(self) -> set[End]:
        """What sends."""
        return {self.ends[sender] for sender, _ in self.ways}

    def check(self, plan: Plan, codec: str, vmaf: bool) -> None:
        """Refuse a plan, a codec or a measurement that this session cannot have.

        Raises:
            CallError: it cannot.
        """
        several = "calls" in _read(plan.scenario)
        if several and len(self.ways) == 1:
            raise CallError(
                f"calls: the scenario has several, and direction {self.direction} is one: direction both is needed"
            )
        if not several and len(self.ways) == 2:
            raise CallError("direction both: the plan needs two calls, the second of direction reverse")
        if vmaf and End.LEGATO not in self.senders():
            raise CallError("vmaf: only what we send is compared, and here a browser sends")
        codecs = _core.codecs()
        known = codecs.get(codec)
        if known is None:
            raise CallError(f"codec {codec}: one of {', '.join(codecs)} is needed")
        if known.ours_alone and self.ends != _OURS:
            raise CallError(f"codec {codec}: only Legato ends know it: peers legato is needed")
        # Where we send we code, where we receive we decode.
        if known.why_not and End.LEGATO in self.ends:
            raise CallError(known.why_not, hint=f"{known.remedy}; or --codec h264")

    def check_parity(self, codec: str, parity: str) -> None:
        """Refuse parity that this session cannot have; the controller's own, where it asks for any, leaves as filler
        there.

        Raises:
            CallError: it cannot.
        """
        if parity == "controller":
            return
        if parity != "adaptive" and not _is_share(parity):
            most = f"{_MAX_PARITY_SHARE:g}"
            raise CallError(f"parity {parity}: controller, adaptive or a share from 0 to {most} is needed")
        if self.ends != _OURS:
            raise CallError(
                f"parity {parity}: only Legato ends restore packets by it, and here one is not: peers legato is needed"
            )
        if "nack" not in _core.codecs()[codec].recoveries:
            raise CallError(f"parity {parity}: packets of codec {codec} need no others")

    def check_recovery(self, codec: str, recovery: str, parity: str) -> None:
        """Refuse a recovery from losses that this session cannot have.

        Raises:
            CallError: it cannot.
        """
        if recovery not in RECOVERIES:
            raise CallError(f"recovery {recovery}: one of {', '.join(RECOVERIES)} is needed")
        if recovery == "nack":
            return
        able = [name for name, known in _core.codecs().items() if recovery in known.recoveries]
        if codec not in able:
            raise CallError(f"recovery {recovery}: not of codec {codec}: one of {', '.join(able)} is needed")
        if self.ends != _OURS:
            raise CallError(f"recovery {recovery}: a browser decodes whole frames only: peers legato is needed")
        if parity != "controller":
            raise CallError(f"recovery {recovery}: frames are shown in part, and parity {parity} restores nothing")


def _is_share(text: str) -> bool:
    try:
        return 0.0 <= float(text) <= _MAX_PARITY_SHARE
    except ValueError:
        return False


@dataclass(frozen=True)
class Others:
    """What tables call the rate control, the pictures and the encoder of an end that is not ours and sends; and the
    columns of its camera's pictures."""

    controller: str
    clip: str = "none"
    encoder: str = "none"
    width: int = 0


_FLOWS = ({"name": "forward"}, {"name": "reverse", "direction": "reverse"})
"""The two calls of a scenario that names none."""


def with_both_ways(text: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """``options``, and keys that give the scenario ``text`` the two calls of media both ways, where it names none."""
    changes, scenario = dict(options or {}), _read(text)
    if "calls" not in scenario:
        # Of several calls each has its own.
        pauses = {"pauses": scenario["pauses"]} if scenario.get("pauses") else {}
        changes["calls"] = [{**flow, **pauses} for flow in _FLOWS]
    return changes


def _read(text: str) -> dict[str, Any]:
    """A scenario; an invalid one is refused by its own reader, by name."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
