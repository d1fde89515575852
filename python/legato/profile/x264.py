"""libx264 through ctypes, with the controls of a measurement: forced QPs, forced key frames, live changes of bitrate
and VBV, the slices of a frame, the picture as the decoder will see it, and the encoder's mean QP.

libx264 is GPL and no part of Legato: it is found at run time, in PyAV's wheel or on the system, and
only the interface is described here. Everything that has a name is set by name through the
library's own parser. The few things that do not (width, height, the picture) are written at offsets
known for the builds below and checked when the library is loaded; an unknown build is refused.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from legato.errors import ProfileError

# Interface numbers whose structures were checked. 164 and 165 agree in everything used here.
KNOWN_BUILDS = (165, 164)

_PARAM_BYTES = 4096  # The structure has fewer than 1,100 bytes; the library writes no further.
_OFFSET = {"threads": 4, "width": 28, "height": 32, "colorspace": 36, "bit_depth": 40}
_I420 = 2
_TYPE_AUTO, _TYPE_IDR, _TYPE_P = 0, 1, 3
_NAL_SLICES = (1, 5)


def _integers(*names: str) -> list[tuple[str, type]]:
    return [(name, ctypes.c_int) for name in names]


class _Nal(ctypes.Structure):
    _fields_ = [
        *_integers("ref_idc", "type", "long_startcode", "first_mb", "last_mb", "payload_bytes"),
        ("payload", ctypes.POINTER(ctypes.c_uint8)),
        ("padding", ctypes.c_int),
    ]


class _Picture(ctypes.Structure):
    """The head of a picture; the rest (side data, timing) stays zero and is never read."""

    _fields_ = [
        *_integers("type", "qp_plus1", "pic_struct", "keyframe"),
        ("pts", ctypes.c_int64),
        ("dts", ctypes.c_int64),
        ("param", ctypes.c_void_p),
        *_integers("colorspace", "planes"),
        ("stride", ctypes.c_int * 4),
        ("plane", ctypes.c_void_p * 4),
        ("rest", ctypes.c_uint8 * 512),
    ]


@dataclass(frozen=True)
class Coded:
    """One coded frame. `qp` is the mean over macroblocks, adaptive quantisation included, rounded."""

    size_bytes: int
    keyframe: bool
    qp: int
    luma: np.ndarray  # (height, width) uint8, as every decoder will have it
    nals: list[bytes]  # with start codes
    slices: list[bool]  # which of `nals` hold picture data


def _candidates() -> Iterator[Path]:
    try:
        import av
    except ImportError:
        pass
    else:
        yield from sorted((Path(av.__file__).parent.parent / "av.libs").glob("libx264*.so*"))
    for build in KNOWN_BUILDS:
        for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"):
            path = Path(folder) / f"libx264.so.{build}"
            if path.exists():
                yield path


class X264:
    """The loaded library."""

    def __init__(self) -> None:
        found = []
        for path in _candidates():
            try:
                library = ctypes.CDLL(str(path))
            except OSError:
                continue
            for build in KNOWN_BUILDS:
                if hasattr(library, f"x264_encoder_open_{build}"):
                    self._bind(library, build)
                    self.build, self.path = build, path
                    self._check()
                    return
            found.append(path.name)
        known = " or ".join(str(build) for build in KNOWN_BUILDS)
        raise ProfileError(
            f"x264: no libx264 of build {known} found" + (f" (found {', '.join(found)})" if found else ""),
            hint="pip install 'legato-rtc[profile]' brings one inside PyAV",
        )

    def _bind(self, library: ctypes.CDLL, build: int) -> None:
        def function(name: str, *takes: type, gives: type | None = ctypes.c_int) -> Any:
            found = getattr(library, f"x264_{name}")
            found.argtypes, found.restype = takes, gives
            return found

        block, text, picture = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(_Picture)
        nals, count = ctypes.POINTER(ctypes.POINTER(_Nal)), ctypes.POINTER(ctypes.c_int)
        self._open = function(f"encoder_open_{build}", block, gives=block)
        self._preset = function("param_default_preset", block, text, text)
        self._parse = function("param_parse", block, text, text)
        self._profile = function("param_apply_profile", block, text)
        self._picture_init = function("picture_init", block)
        self._encode = function("encoder_encode", block, nals, count, picture, picture)
        self._reconfig = function("encoder_reconfig", block, block)
        self._close = function("encoder_close", block, gives=None)

    def _check(self) -> None:
        """The pinned offsets hold what the library itself writes there."""
        param = _Param(self, "superfast")
        param.set("threads", 3)
        seen = {name: param.int_at(offset) for name, offset in _OFFSET.items()}
        want = {"threads": 3, "width": 0, "height": 0, "colorspace": _I420, "bit_depth": 8}
        if seen != want:
            raise ProfileError(f"x264: {self.path.name} build {self.build} has another layout: {seen}, not {want}")


class _Param:
    """The encoder's parameters, set by name."""

    def __init__(self, library: X264, preset: str) -> None:
        self.library = library
        self.bytes = ctypes.create_string_buffer(_PARAM_BYTES)
        if library._preset(self.bytes, preset.encode(), b"zerolatency") < 0:
            raise ProfileError(f"x264: preset {preset} is unknown")

    def set(self, name: str, value: object) -> None:
        if self.library._parse(self.bytes, name.encode(), str(value).encode()) < 0:
            raise ProfileError(f"x264: parameter {name} = {value} refused")

    def int_at(self, offset: int) -> int:
        return ctypes.c_int.from_buffer(self.bytes, offset).value

    def set_int_at(self, offset: int, value: int) -> None:
        ctypes.c_int.from_buffer(self.bytes, offset).value = value


class Encoder:
    """One stream: superfast, zerolatency, one thread, no scene cuts, an endless group of pictures.

    Without `bitrate_bps` the stream is for forced QPs; adaptive quantisation stays on in every
    mode. `vbv_ms` sets the VBV to that much of the bitrate and moves it along.
    """

    def __init__(
        self,
        library: X264,
        width: int,
        height: int,
        fps: str,
        *,
        bitrate_bps: int = 800_000,
        vbv_ms: float | None = None,
        slice_bytes: int | None = None,
        preset: str = "superfast",
        options: dict[str, object] | None = None,
    ) -> None:
        self._library = library
        self.width, self.height, self.vbv_ms = width, height, vbv_ms
        self._folder = tempfile.TemporaryDirectory(prefix="legato-x264-")
        param = self._param = _Param(library, preset)
        param.set_int_at(_OFFSET["width"], width)
        param.set_int_at(_OFFSET["height"], height)
        settings: dict[str, object] = {
            "log": -1,
            "threads": 1,
            "fps": fps,
            "keyint": "infinite",
            "scenecut": 0,
            "annexb": 1,
            "repeat-headers": 1,
            "force-cfr": 1,
            # The statistics of a first pass report the mean QP to two digits; they change nothing else.
            "pass": 1,
            "stats": Path(self._folder.name) / "stats",
        }
        if slice_bytes is not None:
            settings["slice-max-size"] = slice_bytes
        settings |= options or {}
        for name, value in settings.items():
            param.set(name, value)
        self._set_bitrate(bitrate_bps)
        library._profile(param.bytes, b"high")
        self._handle = library._open(param.bytes)
        if not self._handle:
            raise ProfileError(f"x264: cannot open an encoder of {width}x{height} at {bitrate_bps} bit/s")
        self._chroma = np.full((height // 2, width // 2), 128, np.uint8)
        self._frames = 0

    def _set_bitrate(self, bitrate_bps: int) -> None:
        kbps = max(1, round(bitrate_bps / 1000))
        self._param.set("bitrate", kbps)
        if self.vbv_ms is not None:
            self._param.set("vbv-maxrate", kbps)
            self._param.set("vbv-bufsize", max(1, round(kbps * self.vbv_ms / 1000)))

    def set_bitrate(self, bitrate_bps: int) -> None:
        """A new target from the next frame on; the VBV moves along."""
        self._set_bitrate(bitrate_bps)
        if self._library._reconfig(self._handle, self._param.bytes) < 0:
            raise ProfileError(f"x264: cannot change the bitrate to {bitrate_bps} bit/s")

    def encode(
        self,
        luma: np.ndarray,
        chroma: tuple[np.ndarray, np.ndarray] | None = None,
        *,
        qp: int | None = None,
        keyframe: bool = False,
        want_nals: bool = False,
    ) -> Coded:
        """Code one picture of (height, width) uint8, its chroma at half size."""
        u, v = chroma if chroma is not None else (self._chroma, self._chroma)
        planes = [np.ascontiguousarray(plane) for plane in (luma, u, v)]
        picture, out = _Picture(), _Picture()
        self._library._picture_init(ctypes.byref(picture))
        picture.type = _TYPE_IDR if keyframe or self._frames == 0 else _TYPE_P
        picture.qp_plus1 = 0 if qp is None else qp + 1
        picture.pts = self._frames
        picture.colorspace, picture.planes = _I420, 3
        for index, plane in enumerate(planes):
            picture.plane[index], picture.stride[index] = plane.ctypes.data, plane.strides[0]
        nals, count = ctypes.POINTER(_Nal)(), ctypes.c_int()
        size = self._library._encode(
            self._handle, ctypes.byref(nals), ctypes.byref(count), ctypes.byref(picture), ctypes.byref(out)
        )
        if size <= 0:
            raise ProfileError(f"x264: frame {self._frames} was not coded")
        self._frames += 1
        stride = out.stride[0]
        raw = (ctypes.c_uint8 * (stride * self.height)).from_address(out.plane[0])
        shown = np.frombuffer(raw, np.uint8).reshape(self.height, stride)[:, : self.width].copy()
        units = [nals[i] for i in range(count.value)]
        return Coded(
            size_bytes=size,
            keyframe=bool(out.keyframe),
            qp=out.qp_plus1 - 1,
            luma=shown,
            nals=[ctypes.string_at(nal.payload, nal.payload_bytes) for nal in units] if want_nals else [],
            slices=[nal.type in _NAL_SLICES for nal in units] if want_nals else [],
        )

    def close(self) -> list[float]:
        """End the stream; the rate control's mean QP of every frame, adaptive quantisation not included."""
        if not self._handle:
            return []
        self._library._close(self._handle)
        self._handle = None
        stats = Path(self._folder.name) / "stats"
        if not stats.exists():
            stats = Path(self._folder.name) / "stats.temp"
        rows = [
            dict(f.split(":", 1) for f in line.rstrip(";\n").split() if ":" in f)
            for line in stats.open()
            if line.startswith("in:")
        ]
        self._folder.cleanup()
        return [float(row["q"]) for row in rows]

    def __enter__(self) -> Encoder:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle:
            self.close()
