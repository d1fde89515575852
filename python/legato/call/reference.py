"""Calls of one Chromium with another over a scenario's link: what our own controllers are held against.

The sending browser's camera is a file, played in a loop: the clip, or the generated scene until it comes again (0.9 GB
at 1280x720, gone with the browser). It codes as we do, H.264, VP8 or VP9, within the scenario's limits, steered by its
own rate control. The native module is the network between the two, behind sockets on the loopback interface or between
two network namespaces (:mod:`legato.call.tun`), and sees packets from outside; what the sending browser aims at and
does is in its statistics, which are kept beside the run folder's own tables as ``RUN/outbound``.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from legato.call.session import CallProgress
from legato.errors import CallError
from legato.plan import Plan

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from legato.call import Pictures
    from legato.call.tun import Host, Pair

CONTROLLER = "chromium"
"""What tables call the browser's rate control."""


@dataclass(frozen=True)
class Camera:
    """The browser that sends, and what its camera sees."""

    browser: Browser
    label: str
    width: int
    height: int
    fps: int
    codec: str = "h264"

    @property
    def encoder(self) -> str:
        """What tables call the browser's encoder."""
        return f"chromium's {self.codec}"


@contextmanager
def camera(pictures: Pictures, needed: bool, host: Host | None = None) -> Iterator[Camera | None]:
    """A browser with the pictures as its camera, in the namespace ``host``, where one is needed; else ``None``."""
    if not needed:
        yield None
        return
    from legato import _core
    from legato.call import browser

    with tempfile.TemporaryDirectory(prefix="legato-", dir=host.folder if host else None) as scratch:
        clip, width, height, fps = pictures.clip, pictures.width, pictures.height, pictures.fps
        label = f"generated {width}x{height}"
        if clip is None:
            clip = Path(scratch) / "scene.y4m"
            _core.write_scene(str(clip), width, height, fps)
        else:
            width, height, fps = picture_format(clip)
            label = clip.stem
        with browser.launched(camera=clip, host=host) as chromium:
            yield Camera(chromium, label, width, height, fps, pictures.codec)


def picture_format(clip: Path) -> tuple[int, int, int]:
    """Width, height and whole frames a second of a Y4M file."""
    try:
        with clip.open("rb") as file:
            header = file.readline(1024).decode("ascii", "replace").split()
    except OSError as error:
        raise CallError(f"{clip}: {error.strerror}") from None
    fields = {word[0]: word[1:] for word in header[1:]}
    try:
        frames, seconds = map(int, fields.get("F", "30:1").split(":"))
        return int(fields["W"]), int(fields["H"]), round(frames / seconds)
    except (KeyError, ValueError, ZeroDivisionError):
        raise CallError(f"{clip}: no Y4M file") from None


def make_one(
    chromium: Browser,
    camera: Camera,
    plan: Plan,
    folder: Path,
    number: int,
    calls: int,
    on_progress: Callable[[CallProgress], None] | None,
    tuns: Pair | None = None,
) -> float:
    """One call; how long it lasted in s. ``tuns``: the namespaces that the browsers are in."""
    from legato import _core
    from legato.call import priority, session
    from legato.call.browser import Peer
    from legato.call.log import BrowserLog
    from legato.call.processor import Processor

    names = {"clip": camera.label, "controller": CONTROLLER, "encoder": camera.encoder}
    between = None if tuns is None else tuns.native
    call = _core.RelayCall(plan.to_json(), number, str(folder), tuns=between, **names)
    sender, receiver = Peer(camera.browser), Peer(chromium)
    log = BrowserLog()
    realtime = priority.raised()
    processor = Processor()

    try:
        offer = call.pass_offer(sender.offer(camera.width, camera.height, camera.fps, camera.codec))
        least, first, most = call.limits_bps
        answer = call.pass_answer(receiver.answer(offer))
        sender.answered(with_limits(answer, least, first, most), most)
        session.wait_for_media(call, receiver)
        session.follow(call, receiver, log, number, calls, on_progress, lambda: session.pass_aim(call, sender, log))
        report = call.finish(log.shown())
    finally:
        call.stop()
        sender.close()
        receiver.close()
    machine = {
        "link": "inside" if tuns is None else "tun",
        "browser": chromium.version,
        "realtime": realtime,
        **processor.since(),
    }
    log.write(folder, number, {**call.labels, **report, **machine})
    return report["end_s"]


def with_limits(answer: str, least_bps: int, first_bps: int, most_bps: int) -> str:
    """The answer with the scenario's limits as libwebrtc reads them from a codec's parameters."""
    limits = f"x-google-min-bitrate={least_bps // 1000};x-google-start-bitrate={first_bps // 1000}"
    limits += f";x-google-max-bitrate={most_bps // 1000}"
    limited = re.sub(r"(?m)^(a=fmtp:\d+ (?:[^\r\n]*packetization-mode|profile-id)[^\r\n]*)", rf"\1;{limits}", answer)
    # VP8 has no parameters of its own.
    return re.sub(r"(?m)^(a=rtpmap:(\d+) VP8/90000)", rf"\1\r\na=fmtp:\2 {limits}", limited)
