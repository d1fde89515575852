"""The rows of [vtfrc]'s Tables II and III, and of the statements in its text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from legato.results.stats import Estimate
from legato_studies.papers.reproduction import AS_PRINTED, Row, pairs
from legato_studies.papers.verdict import AtMost, Claim, Lead, Value
from legato_studies.papers.vtfrc.calls import CONTROLLERS, Call, clips_of, mean

F_WITHIN = 0.1
"""How far F may be from the printed one."""
F_FACTOR = 2.0
"""[vtfrc] §III-B, of RFC 3448: reasonably fair is within a factor of two of TCP's rate."""
PSNR_WITHIN_DB = 0.5
"""How far a difference of PSNR that is to come out again may be from the printed one."""
COMPARABLE = 1.1
"""[vtfrc] §III-C calls loss at both ends comparable: here, at most a tenth more than the rival's."""
OWN_CLIP = "the paper did not use this clip"
NO_FIGURE = "the paper prints no figure of it"

# Table II and III of [vtfrc], by sequence: F, sender-end gain, receiver-end gain, sender's minus receiver's PSNR (dB).
PUBLISHED: dict[str, dict[str, float]] = {
    "Container": {
        "vtfrc": 0.92, "jm-tfrc": 0.80, "sender": 0.52, "receiver": 1.12, "lost vtfrc": 2.12, "lost jm-tfrc": 2.72,
    },
    "Foreman": {
        "vtfrc": 1.07, "jm-tfrc": 0.97, "sender": 0.58, "receiver": 1.35, "lost vtfrc": 2.56, "lost jm-tfrc": 3.34,
    },
    "Grandma": {
        "vtfrc": 0.78, "jm-tfrc": 0.57, "sender": 0.98, "receiver": 0.35, "lost vtfrc": 1.92, "lost jm-tfrc": 1.29,
    },
    "Mother-Daughter": {
        "vtfrc": 1.02, "jm-tfrc": 0.80, "sender": 1.15, "receiver": 1.20, "lost vtfrc": 1.6, "lost jm-tfrc": 1.65,
    },
    "Salesman": {
        "vtfrc": 1.02, "jm-tfrc": 0.93, "sender": 0.72, "receiver": 2.34, "lost vtfrc": 4.09, "lost jm-tfrc": 5.72,
    },
}  # fmt: skip
COUNTERPART = {"qcif-foreman": "Foreman"}
"""Our clips that the paper used too."""

Pairs = Sequence[tuple[Call, Call]]
"""Calls of Video TFRC, each with its rival's."""
Figure = Callable[[Call], float]


def judge(calls: Sequence[Call], setup: str | None = None) -> list[Row]:
    """Every row, of calls in one of the set-ups."""
    received: Figure = (lambda c: c.shown_psnr_db) if setup == AS_PRINTED else (lambda c: c.viewed_psnr_db)
    both = pairs(calls, *CONTROLLERS, lambda call: (call.clip, call.seed))
    rows = [*_friendliness(calls), *_aggressiveness(both), *_gains(both, received), *_congestion(both, received)]
    if setup == AS_PRINTED:
        rows += _deliveries(both)
    return [replace(row, setup=setup) for row in rows]


def printed_mean(column: str) -> float:
    """The mean of a column of the printed tables, over the sequences."""
    return float(np.mean([sequence[column] for sequence in PUBLISHED.values()]))


def _friendliness(calls: Sequence[Call]) -> list[Row]:
    """Table II."""
    rows = []
    for controller in CONTROLLERS:
        own = [(call.clip, call.friendliness) for call in calls if call.controller == controller]
        for clip in clips_of(calls):
            name, ours = f"F of {controller}, {clip}", _of_clip(own, clip)
            if clip in COUNTERPART:
                printed = PUBLISHED[COUNTERPART[clip]][controller]
                rows.append(Row.judged("II", name, printed, ours, Value(printed, F_WITHIN)))
            else:
                rows.append(Row.of("II", name, None, ours, "not comparable", OWN_CLIP))
        printed = printed_mean(controller)
        rows.append(Row.judged("II", f"F of {controller}, mean", printed, mean(own), Value(printed, F_WITHIN)))
    return rows


def _aggressiveness(both: Pairs) -> list[Row]:
    """What §III-B says of Table II: all of Video TFRC's F are larger, and each is within a factor of two of 1."""
    larger = [(v.clip, v.friendliness - p.friendliness) for v, p in both]
    factors = [(v.clip, max(v.friendliness, 1.0 / v.friendliness)) for v, _ in both]
    closer = [(v.clip, abs(p.friendliness - 1.0) - abs(v.friendliness - 1.0)) for v, p in both]
    clips = clips_of([video for video, _ in both])
    rows = []
    for clip in clips:
        name, printed = f"F of vtfrc minus F of jm-tfrc, {clip}", None
        if clip in COUNTERPART:
            sequence = PUBLISHED[COUNTERPART[clip]]
            printed = sequence[CONTROLLERS[0]] - sequence[CONTROLLERS[1]]
        shown = "larger" if printed is None else printed
        rows.append(Row.judged("II words", name, shown, _of_clip(larger, clip), Lead(printed)))
    printed = printed_mean(CONTROLLERS[0]) - printed_mean(CONTROLLERS[1])
    rows.append(Row.judged("II words", "F of vtfrc minus F of jm-tfrc, mean", printed, mean(larger), Lead(printed)))
    for clip in clips:
        name = f"factor between the rates of vtfrc and TCP, {clip}"
        rows.append(Row.judged("II words", name, "at most 2", _of_clip(factors, clip), AtMost(F_FACTOR)))
    name = "factor between the rates of vtfrc and TCP, mean"
    rows.append(Row.judged("II words", name, "at most 2", mean(factors), AtMost(F_FACTOR)))
    nearer = float(np.mean([abs(s["jm-tfrc"] - 1) - abs(s["vtfrc"] - 1) for s in PUBLISHED.values()]))
    rows.append(Row.judged("II words", "F closer to 1 than jm-tfrc's by", nearer, mean(closer), Lead(nearer)))
    return rows


def _gains(both: Pairs, received: Figure) -> list[Row]:
    """Table III, its first two parts."""
    rows = []
    ends: list[tuple[str, Figure]] = [("sender", lambda c: c.coded_psnr_db), ("receiver", received)]
    for end, figure in ends:
        gains = [(video.clip, figure(video) - figure(plain)) for video, plain in both]
        for clip in clips_of([video for video, _ in both]):
            name, ours = f"{end}-end gain, {clip} (dB)", _of_clip(gains, clip)
            if clip in COUNTERPART:
                printed = PUBLISHED[COUNTERPART[clip]][end]
                rows.append(Row.judged("III", name, printed, ours, Lead(printed)))
            else:
                rows.append(Row.of("III", name, None, ours, "not comparable", OWN_CLIP))
        printed = printed_mean(end)
        rows.append(Row.judged("III", f"{end}-end gain, mean (dB)", printed, mean(gains), Lead(printed)))
    return rows


def _congestion(both: Pairs, received: Figure) -> list[Row]:
    """Table III, its last part, and the abstract: Video TFRC does not contribute much to the network's congestion."""
    rows = []
    of_sides = [(CONTROLLERS[0], [video for video, _ in both]), (CONTROLLERS[1], [plain for _, plain in both])]
    for controller, calls in of_sides:
        lost = mean([(call.clip, call.coded_psnr_db - received(call)) for call in calls])
        name, printed = f"sender's minus receiver's PSNR, {controller} (dB)", printed_mean(f"lost {controller}")
        rows.append(Row.judged("congestion", name, printed, lost, Value(printed, PSNR_WITHIN_DB)))
    more = mean(
        [(v.clip, (v.coded_psnr_db - received(v)) - (p.coded_psnr_db - received(p))) for v, p in both],
    )
    printed = printed_mean("lost vtfrc") - printed_mean("lost jm-tfrc")
    claim = Lead(printed, more_is_better=False)
    rows.append(
        Row.judged("congestion", "sender's minus receiver's PSNR, vtfrc minus jm-tfrc (dB)", printed, more, claim)
    )
    for name, unit, figure, scale in _LOADS:
        for controller, calls in of_sides:
            ours = mean([(call.clip, scale * figure(call)) for call in calls])
            rows.append(Row.of("congestion", f"{name}, {controller} ({unit})", None, ours, "not comparable", NO_FIGURE))
        ratio = mean([(v.clip, figure(v) / figure(p)) for v, p in both if figure(p) > 0])
        comparable: Claim = AtMost(COMPARABLE)
        rows.append(Row.judged("congestion", f"{name}, vtfrc's over jm-tfrc's", "comparable", ratio, comparable))
    return rows


_LOADS: tuple[tuple[str, str, Figure, float], ...] = (
    ("video packets lost", "%", lambda c: c.loss_ratio, 100.0),
    ("TCP packets lost", "%", lambda c: c.tcp_loss_ratio, 100.0),
    ("queue length of the bottleneck", "ms", lambda c: c.queue_ms, 1.0),
)


def _deliveries(both: Pairs) -> list[Row]:
    """By equation (8) as printed more is coded than sent: how much of it the receiver had when the call ended."""
    rows = []
    for controller, calls in zip(CONTROLLERS, zip(*both, strict=True), strict=True):
        ours = mean([(call.clip, 100.0 * call.arrived_ratio) for call in calls])
        name = f"frames received by the end of the call, {controller} (%)"
        rows.append(Row.of("delivered", name, None, ours, "not comparable", NO_FIGURE))
    printed = printed_mean("receiver")
    gain = mean([(v.clip, v.shared_psnr_db - p.shared_psnr_db) for v, p in both])
    name = "receiver-end gain over the frames that both received, mean (dB)"
    rows.append(Row.judged("delivered", name, printed, gain, Lead(printed)))
    return rows


def _of_clip(values: Sequence[tuple[str, float]], clip: str) -> Estimate:
    return mean([value for value in values if value[0] == clip])
