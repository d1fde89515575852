"""Real calls: the plan's calls made one after the other with a browser, into the run folder a sweep writes.

:func:`make` is what ``legato call`` and :func:`legato.real_calls` do. The native module sends, emulates the
network and records; here is the other end (:mod:`legato.call.browser`), and what it tells
(:mod:`legato.call.log`). With two browsers the native module is the network alone
(:mod:`legato.call.reference`); in the other direction it receives (:mod:`legato.call.receiving`), or does both
(:mod:`legato.call.both`). Without any it is both ends (:mod:`legato.call.own`).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from legato.call.session import CallProgress
from legato.errors import CallError, Error
from legato.plan import Plan
from legato.sweep import Run, check_folder

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PEERS = ("chromium", "chromium-chromium", "legato")
"""Who is called: by us, or by each other; ``legato`` is called by us and is another end of ours."""

DIRECTIONS = ("send", "receive", "both")
"""Who sends the video in a call of ours: we, the other end, or both at once."""

LINKS = ("inside", "tun")
"""Where the emulated link is: in this process, which everybody may have; or between two network namespaces, for the
calls of two browsers."""

CODECS = ("h264", "vp8", "vp9")
"""How it is coded. We code and decode VP8 and VP9 where the native module was built with libvpx."""


@dataclass(frozen=True)
class Pictures:
    """What is sent: a Y4M file, or a generated scene of this size and rate; and how it is coded, one of
    :data:`CODECS`."""

    clip: Path | None = None
    width: int = 1280
    height: int = 720
    fps: int = 30
    codec: str = "h264"

    def drawn(self) -> dict[str, Any]:
        """What the native module is told of the pictures."""
        clip = None if self.clip is None else str(self.clip)
        return {"clip": clip, "width": self.width, "height": self.height, "fps": self.fps, "codec": self.codec}


def make(
    plan: Plan,
    folder: str | Path,
    *,
    pictures: Pictures | None = None,
    peers: str = "chromium",
    direction: str = "send",
    link: str = "inside",
    vmaf: bool = False,
    resume: bool = False,
    on_progress: Callable[[CallProgress], None] | None = None,
) -> Run:
    """Make the plan's calls for real and write them to ``folder``.

    ``peers``: ``chromium``, whom we call; ``chromium-chromium``, whose calls with each other under Chromium's own
    rate control are a reference; or ``legato``, an end of ours, for which no browser is needed. ``direction``: whether
    we send, or Chromium does, or both do; then the plan has two calls. ``link``: one of :data:`LINKS`. ``vmaf``:
    measure what was viewed of our pictures by VMAF too, with an ffmpeg that :func:`legato.call.vmaf.found` finds.

    Raises:
        CallError: no browser, no namespaces or ffmpeg where they are asked for, no connection, or one that broke. Calls
            made before stay in the folder.
    """
    from legato import _core
    from legato.call import awake, both, browser, own, receiving, reference, tun
    from legato.call import vmaf as meter

    folder = Path(folder)
    pictures = pictures or Pictures()
    check_folder(folder, resume=resume)
    if not hasattr(_core, "RealCall"):
        raise CallError("this build of Legato makes no real calls", hint="build it with the feature `calls`")
    if peers not in PEERS:
        raise CallError(f"peers {peers}: one of {', '.join(PEERS)} is needed")
    if direction not in DIRECTIONS:
        raise CallError(f"direction {direction}: one of {', '.join(DIRECTIONS)} is needed")
    if peers == "legato" and direction == "receive":
        raise CallError("direction receive: with peers legato both ends are ours, and one of them receives anyway")
    if peers == "chromium-chromium" and direction == "both":
        raise CallError(
            "direction both: with peers chromium-chromium the link has one sender; peers chromium or legato"
        )
    if link not in LINKS:
        raise CallError(f"link {link}: one of {', '.join(LINKS)} is needed")
    if link == "tun" and peers != "chromium-chromium":
        raise CallError(f"link tun: it is for peers chromium-chromium, and for legato link; with {peers} it is inside")
    both.check(plan, direction)
    if vmaf and (peers == "chromium-chromium" or direction == "receive"):
        raise CallError("vmaf: only what we send is compared, and here a browser sends")
    _check_codec(pictures.codec, peers)
    sent = pictures.drawn() | {"ffmpeg": meter.found() if vmaf else None}
    started = time.monotonic()
    alone = peers == "legato"
    receive = peers == "chromium" and direction == "receive"
    both_ways = peers == "chromium" and direction == "both"
    with ExitStack() as browsers:
        browsers.enter_context(_nothing_left_of_nothing(folder))
        browsers.enter_context(awake.kept())
        tuns = browsers.enter_context(tun.opened()) if link == "tun" else None
        near, far = (tuns.near, tuns.far) if tuns else (None, None)
        films = receive or both_ways or peers == "chromium-chromium"
        camera = browsers.enter_context(reference.camera(pictures, films, near))
        called_alone = receive or both_ways or alone
        chromium = None if called_alone else browsers.enter_context(browser.launched(host=far))
        calls = _core.open_call_folder(plan.to_json(), str(folder))
        called_s = 0.0
        for number in range(calls):
            if (folder / "summary" / f"{number:05}.parquet").exists():
                continue
            if alone:
                called_s += own.make_one(plan, folder, number, calls, sent, on_progress)
            elif both_ways:
                called_s += both.make_one(camera, plan, folder, number, calls, sent, on_progress)
            elif chromium is None:
                called_s += receiving.make_one(camera, plan, folder, number, calls, on_progress)
            elif camera is None:
                called_s += _make_one(chromium, plan, folder, number, calls, sent, on_progress)
            else:
                called_s += reference.make_one(chromium, camera, plan, folder, number, calls, on_progress, tuns)
    return Run(folder, calls, called_s, time.monotonic() - started)


@contextmanager
def _nothing_left_of_nothing(folder: Path) -> Iterator[None]:
    """A folder that was begun here and has no call in it goes again, so that the mended command may take it."""
    begun_here = not folder.exists()
    try:
        yield
    except Error:
        if begun_here and not (folder / "summary").exists():
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _check_codec(codec: str, peers: str) -> None:
    from legato import _core

    if codec not in CODECS:
        raise CallError(f"codec {codec}: one of {', '.join(CODECS)} is needed")
    # Where we send we code, where we receive we decode: between two browsers neither.
    why_not = None if peers == "chromium-chromium" else _core.codecs()[codec]
    if why_not:
        raise CallError(why_not, hint="apt install libvpx-dev pkg-config, and build Legato again; or --codec h264")


def _make_one(
    chromium: Browser,
    plan: Plan,
    folder: Path,
    number: int,
    calls: int,
    sent: dict[str, Any],
    on_progress: Callable[[CallProgress], None] | None,
) -> float:
    """One call; how long it lasted in s."""
    from legato import _core
    from legato.call import priority, session
    from legato.call import vmaf as meter
    from legato.call.browser import Peer
    from legato.call.log import BrowserLog
    from legato.call.processor import Processor

    call = _core.RealCall(plan.to_json(), number, str(folder), **sent)
    peer = Peer(chromium)
    log = BrowserLog()
    realtime = priority.raised()
    processor = Processor()
    try:
        call.answer(peer.answer(call.offer))
        session.wait_for_media(call, peer)
        session.follow(call, peer, log, number, calls, on_progress)
        report = call.finish(log.shown())
    finally:
        call.stop()
        peer.close()
    machine = {"browser": chromium.version, "realtime": realtime, **processor.since()}
    log.write(folder, number, {**call.labels, **report, **machine})
    meter.check(number, report)
    return report["end_s"]
