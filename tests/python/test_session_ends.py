"""Which ends can call each other, which way and over what: each combination is a session, or is refused by one line."""

from __future__ import annotations

from itertools import product

import pytest

import legato
from legato.call.ends import DIRECTIONS, LINKS, PEERS, End, Session
from legato.call.offered import without_transport_feedback
from legato.errors import CallError

REFUSED = {
    ("legato", "receive", "inside"): "direction receive",
    ("legato", "receive", "tun"): "direction receive",
    ("legato", "send", "tun"): "link tun",
    ("legato", "both", "tun"): "link tun",
    ("chromium-chromium", "receive", "inside"): "direction receive",
    ("chromium-chromium", "receive", "tun"): "direction receive",
    ("chromium-chromium", "both", "tun"): "direction both",
}
"""By the option that the line names."""


@pytest.mark.parametrize(("peers", "direction", "link"), list(product(PEERS, DIRECTIONS, LINKS)))
def test_each_combination_is_a_session_or_is_refused_by_one_line(peers: str, direction: str, link: str):
    option = REFUSED.get((peers, direction, link))
    if option is None:
        session = Session.of(peers, direction, link)
        assert (session.ends, session.direction, session.link) == (PEERS[peers], direction, link)
        return
    with pytest.raises(legato.CallError, match=f"^{option}: ") as refused:
        Session.of(peers, direction, link)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("firefox",), "peers firefox: one of chromium, chromium-chromium, legato is needed"),
        (("legato", "sideways"), "direction sideways: one of send, receive, both is needed"),
        (("legato", "send", "kernel"), "link kernel: one of inside, tun is needed"),
        (("chromium", "receive", "inside", "ccfb"), "feedback ccfb: one of twcc, remb is needed"),
    ],
)
def test_an_option_that_is_not_there_is_named_with_those_that_are(options: tuple[str, ...], why: str):
    with pytest.raises(legato.CallError, match=f"^{why}$"):
        Session.of(*options)


def test_programs_are_for_links_between_namespaces():
    assert Session(End.PROGRAM, End.PROGRAM, link="tun").ways == ((0, 1),)
    for how, why in (
        ({}, "link inside: programs are in network namespaces"),
        ({"link": "tun", "direction": "both"}, "direction both: the near program sends"),
        ({"link": "tun", "direction": "receive"}, "direction receive: the near program sends"),
    ):
        with pytest.raises(legato.CallError, match=why):
            Session(End.PROGRAM, End.PROGRAM, **how)
    with pytest.raises(legato.CallError, match="ends program and legato: no call is possible"):
        Session(End.PROGRAM, End.LEGATO)


def test_media_go_from_the_end_that_sends_to_the_end_that_receives():
    assert [Session.of("chromium", direction).ways for direction in DIRECTIONS] == [
        ((0, 1),),
        ((1, 0),),
        ((0, 1), (1, 0)),
    ]
    assert [Session.of("chromium", direction).senders() for direction in DIRECTIONS] == [
        {End.LEGATO},
        {End.CHROMIUM},
        {End.LEGATO, End.CHROMIUM},
    ]


def test_only_a_browser_that_sends_can_be_without_transport_feedback():
    assert Session.of("chromium", "receive", feedback="remb").feedback == "remb"
    assert Session.of("chromium-chromium", feedback="remb").feedback == "remb"
    for peers, direction in (("chromium", "send"), ("legato", "send"), ("legato", "both")):
        with pytest.raises(legato.CallError, match=r"^feedback remb: no browser sends here"):
            Session.of(peers, direction, feedback="remb")


def test_an_offer_loses_transport_feedback_and_nothing_else():
    uri = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
    kept = ["v=0", "a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time", "a=rtcp-fb:102 goog-remb",
            "a=rtcp-fb:102 nack", "a=rtpmap:102 H264/90000", ""]  # fmt: skip
    offer = [*kept[:2], f"a=extmap:4 {uri}", kept[2], "a=rtcp-fb:102 transport-cc", *kept[3:]]
    assert without_transport_feedback("\r\n".join(offer)) == "\r\n".join(kept)
    assert without_transport_feedback("\r\n".join(kept)) == "\r\n".join(kept)


@pytest.mark.parametrize("parity", ["0.6", "-0.1", "nan", "much", ""])
def test_parity_is_a_rule_or_a_share(parity: str):
    with pytest.raises(CallError, match=r"controller, adaptive or a share from 0 to 0\.5 is needed"):
        Session.of("legato").check_parity("h264", parity)


@pytest.mark.parametrize("parity", ["adaptive", "0.2"])
def test_parity_is_for_ends_of_ours_and_packets_that_need_each_other(parity: str):
    Session.of("legato").check_parity("h264", parity)
    for peers in ("chromium", "chromium-chromium"):
        with pytest.raises(CallError, match=rf"parity {parity}: only Legato ends .* peers legato is needed"):
            Session.of(peers).check_parity("h264", parity)
        Session.of(peers).check_parity("h264", "controller")
    with pytest.raises(CallError, match=f"parity {parity}: packets of codec hybrid need no others"):
        Session.of("legato").check_parity("hybrid", parity)


def test_references_are_between_ends_of_ours_without_parity():
    ours = Session.of("legato")
    ours.check_recovery("h264", "references", "controller")
    # It recovers in no other way.
    ours.check_recovery("hybrid", "references", "controller")
    ours.check_recovery("vp9", "nack", "0.2")
    with pytest.raises(CallError, match="recovery rtx: one of nack, references is needed"):
        ours.check_recovery("h264", "rtx", "controller")
    for codec in ("vp8", "vp9"):
        with pytest.raises(CallError, match=f"not of codec {codec}: one of h264, hybrid is needed"):
            ours.check_recovery(codec, "references", "controller")
    for peers in ("chromium", "chromium-chromium"):
        with pytest.raises(CallError, match=r"recovery references: a browser .* peers legato is needed"):
            Session.of(peers).check_recovery("h264", "references", "controller")
        Session.of(peers).check_recovery("h264", "nack", "controller")
    with pytest.raises(CallError, match=r"recovery references: .* parity 0\.2 restores nothing"):
        ours.check_recovery("h264", "references", "0.2")
