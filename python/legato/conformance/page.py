"""The conformance page: one self-contained HTML file, table first, then each case's plots and figures."""

from __future__ import annotations

from pathlib import Path

from legato.conformance import criteria
from legato.conformance.case import Case
from legato.conformance.contestants import FIXED_BPS
from legato.conformance.figures import session_figures
from legato.conformance.flow_tables import tables
from legato.conformance.flows import Session
from legato.conformance.judge import Verdict
from legato.conformance.notes import notes_on
from legato.conformance.plots import flow_class, plot
from legato.conformance.shapes import SHAPES
from legato.conformance.suite import Suite
from legato.report import pages, repeat


def write(suite: Suite, path: Path) -> Path:
    """Write the page; it appears whole or not at all."""
    return pages.write(
        path,
        "conformance.html",
        suite=suite,
        ranked=sorted(suite.controllers, key=suite.passes, reverse=True),
        fixed_bps=FIXED_BPS,
        shapes=SHAPES,
        marks=[(name, _mark(value)) for name, value in vars(criteria).items() if name.isupper()],
        anchor=_anchor,
        missed=_missed,
        flow_legend=_flow_legend,
        flow_tables=lambda case: tables(
            {name: session_figures(suite.sessions[name, case.key]) for name in suite.shown(case)}
        ),
        notes_on=notes_on,
        plot=plot,
        to_repeat=lambda case: repeat.lines([suite.folder / "runs" / case.key]),
    )


def _anchor(case: Case, controller: str) -> str:
    return f"{case.key}-{controller}".replace(" ", "-").replace("(", "-").replace(")", "")


def _mark(value: float | tuple[float, float]) -> str:
    return " … ".join(f"{end:.3g}" for end in (value if isinstance(value, tuple) else (value,)))


def _missed(verdict: Verdict) -> str:
    missed = (f"{check.name}: {check.shown}, should be {check.mark}" for check in verdict.failed)
    return "; ".join(missed) or "every mark is met"


def _flow_legend(session: Session) -> list[tuple[str, str]]:
    tcp = [("other", "TCP")] if any(flow.kind != "udp" for flow in session.traffic) else []
    calls = [(flow_class(n), call.name) for n, call in enumerate(session.calls)]
    return [*calls, *tcp, ("available", "available"), ("area", "queue")]
