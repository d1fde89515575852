"""The two set-ups of CLCC's claims, and their runs (docs/papers/clcc.md names the source of each choice).

- *as printed*: a policy trained on Table III alone, GCC at the receiver, a talking head of 720 rows, the cap that
  WebRTC gives it, the paper's measures;
- *stricter*: the policy that is shipped, GCC at the sender with probes, no cap but the scenario's, three clips, frames
  that are never shown charged with their wait, and two more sets of networks.

All senders pace at 2.5 times their target in both, as libwebrtc of the paper's time and AlphaRTC do; ``gcc`` alone
would pace at 1.1, and wait 20 ms in its own pacer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from legato import links
from legato.plan import Choice, Plan, shipped, traces
from legato_studies.papers.reproduction import AS_PRINTED, STRICTER

OWN = "clcc"
SHIPPED, MEDIAN = "clcc as shipped", "clcc median seed"
"""Where a set-up has CLCC of another training: the shipped policy, and that of the median of its five seeds."""
TABLE_II = "clcc by Table II"
"""The policy of a training with the paper's own numbers."""
CONSTANT = "constant 200 kbit/s"
"""A sender that leaves nearly all of a link unused: hardly any has less delay, loss or drops."""
GCC, HRCC = "gcc", "hrcc"
"""A set-up's own GCC, and the paper's other rival."""
MODULE, SENDER = "gcc in the module", "gcc at the sender"
"""Two more readings of the paper's GCC."""

TALKER = "talker"
"""A talking head at 1280 x 720, as the paper's are."""
MAX_720_BPS = 2_500_000
"""AlphaRTC, webrtc_video_engine.cc, GetMaxDefaultVideoBitrateKbps: for more than 960 x 540."""
LTE = "nyc-lte"
"""The family of traces that [clcc]'s source of LTE traces, DeepCC, has published."""
STRETCH_S, LTE_STEP_S = 45.0, 30.0
"""How long a call is, and how far apart the stretches of an LTE trace begin: the shortest has 171 s."""
LTE_SCALES = {"LTE": 1.0, "LTE at a fifth": 0.2}
"""As recorded, and as one user's share of a cell; the paper does not give a scale."""
GENERATORS = {"random": "clcc", "wider": "broad"}
NETWORKS = 100
ENCODER: Mapping[str, Any] = {"video.encoder": "x264", "video.vbv_ms": 500}
"""That of the scenario ``clcc``, in which it was trained."""
_PACED_ALIKE = "pacing_ratio=2.5"


@dataclass(frozen=True)
class Setup:
    """What a claim is read from."""

    name: str
    groups: tuple[str, ...]
    """Sets of networks."""
    rivals: Mapping[str, str]
    """The controller in the calls, by its name in tables."""
    specs: tuple[str, ...]
    clips: tuple[str, ...]
    """Each repeat has the next of them."""
    options: Mapping[str, Any] = field(default_factory=dict)
    viewed: bool = False
    """Whether frames that are never shown are charged."""

    def column(self, column: str, viewed: str) -> str:
        """The column of the summary that a figure is read from."""
        return viewed if self.viewed and viewed else column


def _trained(name: str, label: str) -> tuple[str, ...]:
    """CLCC with a policy of the folder ``policies/clcc``, where it is there."""
    folder = shipped.policies_folder() / OWN / name
    return (f"{OWN}@policy={folder},label={label}",) if folder.is_dir() else ()


SETUPS = (
    Setup(
        AS_PRINTED,
        ("random", "LTE"),
        {GCC: "gcc-receiver", HRCC: "hrcc", MODULE: MODULE, SENDER: SENDER},
        (
            *_trained("printed", OWN),
            *_trained("table-ii", TABLE_II),
            f"{OWN}@label={SHIPPED}",
            "gcc-receiver",
            "hrcc",
            f"hrcc@policy=hand,label={MODULE}",
            f"gcc@{_PACED_ALIKE},label={SENDER}",
            f"fixed@target_bitrate_bps=200000,label={CONSTANT}",
        ),
        (TALKER,),
        {"limits.max_bps": MAX_720_BPS},
    ),
    Setup(
        STRICTER,
        ("random", "LTE", "LTE at a fifth", "wider"),
        {GCC: "gcc", HRCC: "hrcc"},
        (OWN, f"gcc@{_PACED_ALIKE},label=gcc", "hrcc", *_trained("median", MEDIAN)),
        (TALKER, "asl-again", "foreman"),
        viewed=True,
    ),
)


@dataclass(frozen=True)
class Sweep:
    """The calls of one repeat on one set of networks."""

    setup: Setup
    group: str
    repeat: int
    plan: Plan

    @property
    def name(self) -> str:
        """Of its run folder."""
        return f"{self.setup.name} {self.group} {self.repeat}"


def sweeps(repeats: int, quick: bool) -> Iterator[Sweep]:
    """Everything that Figures 3 to 6 are of."""
    for setup in SETUPS:
        for repeat in range(1, repeats + 1):
            for group in setup.groups:
                yield Sweep(setup, group, repeat, _plan(setup, group, repeat, quick))


def _plan(setup: Setup, group: str, repeat: int, quick: bool) -> Plan:
    how: dict[str, Any] = {
        "controllers": setup.specs,
        "clips": [setup.clips[(repeat - 1) % len(setup.clips)]],
        # Equation (8) needs the largest delay, which packets alone have.
        "log": "packets" if repeat == 1 and group in SETUPS[0].groups else "summary",
    }
    if group in GENERATORS:
        first = 1000 * repeat + 1
        options = {**setup.options, "forward.capacity.generator": GENERATORS[group]}
        return Choice("clcc", options=options, seeds=range(first, first + (4 if quick else NETWORKS)), **how).plan()
    files = links.files(LTE)[: 2 if quick else None]
    stretches = [f"{path}@scale={LTE_SCALES[group]},start_s={LTE_STEP_S * (repeat - 1)}" for path in files]
    options = {"duration_s": STRETCH_S, **ENCODER, **setup.options}
    return replace(Choice("cellular", options=options, seeds=[repeat], **how).plan(), traces=traces.chosen(stretches))
