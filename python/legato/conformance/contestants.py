"""Which controllers take part: all that adapt are judged; three others run for reference.

``fixed`` shows what not adapting costs; ``oracle`` and ``clairvoyant`` show what the marks leave to reach: they know
what the link will pass, so they run where one call has the link to itself. ``remote`` does not take part by itself: it
is the sender's half of every receiver-side controller, repeats what the receiver requested, and is part of their rows;
``opennetlab`` is somebody's file.
A controller that cannot be built from its name alone (a learned one without a policy) is left out, and listed as such.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from legato import _core
from legato.conformance.case import Case
from legato.errors import Error
from legato.plan import Choice, shipped
from legato.runs.sweep import sweep

FIXED = "fixed"
FIXED_BPS = 1_000_000
"""The RFC's reference capacity."""
KNOW_THE_LINK = ("oracle", "clairvoyant")
_NOT_JUDGED = (FIXED, *KNOW_THE_LINK, "remote", "opennetlab")


@dataclass(frozen=True)
class Contestants:
    """The controllers of a run of cases, as typed."""

    judged: tuple[str, ...]
    references: tuple[str, ...] = ()
    """Shown, not judged."""
    left_out: tuple[tuple[str, str], ...] = ()
    """(name, why) of the controllers that cannot run."""

    def of(self, case: Case) -> list[str]:
        """The controllers that run in a case."""
        beside = [name for name in self.references if name not in KNOW_THE_LINK or case.link_is_known]
        return [*self.judged, *(_typed(name) for name in beside)]


def _typed(reference: str) -> str:
    return f"{FIXED}@target_bitrate_bps={FIXED_BPS},label={FIXED}" if reference == FIXED else reference


def everyone() -> Contestants:
    """All of the registry."""
    names = [entry["name"] for entry in _core.controllers() if entry["name"] not in _NOT_JUDGED]
    refusals = {name: refusal(name) for name in names}
    return Contestants(
        judged=tuple(name for name in names if refusals[name] is None),
        references=(FIXED, *KNOW_THE_LINK),
        left_out=tuple((name, why) for name, why in refusals.items() if why is not None),
    )


def playable() -> list[str]:
    """All of the registry that can be made from their names alone."""
    return [entry["name"] for entry in _core.controllers() if refusal(entry["name"]) is None]


def refusal(name: str, scenario: Path | None = None) -> str | None:
    """Why a controller cannot be made from its name alone, in a scenario or in `steady`; None where it can."""
    shortest = {"duration_s": 0.1} if scenario is None else {}
    where = scenario or shipped.scenario("steady")
    plan = Choice(where, options=shortest, controllers=[name], log="summary").plan()
    with tempfile.TemporaryDirectory() as folder:
        try:
            sweep(plan, Path(folder) / "run")
        except Error as refused:
            return str(refused)
    return None
