"""The set-ups that [vtfrc] leaves open, each run: whose TCP, how long the calls are, and how equations (7) and (8) are
read. Docs/papers/vtfrc.md says which of them is taken as printed, and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from legato.plan import Choice, Plan

FPS = 20
FRAMES = {"Container": 300, "Foreman": 400, "Grandma": 870, "Mother-Daughter": 961, "Salesman": 449}
"""[vtfrc] Table I."""
STAND_INS = {
    "Container": "qcif-grid-bbaf2n",
    "Foreman": "qcif-foreman",
    "Grandma": "qcif-asl-again",
    "Mother-Daughter": "qcif-asl-night",
    "Salesman": "qcif-grid-lrwp9a",
}
"""The clip that is played for each of the paper's sequences; Foreman is the paper's own."""
TABLE_I = "Table I"
LENGTHS: Mapping[str, float | None] = {TABLE_I: None, "48 s": 48.05, "300 s": 300.0}
"""Of calls, in seconds; None: each sequence has its own."""
WAITING = {"sender.queue_time_limit_ms": 60_000, "sender.max_pacer_queue_ms": 60_000}
"""By equation (8) as printed the encoder may make more than is sent: the difference waits at the sender, as in the
paper, instead of being sent faster or not being coded."""
ENCODER = {"video.encoder": "jm"}
"""[vtfrc] §3: JM 12.2 with its own rate control, RC_MODE_0."""
TCPS = ("reno", "bic", "cubic")


@dataclass(frozen=True)
class Cell:
    """One set-up."""

    tcp: str
    length: str
    bounded: bool
    """C(k) of equation (7) is at most 1."""
    capped: bool
    """The encoder gets no more than equation (9), instead of equation (8) as printed."""

    @property
    def name(self) -> str:
        """As a folder."""
        length = self.length.replace(" ", "").replace("TableI", "table-i")
        bound, eq_8 = "bounded" if self.bounded else "unbounded", "capped" if self.capped else "printed"
        return f"{self.tcp}-{length}-{bound}-{eq_8}"

    @property
    def controllers(self) -> tuple[str, str]:
        """Video TFRC under its own name, and its rival."""
        flags = {"cap_target": self.capped, "bound_complexity": self.bounded}
        given = ",".join(f"{key}={str(value).lower()}" for key, value in flags.items())
        return f"vtfrc@label=vtfrc,{given}", "jm-tfrc"

    def plans(self, seeds: int, sequences: Iterable[str] = tuple(FRAMES)) -> dict[str, Plan]:
        """The runs, by folder."""
        length_s, clips = LENGTHS[self.length], list(sequences)
        groups = [[clip] for clip in clips] if length_s is None else [clips]
        made = {}
        for group in groups:
            tcp = {f"tcp.{n}.config.congestion_control": self.tcp for n in range(3)}
            duration_s = FRAMES[group[0]] / FPS if length_s is None else length_s
            name = f"{self.name}/{group[0]}" if length_s is None else self.name
            made[name] = Choice(
                "vtfrc",
                options={"duration_s": duration_s, **ENCODER, **tcp, **({} if self.capped else WAITING)},
                controllers=self.controllers,
                clips=[STAND_INS[sequence] for sequence in group],
                seeds=seeds,
                log="packets",
            ).plan()
        return made


AS_PRINTED = Cell("cubic", TABLE_I, bounded=True, capped=False)
"""Linux's TCP when the paper was written, the paper's lengths, equation (8) unchanged. The bound on C(k) acts only
where a clip repeats pictures, which the paper's sequences do not and two of their replacements do."""
STRICTER = Cell("reno", "48 s", bounded=True, capped=True)


def cells() -> Sequence[Cell]:
    """All 24: equation (8) as printed in every other respect, and capped over 48 s."""
    printed = [Cell(tcp, length, bounded, False) for tcp, length, bounded in product(TCPS, LENGTHS, (False, True))]
    return [*printed, *(Cell(tcp, "48 s", bounded, True) for tcp, bounded in product(TCPS, (False, True)))]
