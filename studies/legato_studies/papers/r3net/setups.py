"""The two set-ups of R3Net's claims, and their runs (docs/papers/r3net.md names the source of each choice).

- *as printed*: audio with video, TCP flows and recorded delay and loss on part of the paths, a policy trained on such
networks alone. Its UKF is tuned to the published row of the paper's private one;
- *stricter*: video alone over constant delay and random loss, the policy that is shipped, `ukf` as it comes, and GCC.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from legato.links import HELD_OUT, replayed
from legato.plan import Choice, Plan, shipped
from legato_studies.papers.reproduction import AS_PRINTED, STRICTER

OURS = "r3net"
SHIPPED = "r3net as shipped"
UNGUIDED = "r3net unguided"
"""Trained as printed by PPO alone."""
UKF, OWN_UKF, GCC = "ukf", "our ukf", "gcc"
"""Rivals, as tables name them: a set-up's own UKF, Legato's where that is another, and GCC at the sender."""
TUNED = "ukf tuned"
TUNED_RULES: Mapping[str, float] = {
    "climb_per_s_ratio": 0.4,
    "high_queue_ms": 100.0,
    "low_queue_ms": 40.0,
    "margin_ratio": 0.16,
}
"""Of `ukf`, so that on networks as printed it has the published utilisation and loss of the paper's ([r3net] Table 1:
73.5 %, 3.8 %). The closest of 75 on 144 networks of its validation: 73.0 %, 3.8 %."""

PATHS, WINDOWS = 23, 50
"""1,150 networks: the number of paths, and of windows over each."""
QUICK_PATHS, QUICK_WINDOWS = 2, 4
DRAW_SEED = 1150
"""Of the networks; the seeds of the calls over them are 1 to N."""
DURATION_S = 30.0


def ukf(label: str, rules: Mapping[str, Any]) -> str:
    """A UKF with other rules, as a controller is written."""
    given = ",".join(f"{key}={float(value)}" for key, value in rules.items())
    return f"ukf@label={label},rules={{{given}}}"


def policy_of(name: str, label: str) -> str:
    """R3Net with a policy of the folder ``policies/r3net``; empty: the shipped one."""
    folder = shipped.policies_folder() / OURS / name
    return f"{OURS}@label={label}" + (f",policy={folder}" if name else "")


@dataclass(frozen=True)
class Setup:
    """What a claim is read from."""

    name: str
    beside: replayed.Beside
    own: str
    """R3Net, as a controller is written."""
    rivals: Mapping[str, str]
    """The controller in the calls, by its name in tables."""
    more: tuple[str, ...]
    """The rivals, as controllers are written, and what else is played."""

    def controllers(self, policy: str = "") -> tuple[str, ...]:
        """Everything that is played; ``policy`` is R3Net's, instead of the set-up's."""
        own = f"{OURS}@label={OURS},policy={policy}" if policy else self.own
        return (*self.more, own)

    def plans(self, seeds: int, quick: bool, policy: str = "") -> dict[str, Plan]:
        """The runs, by folder: one for each path."""
        paths, windows = (QUICK_PATHS, QUICK_WINDOWS) if quick else (PATHS, WINDOWS)
        return {
            f"{self.name}/path-{number:02}": plan_over(network, self.controllers(policy), seeds)
            for number, network in enumerate(networks(self.beside, paths, windows))
        }


def networks(beside: replayed.Beside, paths: int, windows: int) -> Sequence[replayed.Network]:
    """Networks of no training."""
    return replayed.draw(HELD_OUT, DRAW_SEED, paths, windows, beside=beside, duration_s=DURATION_S)


def plan_over(network: replayed.Network, controllers: Sequence[str], seeds: int) -> Plan:
    """Calls over every window of a path."""
    return Choice(
        "r3net",
        options={**network.options, "duration_s": DURATION_S},
        controllers=controllers,
        traces=network.traces,
        seeds=seeds,
        log="series",
    ).plan(calls_per_part=WINDOWS)


def setups() -> Iterator[Setup]:
    """Both; the recordings of delay and loss are absent from an installed wheel, and then the first does without."""
    printed = "printed" if (Path(shipped.policies_folder()) / OURS / "printed").is_dir() else ""
    yield Setup(
        AS_PRINTED,
        replayed.available(replayed.AS_PRINTED),
        policy_of(printed, OURS),
        {UKF: TUNED, OWN_UKF: "ukf", GCC: "gcc"},
        (
            ukf(TUNED, TUNED_RULES),
            "ukf",
            "gcc",
            f"{OURS}@label={SHIPPED}",
            *([policy_of("unguided", UNGUIDED)] if (shipped.policies_folder() / OURS / "unguided").is_dir() else []),
        ),
    )
    yield Setup(STRICTER, replayed.NOTHING, policy_of("", OURS), {UKF: "ukf", GCC: "gcc"}, ("ukf", "gcc"))
