"""Types of the native module. A test compares this file with the module."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, final

import numpy as np
import numpy.typing as npt

def version() -> str:
    """The version of the crates, "0.1.0"."""

def controllers() -> list[dict[str, Any]]:
    """Every controller, sorted by name: `name`, `side`, `learned`, `for_study`, `summary`, `cites`, `defaults_toml`."""

def controller_parameters(name: str, config_toml: str = "") -> list[dict[str, Any]]:
    """The parameters of a controller: `key` (dotted), `value_toml` with `config_toml` given, `default_toml` (either is
    None if the parameter is absent), `unit` (empty for text and switches), `range` (accepted values, None if it is not
    a number), `meaning`.
    """

def load_trace(path: str, format: str | None = None) -> Trace:
    """The trace in a file; where it holds several, `path#part` or else the longest."""

def load_traces(path: str, format: str | None = None) -> list[Trace]:
    """All traces of a file, one or more."""

@final
class Trace:
    """The recorded capacity of a link."""

    @property
    def name(self) -> str:
        """Name of the file without folders and `.gz`, with `#part` where the file holds several."""
    @property
    def family(self) -> str:
        """The data set it belongs to, or else its format."""
    @property
    def format(self) -> str:
        """Format of the file."""
    @property
    def duration_s(self) -> float:
        """Duration in seconds."""
    @property
    def mean_rate_bps(self) -> int:
        """Mean rate in bit/s."""
    def rates(self, interval_s: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Times in s and mean rates in bit/s, each over the `interval_s` that start at its time."""
    def propagation_ms(self, interval_s: float) -> npt.NDArray[np.float64] | None:
        """Mean one-way propagation delays (half of a round-trip time) at the times of `rates`, if it records them."""
    def loss_ratio(self, interval_s: float) -> npt.NDArray[np.float64] | None:
        """Mean random loss, 0 to 1, at the times of `rates`, if it records it."""
    def cross_traffic_bps(self, interval_s: float) -> npt.NDArray[np.float64] | None:
        """Mean rates of cross traffic at the times of `rates`, if it records it."""
    @property
    def queue_bytes(self) -> int | None:
        """The bottleneck's buffer, where it was fitted."""
    @property
    def minimum(self) -> tuple[int, float] | None:
        """Minimum rate in bit/s and the share of the time at it; absent for delivery opportunities."""
    def save(self, path: str | PathLike[str]) -> None:
        """Write it as CSV, `time_s,rate_bps` and, where it records them, `rtt_ms` and `loss_ratio`."""

def profile_heights(path: str) -> list[int]:
    """The picture heights that a clip's profile holds, in rows. Refuses anything but a profile."""

def resolve_scenario(text: str, path: str) -> str:
    """A scenario as TOML with every default written out. `path` is the file of `text`, for messages."""

@final
class Policy:
    """A trained policy, evaluated by the same code as in calls: one observation at a time."""

    def __new__(cls, toml: str, weights: bytes, file: str = "policy.toml") -> Policy: ...
    def act(self, observation: npt.NDArray[np.float32]) -> float:
        """The action for an observation of float32, NaN where the outputs are not finite."""
    def outputs(self, observation: npt.NDArray[np.float32]) -> list[float]:
        """The outputs of the last layer for an observation of float32; a recurrent network advances one step."""
    def reset(self) -> None:
        """Clear the memory of a recurrent network, for a new call."""
    @property
    def inputs(self) -> int:
        """Values per observation."""
    @property
    def parameters(self) -> int:
        """Number of weights of all layers."""

@final
class Sweep:
    """Makes the calls of a plan and writes their run folder, on its own threads."""

    def __new__(cls, plan_json: str, out_dir: str | PathLike[str], threads: int) -> Sweep: ...
    @property
    def total_calls(self) -> int:
        """Number of calls of the plan."""
    @property
    def finished(self) -> bool:
        """Whether it has ended: complete, failed or cancelled, which `join` reports."""
    def start(self) -> None:
        """Start in the background."""
    def progress(self) -> tuple[int, float]:
        """Calls made, including those of an earlier, interrupted sweep, and seconds simulated by this one."""
    def cancel(self) -> None:
        """Stop after the calls in progress; complete files are kept."""
    def join(self) -> bool:
        """Wait for the end; returns whether every call was made. Raises the error of a call that failed."""

def code_alone(
    text: str, path: str | PathLike[str], targets_bps: Sequence[int], seed: int = 1
) -> list[tuple[float, int, bool, int]]:
    """What a scenario's source makes of a target for each frame, without a call: capture in s, size in bytes, whether
    it is a key frame, rows."""

def picture_quality(
    reference: bytes, coded: bytes, width: int, height: int, threads: int = 1
) -> list[tuple[float, float]]:
    """Mean SSIM (gaussian, luma) and luma PSNR in dB of each picture of `coded` against `reference`."""

def profile_mean_size(path: str, encoder: str, height: int, qp: float) -> float:
    """Mean coded size in bytes of a clip's predicted frames at a quantiser, from its profile."""

@final
class OpenH264Stream:
    """One OpenH264 stream of planar 4:2:0 pictures, coded and decoded."""

    def __new__(
        cls, width: int, height: int, fps: float, *, qp: int | None = None, bitrate_bps: int | None = None
    ) -> OpenH264Stream: ...
    def encode(self, picture: bytes, keyframe: bool = False) -> tuple[bytes, bool, int, bytes]:
        """Encode one picture; returns coded bytes, whether it is a key frame, mean QP, decoded luma."""
    def set_bitrate(self, bitrate_bps: int) -> None:
        """Set the target, which holds from the next frame on."""

@final
class HybridEncoder:
    """An encoder of the hybrid codec (docs/concepts/hybrid-codec.md)."""

    def __new__(cls, width: int, height: int, *, min_packets: int = 4, motion_copies: int = 1) -> HybridEncoder: ...
    def encode(
        self,
        picture: bytes,
        *,
        budget_bytes: int | None = None,
        quantiser: int | None = None,
        keyframe: bool = False,
    ) -> tuple[int, list[bytes], int, bool]:
        """Encode one picture; returns its number, its packets, the quantiser, whether it is a key frame."""
    def acknowledge(self, frame: int, received: Sequence[int], count: int) -> None:
        """The receiver reports which of a frame's `count` packets came."""
    def copy(self) -> HybridEncoder:
        """The same stream once more: each goes its own way from here."""
    def configure(
        self,
        min_packets: int,
        *,
        motion_copies: int = 0,
        max_packet_bytes: int = 1_159,
        from_reported: bool = False,
    ) -> None:
        """How the next frames are coded; `from_reported`: predicted from the last frame that was reported."""
    def shown(self) -> bytes | None:
        """Luma of the receiver's picture if no more is lost than was reported."""

@final
class HybridResilience:
    """How many copies of motion calls add, from reports on frames."""

    def __new__(cls, width: int, height: int) -> HybridResilience: ...
    def take(self, named: int, came: int) -> None:
        """Feedback on a frame: how many of its packets it named, and how many of these came."""
    def motion_copies(self, frame_bytes: int) -> int:
        """Copies for the next frame, if it has about so many bytes."""

@final
class HybridDecoder:
    """A decoder of the hybrid codec: any packets of a frame give a picture."""

    def __new__(cls) -> HybridDecoder: ...
    def decode(self, packets: Sequence[bytes]) -> tuple[int, list[int], int]:
        """Decodes the packets of one frame that arrived; returns its number, the packets used and how many it has."""
    def miss(self) -> None:
        """Nothing of a frame arrived: the picture before goes on with half of its motion, thrice at most in a row."""
    def copy(self) -> HybridDecoder:
        """The same decoder once more: each goes its own way from here."""
    def luma(self) -> bytes | None:
        """Luma of the latest picture."""
    def shown(self) -> tuple[int, bytes, bytes] | None:
        """Distance of the frame predicted from, (origin, coded, quantiser) and motion of the picture's macroblocks."""

def hybrid_cut(share_bytes: int) -> tuple[int, int]:
    """Packets of a frame of the hybrid codec, and bytes in them all, for a share of the bitrate without headers."""

@final
class HybridModel:
    """The model of the hybrid codec on a profile, both ends, without a call."""

    def __new__(cls, path: str, height: int, *, offset: int = 0, later_ratio: float | None = None) -> HybridModel: ...
    def encode(self, bitrate_bps: int) -> tuple[int, int, float, float | None]:
        """Encode the next frame; returns size in bytes, packets, level, SSIM in dB as shown if nothing is lost."""
    def decode(self, frame: int, received: int) -> float | None:
        """Decode so many packets of a frame; returns SSIM in dB."""
    def report(self, frame: int, received: int) -> None:
        """The receiver reports how many packets of a frame came."""

@final
class LiveEncoder:
    """An encoder as real calls have it, alone: pictures at even intervals, a target with each."""

    def __new__(cls, codec: str, width: int, height: int, fps: float, bitrate_bps: int) -> LiveEncoder: ...
    def encode(self, picture: bytes, bitrate_bps: int, keyframe: bool = False) -> tuple[int, bool, int, float | None]:
        """Encode one picture; returns size in bytes, whether it is a key frame, QP in the codec's own steps, PSNR."""

@final
class ResilientH264:
    """OpenH264 with slices and references that the receiver acknowledges."""

    def __new__(
        cls, width: int, height: int, fps: float, bitrate_bps: int, *, slices: int, long_term: bool
    ) -> ResilientH264: ...
    def encode(self, picture: bytes, keyframe: bool = False) -> tuple[list[tuple[bytes, bool]], bool, bool]:
        """Encode one picture; returns its NAL units and whether each is a slice, whether it is a key frame, whether
        it is predicted from an acknowledged frame."""
    def report(self, number: int, whole: bool) -> None:
        """The receiver reports that all of frame `number` came, or not."""

@final
class ResilientVpx:
    """VP8 or VP9 with references that the receiver acknowledges. Refused where the build has no libvpx."""

    def __new__(cls, codec: str, width: int, height: int, fps: float, bitrate_bps: int) -> ResilientVpx: ...
    def encode(self, picture: bytes, keyframe: bool = False) -> tuple[bytes, bool, bool]:
        """Encode one picture; returns the frame, whether it is a key frame, whether it is predicted from acknowledged
        frames."""
    def report(self, number: int, whole: bool) -> None:
        """The receiver reports that all of frame `number` came, or not."""

@final
class EncoderModel:
    """The model of an encoder on a profile, without a call."""

    def __new__(cls, path: str, encoder: str, height: int, *, vbv_ms: int = 1_000, offset: int = 0) -> EncoderModel: ...
    def encode(self, bitrate_bps: int, keyframe: bool = False) -> tuple[int, float, float | None, float | None]:
        """Encode the next frame; returns size in bytes, QP, SSIM in dB as shown, PSNR in dB at the coded size."""

@final
class Spaces:
    """The observations and actions of a steered controller."""

    @property
    def features(self) -> list[str]:
        """Names of the features of one interval."""
    @property
    def feature_width(self) -> int:
        """Values per feature."""
    @property
    def history(self) -> int:
        """Intervals per observation, the oldest first."""
    @property
    def width(self) -> int:
        """Values per observation."""
    @property
    def action_range(self) -> tuple[float, float] | None:
        """`(low, high)` of a continuous action, `None` for a discrete one."""
    @property
    def choices(self) -> int | None:
        """Number of discrete actions, `None` for a continuous one."""

@final
class CallBatch:
    """Calls side by side, each stopped before its learned controller's next decision."""

    def __new__(cls, plan_json: str, num_envs: int, seed: int, threads: int) -> CallBatch: ...
    @staticmethod
    def columns() -> list[str]:
        """Names of the columns of an interval's row."""
    @property
    def spaces(self) -> Spaces:
        """The observations of its controller and its action range."""
    def reset(self, seed: int, observations: npt.NDArray[np.float32], staggered: bool = False) -> None:
        """Restart all calls and write their observations; `staggered` truncates the first ones at random ages."""
    def step(
        self,
        actions: npt.NDArray[np.float32],
        observations: npt.NDArray[np.float32],
        last_observations: npt.NDArray[np.float32],
        rows: npt.NDArray[np.float32],
        truncated: npt.NDArray[np.bool_],
    ) -> None:
        """Apply each action and run to the next decision; every array is written."""

@final
class SharedCalls:
    """The calls of one session, all stopped before their next decision, which they take at the same time."""

    def __new__(cls, plan_json: str, seed: int) -> SharedCalls: ...
    @property
    def names(self) -> list[str]:
        """Names of the steered calls, in order."""
    @property
    def spaces(self) -> Spaces:
        """What their controllers observe and how they may act."""
    def reset(self, seed: int, observations: npt.NDArray[np.float32], acting: npt.NDArray[np.bool_]) -> None:
        """Restart; writes which agents act and their observations."""
    def step(
        self,
        actions: npt.NDArray[np.float32],
        observations: npt.NDArray[np.float32],
        rows: npt.NDArray[np.float32],
        truncated: npt.NDArray[np.bool_],
        acting: npt.NDArray[np.bool_],
    ) -> None:
        """Apply the actions of acting agents and run to the next decision.

        Writes the rows and `truncated` of the agents that acted, which agents act next, and the observations of both.
        """

def open_call_folder(plan_json: str, out_dir: str | PathLike[str]) -> int:
    """Open the run folder of a plan's real calls; how many sessions there are."""

@final
class LiveExchange:
    """Finished intervals of one real call out, weights in; neither waits for the other."""

    def __new__(cls, toml: str, weights: bytes, std: float, file: str = "policy.toml") -> LiveExchange: ...
    def give(self, version: int, weights: bytes, std: float) -> None:
        """Let the call decide with these weights from its next decision on."""
    def take(
        self,
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.uint64], npt.NDArray[np.float32]]:
        """The intervals finished since the last time: observations, the actions at their ends, the versions of the
        weights that drew these, the intervals before them as rows of figures."""

class _Session(Protocol):
    """The fields read of a `legato.call.ends.Session`."""

    @property
    def near(self) -> str: ...
    @property
    def far(self) -> str: ...
    @property
    def direction(self) -> str: ...

class _Pictures(Protocol):
    """The fields read of a `legato.call.Pictures`."""

    @property
    def clip(self) -> Path | None: ...
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    @property
    def fps(self) -> int: ...
    @property
    def codec(self) -> str: ...
    @property
    def parity(self) -> str: ...
    @property
    def recovery(self) -> str: ...

class _Others(Protocol):
    """The fields read of a `legato.call.ends.Others`."""

    @property
    def controller(self) -> str: ...
    @property
    def clip(self) -> str: ...
    @property
    def encoder(self) -> str: ...
    @property
    def width(self) -> int: ...

@final
class RealCall:
    """One session of real calls: media in one direction or two, between Legato's ends and ends that Python brings."""

    def __new__(
        cls,
        plan_json: str,
        number: int,
        out_dir: str | PathLike[str],
        session: _Session | None = None,
        *,
        pictures: _Pictures | None = None,
        others: _Others | None = None,
        tuns: TunPair | None = None,
        ffmpeg: str | PathLike[str] | None = None,
        learning: LiveExchange | None = None,
    ) -> RealCall:
        """Set up session `number` of a plan, by default between our end, which sends, and a browser. Directions between
        two Legato ends connect at once. `learning`: sets the actions of our sending end's controller.
        """
    @property
    def duration_s(self) -> float:
        """How long media flow."""
    @property
    def labels(self) -> list[dict[str, Any]]:
        """What names each way in tables: `call`, `controller`, `trace`, `clip`, `encoder`, `seed`."""
    @property
    def limits_bps(self) -> list[tuple[int, int, int]]:
        """Minimum, first and maximum target of each way in the scenario."""
    def offer(self, way: int = 0, theirs: str | None = None) -> str:
        """The offer of a way, as its receiving end is to see it; `theirs`: the sending end's, unless that is ours."""
    def answer(self, way: int = 0, theirs: str | None = None) -> str:
        """The answer, as the sending end is to see it; `theirs`: the receiving end's, unless that is ours."""
    def aims_at(self, way: int, target_bps: int) -> None:
        """What the rate control of another's end, which sends on a way, aims at from now on."""
    def now_ms(self) -> float:
        """The session's time in ms; before media began, since it was set up."""
    def progress(self) -> dict[str, Any]:
        """How far the first way is, `over` where any is: `reached` (the connection is up), `connected` (media flow),
        `over`, `time_s`, `target_bps`, `sent_bytes`, `arrived_bytes`, `shown_frames`."""
    def stop(self) -> None:
        """End it before its time."""
    def finish(
        self, shown_ms: list[list[tuple[int, float | None, float]]] = ...
    ) -> list[tuple[dict[str, Any], list[_Seen]]]:
        """Waits for the end and writes the session's part of the folder. Returns how the machine did on each direction,
        and each picture that a Legato end received.

        `shown_ms`: the frames of each way as another's receiving end reports them: RTP time, when the last packet came
        and when it was shown, in ms of the call's time.
        """

_Seen = tuple[int, float, float | None, float, float | None, int | None, int | None, int | None]
"""RTP time; when the picture was whole, was shown and was to be shown, in ms of the call's time; ms to decode it,
columns, rows, and the number in it."""

@final
class TunPair:
    """Two network namespaces whose only way to each other is the link that is put between them."""

    def __new__(cls) -> TunPair: ...
    @property
    def hosts(self) -> list[tuple[int, str]]:
        """Of the near one and the far one: the number of the open file that stands for it, and its address."""
    def close(self) -> None:
        """Let them go. They last as long as a process is in them, or a link between them."""

class CallCodec:
    """A codec of real calls, in this build."""

    @property
    def why_not(self) -> str | None:
        """Why this build cannot code it; `None` where it can."""
    @property
    def remedy(self) -> str | None:
        """How to build Legato so that it can; `None` where every build can."""
    @property
    def ours_alone(self) -> bool:
        """No one but Legato knows it."""
    @property
    def recoveries(self) -> list[str]:
        """How it recovers from losses: by itself the first."""

def codecs() -> dict[str, CallCodec]:
    """The codecs of real calls, by name."""

def vmaf(ffmpeg: str | PathLike[str], width: int, height: int, pairs: list[tuple[bytes, bytes]]) -> list[float]:
    """VMAF, 0 to 100, of the luma of pictures against references, by the ffmpeg at this path."""

def write_scene(path: str | PathLike[str], width: int, height: int, fps: int, frames: int | None = None) -> None:
    """Write the generated scene as a Y4M file: until it comes again, or its first pictures."""
