"""The two set-ups in which Concerto's claims are judged; docs/papers/concerto.md has the source of each choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from legato.links import Part, access_networks
from legato_studies.papers.reproduction import AS_PRINTED, STRICTER

WEBRTC, SALSIFY, BEST_OF_TWO = "webrtc", "salsify as described", "salsify"
RL_V, CONCERTO, ORACLE, CLAIRVOYANT = "rl-v", "concerto", "oracle", "clairvoyant"
OTHER = "concerto of the other links"
"""The policy that was trained on the other set-up's links."""
AS_RECORDED_POLICY, BY_SECOND_POLICY = "concerto", "concerto-by-second"
SMOOTH_ENCODER_MS = 1000
"""The VBV of WebRTC's encoder: it follows its target in about a second, as the paper measures."""
PROMPT_ENCODER_MS = 66
"""That of the paper's Salsify, whose codec obeys each new estimate: two frames."""


@dataclass(frozen=True)
class OnNetwork:
    """What is measured of a scheme on one network."""

    scheme: str
    network: str
    """Of the trace, with the window's beginning."""

    @property
    def condition(self) -> str:
        """What calls of all schemes have in common."""
        return self.network

    @property
    def recording(self) -> str:
        """What intervals are over."""
        return self.network.split("@")[0]


@dataclass(frozen=True)
class Setup:
    """The runs, and their judged figures."""

    name: str
    scenario: str
    gcc: str
    """The controller that stands for the paper's WebRTC, and for the transport of its Salsify."""
    policy: str
    """Concerto's: trained on links of this kind."""
    rl_v_policy: str
    """RL-V's, likewise."""
    by_second: bool
    """Traces are the means of each second."""
    duration_s: float
    qoe: tuple[str, str]
    """QoE_p and QoE_d: columns of the summary."""
    delay: str
    """The frame delay of Fig. 21: a column."""

    def windows(self, access: str, part: Part, folder: Path) -> list[str]:
        """The networks of a kind of access; ``folder`` is where traces by the second are written."""
        if self.by_second:
            return access_networks.windows_by_second(access, part, folder, self.duration_s)
        return list(access_networks.windows(access, part, self.duration_s))

    def one_each(self, access: str, parts: Sequence[Part], folder: Path, most: int | None = None) -> list[str]:
        """The first window of every recording of a kind of access, or of so many."""
        first: dict[str, str] = {}
        for spec in (spec for part in parts for spec in self.windows(access, part, folder)):
            first.setdefault(spec.split("@")[0], spec)
        return list(first.values())[:most]

    def encoder(self, prompt: bool) -> dict[str, Any]:
        """Changes of the scenario that make its encoder."""
        if prompt:
            return {"video.vbv_ms": PROMPT_ENCODER_MS, "sender.encoder_interval_ms": 0}
        return {"video.vbv_ms": SMOOTH_ENCODER_MS}


PRINTED = Setup(
    AS_PRINTED,
    "mobile_by_second",
    "gcc-receiver",
    BY_SECOND_POLICY,
    "rl-v-by-second",
    True,
    access_networks.LONG_WINDOW_S,
    ("qoe_p", "qoe_d"),
    "frame_delay_ms",
)
STRICT = Setup(
    STRICTER,
    "mobile",
    "gcc",
    AS_RECORDED_POLICY,
    "rl-v",
    False,
    60.0,
    ("viewed_qoe_p", "viewed_qoe_d"),
    "viewed_delay_ms",
)
SETUPS = (PRINTED, STRICT)
QUICK_S = 30.0
"""The length of calls for a first look."""
