"""``legato call --check``: what this machine can do, and what to install for the rest."""

from __future__ import annotations

import os
import socket
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from legato import _core
from legato.call import browser, tun, vmaf
from legato.errors import CallError

_SLEEPS = 200
_SLEEP_S = 0.002
_FINE_LATENESS_MS = 2.0
_FINE_CODING_MS = 25.0
_WITHOUT = "--peers legato needs none"


@dataclass(frozen=True)
class Finding:
    """One requirement of a real call: whether it is met, the finding, and the remedy."""

    name: str
    ok: bool
    found: str
    remedy: str = ""
    optional: bool = False
    """Calls can be made without it."""


def findings(*, browser_needed: bool = True) -> list[Finding]:
    """Everything a call needs, in the order it is needed; one between two Legato ends needs no browser."""
    others = [_playwright(), *_browser()] if browser_needed else []
    return [
        _native(),
        *others,
        _loopback(),
        *_encoder(),
        *_codecs(),
        _timers(),
        _realtime(),
        _processors(),
        _namespaces(),
        _vmaf(),
    ]


def _native() -> Finding:
    ok = hasattr(_core, "RealCall")
    return Finding("endpoint", ok, "built in" if ok else "not in this build", "build with the feature `calls`")


def _playwright() -> Finding:
    try:
        from importlib.metadata import version

        return Finding("Playwright", True, version("playwright"))
    except ImportError:
        remedy = f"pip install 'legato-rtc[call]'; {_WITHOUT}"
        return Finding("Playwright", False, "missing", remedy)


def _browser() -> list[Finding]:
    remedy = f"apt install chromium, or playwright install chromium, or name one in LEGATO_CHROMIUM; {_WITHOUT}"
    try:
        with browser.launched() as chromium:
            page = chromium.new_page()
            codecs = page.evaluate("RTCRtpReceiver.getCapabilities('video').codecs.map(codec => codec.mimeType)")
            page.close()
            found = f"Chromium {chromium.version}, {browser.find() or 'of Playwright'}"
    except CallError as error:
        return [Finding("browser", False, str(error), remedy)]
    h264 = "video/H264" in codecs
    names = ", ".join(sorted({codec.removeprefix("video/") for codec in codecs}))
    decodes = Finding("decodes H.264", h264, names, "a Chromium built with H.264; Debian's is")
    return [Finding("browser", True, found), decodes]


def _loopback() -> Finding:
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.bind(("127.0.0.1", 0))
            return Finding("loopback UDP", True, "127.0.0.1")
    except OSError as error:
        return Finding("loopback UDP", False, error.strerror or "no socket", "allow UDP sockets on 127.0.0.1")


def _encoder() -> list[Finding]:
    """How long a 1280x720 picture takes to code and decode again; the call's encoder needs two thirds of that."""
    if not hasattr(_core, "write_scene") or not hasattr(_core, "OpenH264Stream"):
        return []
    width, height, pictures = 1280, 720, 12
    with tempfile.TemporaryDirectory(prefix="legato-") as scratch:
        clip = Path(scratch) / "scene.y4m"
        _core.write_scene(str(clip), width, height, 30, pictures)
        stream = _core.OpenH264Stream(width, height, 30.0, bitrate_bps=1_500_000)
        times_ms = []
        with clip.open("rb") as file:
            file.readline()
            for _ in range(pictures):
                file.readline()
                picture = file.read(width * height * 3 // 2)
                begun = time.perf_counter()
                stream.encode(picture)
                times_ms.append((time.perf_counter() - begun) * 1e3)
    median_ms = sorted(times_ms)[pictures // 2]
    found = f"{median_ms:.0f} ms a picture of {width}x{height}, decoded again"
    remedy = "build with nasm installed, which makes OpenH264 twice as quick, or send a smaller --size"
    return [Finding("encoder", median_ms < _FINE_CODING_MS, found, remedy)]


def _codecs() -> list[Finding]:
    """Which codecs this build has, besides those that every build has."""
    if not hasattr(_core, "codecs"):
        return []
    optional = [(name, codec) for name, codec in _core.codecs().items() if codec.remedy]
    return [
        Finding(
            f"codes {name.upper()}",
            not codec.why_not,
            codec.why_not or "built in",
            f"not needed for --codec h264; else {codec.remedy}",
        )
        for name, codec in optional
    ]


def _timers() -> Finding:
    """How late short sleeps end: what the emulated link cannot be better than."""
    late_ms = []
    for _ in range(_SLEEPS):
        begun = time.perf_counter()
        time.sleep(_SLEEP_S)
        late_ms.append((time.perf_counter() - begun - _SLEEP_S) * 1e3)
    late_ms.sort()
    median_ms, high_ms = late_ms[_SLEEPS // 2], late_ms[_SLEEPS * 99 // 100]
    found = f"{median_ms:.2f} ms late in the median, {high_ms:.2f} ms at the 99th percentile"
    return Finding("timers", high_ms < _FINE_LATENESS_MS, found, "a call needs the machine to itself: stop other work")


def _realtime() -> Finding:
    """Nothing that a call must have: without it the link is late wherever something else runs."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except (AttributeError, OSError):
        remedy = "not needed on an idle machine; else an rtprio limit of 40 (limits.conf), or the superuser"
        return Finding("real-time priority", False, "not granted", remedy)
    return Finding("real-time priority", True, "granted")


def _processors() -> Finding:
    count = os.cpu_count() or 1
    found = f"{count}"
    busy = False
    if hasattr(os, "getloadavg"):
        load = os.getloadavg()[0]
        found += f", load {load:.1f}"
        busy = load > count / 2
    return Finding(
        "processors", count >= 2 and not busy, found, "two, mostly idle: encoder and browser take one and a half"
    )


def _namespaces() -> Finding:
    """For ``--link tun`` and ``legato link`` alone."""
    why_not = tun.problem()
    remedy = f"not needed for the link inside; else {tun.HINT.removesuffix(': legato call --check')}"
    return Finding("link between namespaces", why_not is None, why_not or "granted", remedy, optional=True)


def _vmaf() -> Finding:
    """For ``--vmaf`` alone."""
    remedy = f"not needed without --vmaf; else {vmaf.HINT}"
    try:
        return Finding("VMAF", True, f"measured by {vmaf.found()}", remedy, optional=True)
    except CallError as error:
        return Finding("VMAF", False, str(error), remedy, optional=True)
