"""The runs of NVC-CC's tables (docs/papers/nvc-cc.md), and the separation of training and test.

- *as printed*: 50 networks of Table 2 by its authors' laws, drawn by seeds 1 to 50 as ``legato run`` draws them; all
controllers pad, as in the paper. *Round trip* is the same networks with the table's delay read as the round trip, not
as one way.
- *synthetic*: 50 networks of Table 2 with uniform laws, which lose ten times as much, padded only by controllers that
  pad themselves. Training draws its own from streams named by environment and call, which no run's seed leads to.
- *Ethernet*, *cellular*: ten recorded links each (families fcc and nyc-lte). Nothing is trained on a recorded link.
- *other families*: the other recorded links, for the question how far a policy generalises.
- 57 clip profiles: three clips that no training has seen, each at 19 sizes of 360 to 1080 rows. The stand-in codec
  prices a picture by its pixels, so that size takes the place of the difficulty that 57 real videos differ in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from legato.links import CAPACITIES, FAMILIES
from legato.plan import Choice, Plan
from legato_studies.papers.nvc_cc.trainings import H264

SCENARIO = "nvc_cc"
PRINTED_GCC = "gcc-receiver"
"""GCC as the paper's authors run it: the delay's estimate at the receiver, REMB, no probes."""
RULES = ("oracle", "gcc", PRINTED_GCC, "salsify", "fbra")
GUARDED = "onrl + safeguard"
SAFEGUARD_AS_PRINTED: dict[str, Any] = {
    "jitter": "packets",
    "n_std": 0.5,
    "window_s": 0.2,
    "min_threshold_ms": 0.1,
    "interval_ms": 20,
    "until_drained": False,
}
"""On the network of Fig. 6 it takes over 100 to 170 times in 30 s, for 10 to 12.4 s in all (there 160 and 8)."""
LEARNED = (
    "aurora",
    "onrl",
    f"safeguard@inner=onrl,label={GUARDED}",
    "nvc-cc",
)
_FIRES = ",".join(f"{key}={str(value).lower()}" for key, value in SAFEGUARD_AS_PRINTED.items())
LEARNED_AS_PRINTED = (
    "onrl@policy=onrl-as-printed,label=onrl",
    f"safeguard@inner=onrl,inner_config.policy=onrl-as-printed,{_FIRES},label={GUARDED}",
    "nvc-cc@policy=nvc-cc-as-printed,label=nvc-cc",
)
AURORA_AS_PRINTED = "aurora@policy=aurora-as-printed,label=aurora"
AURORA_START_BPS = 2_400_000
"""Where its authors' public simulator begins: ten packets of 1,500 bytes in 50 ms."""
CONTROLLERS = (*RULES, "aurora", "onrl", GUARDED, "nvc-cc")
CLIPS = ("asl-sister", "bunny", "foreman")
PICTURES_PER_S = 25
"""As in the paper; the clips themselves have others."""
HEIGHTS = tuple(range(360, 1081, 40))
"""Rows of the picture; 720 is the size of the stand-in's figures, and the mean of these."""
NETWORKS = 50
LINKS = 10
PRINTED, ROUND_TRIP = "as printed", "round trip"
FIG_12 = ("Ethernet", "cellular")
FIG_6 = (2_000_000, 25.0, 30_000)
"""[nvc-cc] Fig. 6: 25 ms one way, 30 KB; the link's rate is not printed. Fig. 7 names no network: this one."""


@dataclass(frozen=True)
class Size:
    """How much is run."""

    networks: int = NETWORKS
    links: int = LINKS
    heights: tuple[int, ...] = HEIGHTS
    clips: tuple[str, ...] = CLIPS
    duration_s: float | None = None


QUICK = Size(networks=2, links=1, heights=(720,), clips=CLIPS[:1], duration_s=5.0)


@dataclass(frozen=True)
class Sweep:
    """One sweep: part of a setting."""

    setting: str
    name: str
    plan: Plan


def sweeps(size: Size, groups: Sequence[tuple[str, Sequence[str]]] | None = None) -> Iterator[Sweep]:
    """Everything that is run, in order."""
    groups = groups or (("rules", RULES), ("learned", LEARNED))
    for height in size.heights:
        for name, controllers in groups:
            yield _sweep("synthetic", f"synthetic-{height}-{name}", size, controllers, height, _networks(size))
    for height in size.heights:
        yield from _as_printed(PRINTED, f"printed-{height}", size, height, "nvc-cc-authors")
    yield from _as_printed(ROUND_TRIP, "round-trip", size, 720, "nvc-cc-authors-round-trip")
    for setting in CAPACITIES:
        specs = [link.spec for link in FAMILIES[setting].links(size.links)]
        if not specs:  # an installed package lacks the families under a copyleft licence
            continue
        # Figure 12 has 570 sessions of each of its two; the others show how far a policy generalises.
        for height in size.heights if setting in FIG_12 else (720,):
            for name, controllers in groups:
                part = f"{setting.lower()}-{height}-{name}"
                yield _sweep(setting, part, size, controllers, height, [1], specs)
    yield from _small(size)


def _as_printed(setting: str, name: str, size: Size, height: int, generator: str) -> Iterator[Sweep]:
    """[nvc-cc] section 5.1: all controllers are run with padding; 25 pictures a second."""
    options: dict[str, Any] = {
        "forward.capacity": {"generator": generator},
        "sender.pad_to_target": True,
        "video.clip_fps": PICTURES_PER_S,
    }
    parts: tuple[tuple[str, Sequence[str], dict[str, Any]], ...] = (
        ("rules", RULES, {}),
        ("learned", LEARNED_AS_PRINTED, {}),
        ("aurora", [AURORA_AS_PRINTED], {"limits.start_bps": AURORA_START_BPS}),
    )
    for part, controllers, more in parts:
        yield _sweep(setting, f"{name}-{part}", size, controllers, height, _networks(size), **options, **more)


def _sweep(
    setting: str,
    name: str,
    size: Size,
    controllers: Sequence[str],
    height: int,
    seeds: Sequence[int],
    traces: Sequence[str] = (),
    **options: Any,
) -> Sweep:
    changes: dict[str, Any] = {"video.standin_height": height, **options}
    if size.duration_s is not None:
        changes["duration_s"] = size.duration_s
    made = Choice(
        SCENARIO,
        options=changes,
        controllers=controllers,
        traces=traces,
        clips=size.clips,
        seeds=seeds,
        log="summary",
    ).plan()
    return Sweep(setting, name, made)


def _small(size: Size) -> Iterator[Sweep]:
    """Figures 4 to 6, 8 and 9, which need a few calls each."""
    one = replace(size, clips=size.clips[:1])
    guarded = _sweep("Fig. 6", "fig-6", one, [LEARNED_AS_PRINTED[1]], 720, [1], **one_link(*FIG_6))
    yield replace(guarded, plan=replace(guarded.plan, log="series"))
    # [nvc-cc] Fig. 5: which actions are taken; networks of Table 2.
    asked = replace(one, networks=min(size.networks, 10))
    seeds = list(range(1, asked.networks + 1))
    answers = _sweep("Fig. 5", "fig-5", one, LEARNED_AS_PRINTED[:2], 720, seeds)
    yield replace(answers, plan=replace(answers.plan, log="series"))
    # [nvc-cc] Fig. 8: one codec at two rates, one with a tenth of the packets lost.
    for rate, loss in ((1_810_000, 0.1), (1_068_000, 0.0)):
        fixed = f"fixed@target_bitrate_bps={rate},label=fixed"
        name = f"fig-8-{rate // 1000}"
        yield _sweep(name, name, one, [fixed], 720, [1], **one_link(8_000_000, 25.0, 300_000, loss))
    # [nvc-cc] Fig. 9: 1 Mbit/s, 10 ms, a queue of one packet.
    yield _sweep("Fig. 9", "fig-9", one, LEARNED_AS_PRINTED[1:], 720, [1], **one_link(1_000_000, 10.0, 1_500))
    # [nvc-cc] Fig. 4: a codec that cannot decode incomplete frames.
    yield fig_4("fig-4", size, (*RULES[1:], *LEARNED[1:3]))


def fig_4(name: str, size: Size, controllers: Sequence[str]) -> Sweep:
    """Controllers on the networks of Table 2 with H.264."""
    return _sweep("Fig. 4", name, size, controllers, 720, _networks(size), **H264)


def one_link(bps: int, one_way_ms: float, queue_bytes: int, loss_ratio: float = 0.0) -> dict[str, Any]:
    """One network that does not change, as changes of the scenario."""
    return {
        "forward.capacity": {"constant_bps": bps},
        "forward.propagation_ms": one_way_ms,
        "reverse.propagation_ms": one_way_ms,
        "forward.queue": {"limit_bytes": queue_bytes},
        "forward.loss_ratio": loss_ratio,
    }


def _networks(size: Size) -> list[int]:
    return list(range(1, size.networks + 1))
