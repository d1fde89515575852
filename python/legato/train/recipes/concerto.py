"""Concerto: imitates an expert that knows what the network will carry in the next second ([concerto])."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from legato.links import TUNED, VALIDATION
from legato.train.imitation import Settings
from legato.train.recipe import Recipe, dense

CONTROLLER = "concerto"
KINDS = ("loss_ratio", "packet_interval", "encoder_rate", "receiver_rate")
SECONDS, REPORTS, PACKETS = 3, 15, 4
_KIND = REPORTS * PACKETS
_ROW = len(KINDS) * _KIND

MANIFEST: Mapping[str, Any] = {
    "controller": CONTROLLER,
    "observation": {"features": list(KINDS), "width": _KIND, "history": SECONDS},
    "action": {"map": CONTROLLER, "decide": "argmax"},
}


@dataclass(frozen=True)
class Sizes:
    """How large the network is."""

    filters: int
    """Of each kind's convolution."""
    fused: int
    """Filters of the one over all kinds."""
    hidden: int


PUBLISHED = Sizes(64, 128, 256)
"""[concerto] section 3.2: 2.3 million weights."""
OURS = Sizes(8, 16, 64)
"""A thirtieth of the weights: two cores train it in a minute or two."""


def slices(kind: int) -> list[str]:
    """The slices of an observation that hold a kind's numbers, one per second, the oldest first."""
    starts = [second * _ROW + kind * _KIND for second in range(SECONDS)]
    return [f"observation[{start}:{start + _KIND}]" for start in starts]


def layers(sizes: Sizes = OURS, kinds: Sequence[str] = KINDS) -> tuple[dict[str, Any], ...]:
    """The layer table of [concerto] Fig. 17; seconds are channels of a picture of 15 reports by 4 packets."""
    picture = {"height": REPORTS, "width": PACKETS, "kernel": [3, 3], "padding": [1, 1], "activation": "leaky_relu"}
    first = [
        {
            "name": kind,
            "kind": "conv2d",
            "from": slices(KINDS.index(kind)),
            "channels": SECONDS,
            "filters": sizes.filters,
            **picture,
        }
        for kind in kinds
    ]
    channels = sizes.filters * len(kinds)
    fusion = {
        "name": "fusion", "kind": "conv2d", "from": list(kinds), "channels": channels, "filters": sizes.fused, **picture
    }  # fmt: skip
    # "a ReLU activation function in a slope of 0.5" can only be a leaky one.
    hidden = {**dense("hidden", "fusion", sizes.fused * _KIND, sizes.hidden, "leaky_relu"), "slope": 0.5}
    return (*first, fusion, hidden, dense("rates", "hidden", sizes.hidden, 26, "softmax"))


SETTINGS = Settings(
    # What the paper states: 4 loops, beta 0.5, 20 epochs, C = 8, lambda 0.5, k = 3, Adam at 1e-3 that falls by 0.6.
    envs=64,
    rollout=59,
    loops=4,
    epochs=5,
    # Ours: a unit in which C = 8 neither vanishes nor dominates (see legato.train.imitation).
    unit_mbps=0.1,
    # Twice the paper's 32: less time per state.
    minibatch=64,
    smooth_refresh="epoch",
)


def recipe(
    name: str = CONTROLLER,
    summary: str = "Concerto on 3G, 4G and Wi-Fi traces, imitating an expert that knows the next second",
    *,
    accesses: Sequence[str] = ("3G", "4G", "Wi-Fi"),
    settings: Settings = SETTINGS,
    kinds: Sequence[str] = KINDS,
    sizes: Sizes = OURS,
    by_second: bool = False,
    share_ratio: float | None = None,
    layer_table: tuple[dict[str, Any], ...] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Recipe:
    """The recipe, or one that differs as the paper's Tables 3 and 4 do.

    Args:
        by_second: on traces whose rate is the mean of each second, as the paper's are.
        share_ratio: of the coming second's capacity, which the expert takes; None: that of ``mobile_calls``.
        layer_table: another network, instead of the one that ``sizes`` and ``kinds`` give.
    """

    def training(envs: int) -> Any:
        from legato.train import mobile_calls

        calls = mobile_calls.calls(envs, CONTROLLER, TUNED, accesses, by_second=by_second)
        return mobile_calls.ExpertCalls(calls, mobile_calls.SHARE_RATIO if share_ratio is None else share_ratio)

    def held_out() -> Any:
        from legato.train import mobile_calls

        return mobile_calls.calls(96, CONTROLLER, VALIDATION, accesses, by_second=by_second)

    return Recipe(
        name=name,
        summary=summary,
        manifest=MANIFEST,
        layers=layer_table or layers(sizes, kinds),
        settings=settings,
        make_env=training,
        make_evaluation=held_out,
        evaluate_every=settings.epochs,
        leg_rounds=settings.epochs,
        facts=facts or {},
    )


RECIPE = recipe()
