"""The parts taken out of a browser's offer before the receiving end sees it."""

from __future__ import annotations

_URI = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions"
"""Of the header extension with the transport-wide number, in both of its versions."""


def without_transport_feedback(offer: str) -> str:
    """The offer as of a sender that knows no transport-wide feedback: neither its RTCP message nor its header
    extension is in it, so no answer accepts them. The remaining feedback on rates is REMB and receiver reports."""

    def is_of_it(line: str) -> bool:
        feedback = line.startswith("a=rtcp-fb:") and line.rstrip().endswith(" transport-cc")
        return feedback or (line.startswith("a=extmap:") and _URI in line)

    return "".join(line for line in offer.splitlines(keepends=True) if not is_of_it(line))
