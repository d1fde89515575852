"""Why a controller misses a mark by its design, and where the same was observed elsewhere.

A note explains and does not excuse: the verdict stays. It is shown where its check fails.
"""

from __future__ import annotations

from dataclasses import dataclass

from legato.conformance.case import Case
from legato.conformance.judge import Verdict


@dataclass(frozen=True)
class Note:
    """An explanation of one controller's failure."""

    controller: str
    sections: tuple[str, ...]
    """How the keys of the cases begin."""
    check: str
    """How the name of the check begins."""
    text: str
    seen_by: str
    """Where the same was observed; empty: no source known."""


_STANDING = (
    "After the fall the link's queue is full, and UDP, which never yields, keeps most of the link: the call's back-off "
    "drains next to nothing of 150 kB. A standing queue has no gradient, and 1 to 5 % of loss is too little for the "
    "loss-based estimate to react: the target settles 10 to 25 % above what is free until the UDP leaves."
)
_AFTER_THE_FALL = (
    "Both calls back off at the same fall and then climb additively near the rate at which each last met the limit. "
    "The one that fell further stays behind: 0.6 of its share 25 s later."
)
_SLOW_TO_CONVERGE = "Zhang et al. 2019: fair, but slow to converge where the link changes"
_JITTER_IS_DELAY = (
    "NADA's rate is inverse to the delay it measures: r = priority × 10 ms × r_max / x. With 30 ms of jitter, the "
    "minimum of 15 packets still leaves x at about 14 ms while the queue is empty: 1 Mbit/s at r_max = 1.5, whatever "
    "the capacity; and above 10 ms there is no accelerated ramp-up."
)
_EQUILIBRIUM = "RFC 8698 section 4 itself: the equilibrium r x is constant"
_OWN_QUEUE = (
    "SCReAM raises its queue target, up to 400 ms, where the delay looks like that of a competing flow. Its own "
    "standing queue, and jitter, look the same; it then fills what it allows itself. With competing_flows = false the "
    "queue is up to a third shorter."
)
_OWN_QUEUE_SEEN = "RFC 8298 itself and the draft of its second version, which warn of it"
_FELL_FURTHER = (
    "Beyond fast increase the target goes to what gets through and up again by a ramp that is a fifth near the last "
    "maximum: the flow that fell further at a common fall climbs no faster than the other, on a queue the other keeps."
)
_TARGETS_DIFFER = (
    "Each flow raises a queue target of its own; on one queue the one with the higher target keeps what the other "
    "gives up."
)
_BESIDE_TCP = (
    "Reno keeps the queue nearly full. Where that is above the target that the compensation has reached (never more "
    "than 400 ms), the window shrinks to its minimum, and the pacer sends less than the target."
)
_LOSS_BASED = (
    "TFRC reacts to loss alone: it fills a tail-drop queue until a packet is lost, as TCP does, but smoothly, so that "
    "the queue stays full."
)
_EQUATION_RTT = "The rate is inverse to the round trip (the equation has it in the denominator), as TCP's is."
_NO_PRIORITY = "The algorithm has no notion of priority; all flows run as equals."

NOTES: tuple[Note, ...] = (
    Note(
        "gcc",
        ("5.1b", "5.2b"),
        "queue p95",
        _STANDING,
        "Carlucci et al. 2016, whose threshold adapts so as to hold against loss-based flows, which lets the queue "
        "stand",
    ),
    Note("gcc", ("5.1b",), "settled", _STANDING, ""),
    Note("gcc", ("5.2",), "use of the share", _AFTER_THE_FALL, _SLOW_TO_CONVERGE),
    Note("gcc", ("5.2",), "settled", _AFTER_THE_FALL, _SLOW_TO_CONVERGE),
    Note("gcc", ("5.2",), "ratio of rates", _AFTER_THE_FALL, _SLOW_TO_CONVERGE),
    Note(
        "gcc",
        ("5.5",),
        "largest rate",
        "Near its last limit GCC climbs by half a packet per response time, which is the round trip plus 100 ms: a "
        "call with a short round trip climbs faster.",
        "draft-ietf-rmcat-gcc-02, whose increase is so by construction",
    ),
    Note(
        "gcc",
        ("6.2",),
        "mean queue more",
        "GCC reacts to delay and loss, not to marks: where CoDel drops it sees loss, where CoDel marks, nothing.",
        "libwebrtc, whose GCC has no answer to CE",
    ),
    *(Note("nada", ("5.1", "5.2"), check, _JITTER_IS_DELAY, _EQUILIBRIUM) for check in ("use of the share", "settled")),
    Note("nada", ("5.8",), "third flow", _JITTER_IS_DELAY, _EQUILIBRIUM),
    Note("nada", ("6.1",), "first flow's rate", _JITTER_IS_DELAY, _EQUILIBRIUM),
    Note("gcc", ("5.2b",), "loss", _STANDING, ""),
    Note("scream", ("5.1", "5.2", "5.4", "5.5"), "queue p95", _OWN_QUEUE, _OWN_QUEUE_SEEN),
    Note("scream", ("6.2",), "mean queue more", _OWN_QUEUE, _OWN_QUEUE_SEEN),
    *(Note("scream", ("5.2",), check, _FELL_FURTHER, "") for check in ("settled", "use of the share")),
    *(
        Note("scream", ("5.4", "5.5", "5.7"), check, _TARGETS_DIFFER, _OWN_QUEUE_SEEN)
        for check in ("ratio of rates", "largest rate", "Jain")
    ),
    *(
        Note(name, ("5.6",), check, _BESIDE_TCP, "RFC 8298, whose compensation ends at 400 ms")
        for name in ("scream", "scream-v2")
        for check in ("seconds with", "the call's rate")
    ),
    *(
        Note(name, ("5.", "6.3"), check, _LOSS_BASED, "RFC 5348 section 1: TFRC is meant to compete fairly with TCP")
        for name in ("tfrc", "jm-tfrc", "vtfrc")
        for check in ("queue p95", "loss")
    ),
    *(
        Note(name, ("5.5",), check, _EQUATION_RTT, "RFC 5348 section 3.1")
        for name in ("tfrc", "jm-tfrc", "vtfrc")
        for check in ("Jain", "largest rate")
    ),
    *(
        Note(name, ("6.1",), "first flow's rate", _NO_PRIORITY, "")
        for name in ("fbra", "gcc", "jm-tfrc", "salsify", "scream", "scream-v2", "sqp", "tfrc", "ukf", "vtfrc")
    ),
)


def notes_on(controller: str, case: Case, verdict: Verdict) -> list[Note]:
    """The notes on what a controller misses in a case, each once."""
    base = controller.split("(")[0]
    found: dict[str, Note] = {}
    for note in NOTES:
        if (
            note.controller == base
            and case.key.startswith(note.sections)
            and any(check.name.startswith(note.check) for check in verdict.failed)
        ):
            found.setdefault(note.text, note)
    return list(found.values())
