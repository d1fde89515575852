"""[nvc-cc] Fig. 1 with codecs that exist: the quality of the picture as more packets are lost.

The hybrid codec, and x264 with the two things that the paper holds against a loss-tolerant codec: Reed-Solomon parity
of a fifth of the bitrate, and concealment of missing parts. Each codec is as it was measured
(docs/measured/codec-truth.md), at one bitrate over a link that only loses; packets are lost independently, and none is
sent again. Quality is as
viewed: a frame that cannot be decoded leaves the one before on display.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from legato.plan import Choice
from legato.results.stats import Estimate
from legato_studies.papers.nvc_cc.sessions import Sessions
from legato_studies.papers.nvc_cc.sweeps import Size, Sweep, one_link
from legato_studies.papers.reproduction import Row
from legato_studies.papers.verdict import Lead, judged

TABLE = "Hybrid, Fig. 1"
TABLES = {TABLE: "The hybrid codec: quality over the share of packets lost"}
LOSSES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8)
BITRATE_BPS = 1_000_000
PARITY_RATIO = 0.2
QUALITY = "viewed_ssim_db_mean"
CONTENTS = ("asl-sister", "bunny", "foreman")
"""No training and no constant of the hybrid codec's model has seen them."""
X264: Mapping[str, Any] = {
    "video.encoder": "x264",
    "video.vbv_ms": 100,
    "video.max_height": 360,
    "receiver.nack": False,
}
CODECS: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "the hybrid codec": ("-hybrid", "", {}),
    "concealment": ("", "", {**X264, "video.decoder": "sliced"}),
    "parity": ("", f",parity_ratio={PARITY_RATIO}", {**X264, "video.decoder": "strict"}),
}
"""By name: the ending of its profiles' names, the controller's options, and the changes to the scenario."""
OURS, *RIVALS = CODECS


def setting_of(codec: str, loss_ratio: float) -> str:
    """The setting of a codec's calls at this loss."""
    return f"hybrid-fig-1, {codec}, {loss_ratio:.0%}"


def sweeps(size: Size) -> Iterator[Sweep]:
    """A sweep for each codec and loss."""
    contents = CONTENTS if len(size.clips) > 1 else CONTENTS[:1]
    for codec, (ending, added, changed) in CODECS.items():
        for loss_ratio in LOSSES:
            options = {**one_link(8_000_000, 25.0, 300_000, loss_ratio), **changed}
            if size.duration_s is not None:
                options["duration_s"] = size.duration_s
            made = Choice(
                "nvc_cc_hybrid",
                options=options,
                controllers=[f"fixed@target_bitrate_bps={BITRATE_BPS}{added},label=fixed"],
                clips=[f"{content}{ending}" for content in contents],
                seeds=list(range(1, min(size.networks, 10) + 1)),
                log="summary",
            ).plan()
            name = setting_of(codec, loss_ratio)
            folder = name.replace(", ", "-").replace(" ", "-").replace("%", "")
            yield Sweep(name, folder, made)


def judge(sessions: Sessions) -> list[Row]:
    """What each codec loses, and what the others lose beyond it."""
    if not all(sessions.controllers(setting_of(codec, loss_ratio)) for codec in CODECS for loss_ratio in LOSSES):
        return []
    found = {codec: [_mean(sessions, codec, loss_ratio) for loss_ratio in LOSSES] for codec in CODECS}
    rows = []
    for codec, (clean, *lossy) in found.items():
        for loss_ratio, quality in zip(LOSSES[1:], lossy, strict=True):
            lost = _difference(clean, quality)
            name = f"SSIM lost with {loss_ratio:.0%} of the packets, {codec}"
            why = "the paper's figure is of another codec"
            rows.append(Row.of(TABLE, name, None, lost, "no claim", why, unit="dB"))
    for rival in RIVALS:
        for place, loss_ratio in enumerate(LOSSES[1:], 1):
            lost, ours = (_difference(found[codec][0], found[codec][place]) for codec in (rival, OURS))
            name = f"the same by {rival}, beyond the hybrid codec's, {loss_ratio:.0%}"
            more = _difference(lost.mean, ours.mean)
            silent = sessions.without(setting_of(rival, loss_ratio), "fixed", QUALITY)
            calls = sessions.count(setting_of(rival, loss_ratio))
            shown = (
                judged(Lead(), more) if not silent else ("not comparable", f"{silent} of {calls} calls show nothing")
            )
            rows.append(Row.of(TABLE, name, "above 0", more, *shown, unit="dB"))
    return rows


def _difference(more: float | None, less: float | None) -> Estimate:
    """Of one link, so without an interval; empty where either is missing."""
    known = None if more is None or less is None else more - less
    return Estimate(known, None, None, 0 if known is None else 1)


def _mean(sessions: Sessions, codec: str, loss_ratio: float) -> float | None:
    """None where a call shows nothing at all: the other calls would be the lucky ones."""
    setting = setting_of(codec, loss_ratio)
    silent = sessions.without(setting, "fixed", QUALITY)
    return None if silent else sessions.mean(setting, "fixed", QUALITY).mean
