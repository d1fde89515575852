"""The conformance page: one self-contained HTML file, table first, then each case's plots and figures."""

from __future__ import annotations

from html import escape
from importlib import resources
from pathlib import Path

from . import criteria
from .case import Case
from .contestants import FIXED_BPS
from .figures import told
from .flow_tables import tables
from .judge import Check, Verdict
from .notes import Note, notes_on
from .plots import legend, plot
from .shapes import SHAPES
from .suite import Suite


def write(suite: Suite, path: Path) -> Path:
    """Write the page; it appears whole or not at all."""
    text = (resources.files(__package__) / "page.html").read_text(encoding="utf-8")
    for name, value in {
        "style": (resources.files(__package__) / "page.css").read_text(encoding="utf-8"),
        "version": escape(suite.version),
        "reading": _reading(suite),
        "table": _table(suite),
        "cases": "".join(_case(suite, case) for case in suite.cases),
        "shapes": _shapes(suite),
        "marks": _marks(),
        "seeds": f"{suite.seeds} seed{'s' if suite.seeds > 1 else ''}",
    }.items():
        text = text.replace("{{" + name + "}}", value)
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    return path


def _reading(suite: Suite) -> str:
    of = len(suite.judged)
    ranked = sorted(suite.controllers, key=suite.passes, reverse=True)
    words = ", ".join(f"<b>{escape(name)}</b> {suite.passes(name)}" for name in ranked)
    return f"Of {of} judged cases pass: {words}."


def _table(suite: Suite) -> str:
    head = "".join(
        f'<th scope="col"><a href="#case-{escape(case.key)}" title="{escape(case.title, quote=True)}">'
        f"{escape(case.key)}</a></th>"
        for case in suite.judged
    )
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="count">{suite.passes(name)}/{len(suite.judged)}</td>'
        + "".join(_cell(suite.verdicts[name, case.key], case, name) for case in suite.judged)
        + "</tr>"
        for name in suite.controllers
    ) + "".join(
        f'<tr class="reference"><th scope="row">{escape(name)}</th><td class="count">—</td>'
        + "".join(_reference_cell(suite, case, name) for case in suite.judged)
        + "</tr>"
        for name in suite.references
    )
    return (
        '<table class="verdicts"><thead><tr><th scope="col">controller</th><th scope="col">passes</th>'
        f"{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table>{_below(suite)}"
    )


def _reference_cell(suite: Suite, case: Case, name: str) -> str:
    """How many figures miss their marks, without a verdict."""
    verdict = suite.verdicts.get((name, case.key))
    if verdict is None:
        return "<td>—</td>"
    words = "none" if verdict.passed else f"{len(verdict.failed)} of {len(verdict.checks)}"
    return f'<td><a href="#{_place(case, name)}">{words}</a></td>'


def _below(suite: Suite) -> str:
    """What the rows without verdicts are, and who is missing."""
    words = []
    if suite.references:
        words.append(
            "Rows without verdicts are there for reference, with how many figures miss their marks: <b>fixed</b> never "
            f"adapts and asks for {FIXED_BPS / 1e6:g} Mbit/s; <b>oracle</b> is told the capacity of the link, and runs "
            "where a call has one to itself. <b>remote</b>, the sender's half of controllers at the receiver, is in "
            "their rows."
        )
    words += [f"<b>{escape(name)}</b> could not run: {escape(why)}." for name, why in suite.left_out]
    return f'<p class="caption">{" ".join(words)}</p>' if words else ""


def _cell(verdict: Verdict, case: Case, name: str) -> str:
    why = "; ".join(f"{check.name}: {check.shown}, should be {check.mark}" for check in verdict.failed)
    missed = f"{len(verdict.failed)} of {len(verdict.checks)}"
    word = "pass" if verdict.passed else f"fail<small>{missed}</small>"
    kind = "pass" if verdict.passed else "fail"
    return (
        f'<td class="{kind}"><a href="#{_place(case, name)}" title="{escape(why or "every mark is met", quote=True)}">'
        f"{word}</a></td>"
    )


def _case(suite: Suite, case: Case) -> str:
    judged = case in suite.judged
    first = suite.sessions[suite.controllers[0], case.key]
    figures = "".join(_figure(suite, case, name, judged) for name in suite.shown(case))
    names = legend([call.name for call in first.calls])
    every = tables({name: told(suite.sessions[name, case.key]) for name in suite.shown(case)})
    tcp = '<span class="tcp">TCP</span>' if any(flow.kind != "udp" for flow in first.traffic) else ""
    return (
        f'<section id="case-{escape(case.key)}"><h2><small>{escape(case.key)}</small> {escape(case.title)}</h2>'
        f'<p class="caption">{escape(case.asks)} <code>scenarios/{escape(case.scenario)}.toml</code></p>'
        f'<p class="legend">{names}{tcp}<span class="available">available</span><span class="queued">queue</span></p>'
        f'<div class="multiples">{figures}</div>{every}</section>'
    )


def _figure(suite: Suite, case: Case, name: str, judged: bool) -> str:
    verdict = suite.verdicts[name, case.key]
    badge = '<b class="reference">reference</b>' if name in suite.references else ""
    judged = judged and name not in suite.references
    if judged:
        badge = '<b class="pass">pass</b>' if verdict.passed else '<b class="fail">fail</b>'
    failing = "".join(_check(check) for check in verdict.failed) if judged else ""
    passing = "".join(_check(check) for check in verdict.checks if check.passed or not judged)
    explained = "".join(_note(note) for note in notes_on(name, case, verdict)) if judged else ""
    more = f"<details><summary>{len(verdict.checks)} figures</summary><ul>{passing}</ul></details>"
    return (
        f'<figure id="{_place(case, name)}"><figcaption>{escape(name)} {badge}</figcaption>'
        f"{plot(case, suite.sessions[name, case.key])}<ul>{failing}</ul>{explained}{more}</figure>"
    )


def _note(note: Note) -> str:
    seen = f" <i>Seen by {escape(note.seen_by)}.</i>" if note.seen_by else ""
    return f'<p class="note">{escape(note.text)}{seen}</p>'


def _check(check: Check) -> str:
    kind = "pass" if check.passed else "fail"
    return f'<li class="{kind}">{escape(check.name)} <b>{check.shown}</b> <i>{escape(check.mark)}</i></li>'


def _shapes(suite: Suite) -> str:
    if not suite.shapes:
        return ""
    head = "".join(f'<th scope="col">{escape(shape.title)}</th>' for shape in SHAPES)
    published = "".join(f"<td>{escape(shape.published)}</td>" for shape in SHAPES)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{escape(suite.shapes[name, shape.key].text)}</td>" for shape in SHAPES)
        + "</tr>"
        for name in suite.controllers
    )
    return (
        '<section id="shapes"><h2>Five published path shapes</h2><p class="caption">What webrtc-rs publishes of its '
        "GCC (August 2026), and Legato's controllers on the same shapes by its definitions: utilisation over the "
        "last 30 % of the run, loss of the whole, and when the 2 s mean comes within 35 % of the capacity to stay. "
        "Theirs is a constant stream, ours a call; when their step falls is not published.</p>"
        f'<div class="scroll"><table class="shapes"><thead><tr><th scope="col">controller</th>{head}</tr></thead>'
        f'<tbody><tr class="published"><th scope="row">webrtc-rs, published</th>{published}</tr>{rows}</tbody></table>'
        "</div></section>"
    )


def _marks() -> str:
    rows = "".join(
        f"<tr><td><code>{name}</code></td><td>{value}</td></tr>"
        for name, value in vars(criteria).items()
        if name.isupper()
    )
    return f'<table class="marks"><tbody>{rows}</tbody></table>'


def _place(case: Case, name: str) -> str:
    return escape(f"{case.key}-{name}".replace(" ", "-").replace("(", "-").replace(")", ""), quote=True)
