"""What RFC 8867 section 4.2 encourages beyond its cases: run only where they are named (``--cases 4.2``).

A case keeps its judge and its marks; other delays, queues or congestion controls make some of them harder to meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from legato.conformance.case import Case
from legato.conformance.cases import CASES

# [rfc8868] §4.1: 0 to 1, 150 and 300 ms one way.
_DELAYS_MS = (1, 150, 300)
# [rfc8867] §4.2 names FQ-CoDel and PIE; separate queues per call are not modelled, so CoDel replaces the first.
_QUEUES = ("codel", "pie")
_VARIED = ("5.1a-50", "5.2a", "5.4")
_BESIDE_TCP = ("5.6-300", "5.7")
BURST_CONNECTIONS = 30
"""[rfc8868] §5.1: connections that start together."""


def _variants() -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """(case, ending of its key, the difference, changed values)."""
    for key in _VARIED:
        for delay in _DELAYS_MS:
            both = {"forward.propagation_ms": float(delay), "reverse.propagation_ms": float(delay)}
            yield key, f"{delay}ms", f"{delay} ms each way", both
        for queue in _QUEUES:
            yield key, queue, f"{queue} in place of tail drop", {"forward.queue.kind": queue}
    for key in _BESIDE_TCP:
        flows = 10 if key == "5.7" else 1
        cubic = {f"tcp.{n}.config.congestion_control": "cubic" for n in range(flows)}
        yield key, "cubic", "CUBIC in place of Reno", cubic
    bursts = {"stop_s": 299.0, "config": {"workload": {"bursts": {"group": 1}}}}
    yield "5.7", "bursts", f"bursts of {BURST_CONNECTIONS} connections", {"tcp": [bursts] * BURST_CONNECTIONS}


def _cases() -> Iterator[Case]:
    of = {case.key: case for case in CASES}
    for key, ending, what, options in _variants():
        case = of[key]
        yield replace(
            case, key=f"4.2-{key}-{ending}", title=f"{case.title}, {what}", options={**case.options, **options}
        )


ENCOURAGED: tuple[Case, ...] = tuple(_cases())
"""Every one, in the order of the cases they vary."""


def chosen(patterns: Sequence[str]) -> list[Case]:
    """Cases by key, its beginning or section (``5.1``, ``5.1a-50``, ``8869-3.2g``), with those they need; none: all
    that the RFCs require."""
    if not patterns:
        return list(CASES)
    every = (*CASES, *ENCOURAGED)
    keys = {case.key for case in every}
    wanted = {pattern for pattern in patterns if pattern in keys}
    for pattern in set(patterns) - keys:
        wanted |= {case.key for case in every if is_meant(case, pattern)}
    for case in every:
        if case.key in wanted:
            wanted.update(case.needs)
    return [case for case in every if case.key in wanted]


def is_meant(case: Case, pattern: str) -> bool:
    """Whether a case is meant by its key, the beginning of it, or its section."""
    return pattern in (case.key, case.section) or case.key.startswith(f"{pattern}-")
