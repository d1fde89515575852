"""The tables of a leaderboard: sections of a page, which are its Markdown as well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from legato import controllers as registry
from legato.report.pages import Cell, Section, counted
from legato.results.figures import Shown
from legato.results.stats import NO_FIGURE, Estimate
from legato_studies.leaderboard import papers
from legato_studies.leaderboard.board import BASE, CEILING, Board
from legato_studies.leaderboard.calls import Call, Calls
from legato_studies.leaderboard.company import SHARINGS, Company
from legato_studies.leaderboard.edges import CLEAN, EDGES, Edges
from legato_studies.leaderboard.measures import (
    FLOOR,
    GOODPUT,
    HEADROOM,
    JUDGED,
    MEASURES,
    P95,
    P98,
    PICTURE,
    STALLED,
    TIMELY,
)

Row = tuple[str | Cell, ...]
KINDS = {"oracle": "knows the link", CEILING: "knows the link"}
FAMILY_MEASURES = (P95, STALLED, PICTURE)


def live(played: Calls) -> Calls:
    """Calls over links without a second below 50 kbit/s."""
    return played.only(lambda call: call.live)


def standing(board: Board) -> dict[str, Estimate]:
    """The share of the headroom that each controller closes on live links, the largest first."""
    if board.networks is None:
        return dict.fromkeys(board.controllers, NO_FIGURE)
    played = live(board.networks)
    found = {name: closed(played, name) for name in board.networks.controllers}
    return dict(sorted(found.items(), key=lambda item: -2.0 if item[1].mean is None else -item[1].mean))


def closed(played: Calls, name: str) -> Estimate:
    """Of the headroom: half of it is the picture, half is how late it is, so that a controller which sends next to
    nothing does not win."""
    return played.closed(name, BASE, CEILING, (PICTURE,), TIMELY)


def percent(found: Estimate) -> str:
    """A share with its interval, in per cent."""
    if found.mean is None:
        return ""
    text = f"{100 * found.mean:.0f}"
    return (
        text if found.low is None or found.high is None else f"{text} ({100 * found.low:.0f} to {100 * found.high:.0f})"
    )


def kind(name: str) -> str:
    """What a controller is, for its row."""
    entry = next((entry for entry in registry() if entry["name"] == name), None)
    if name in KINDS:
        return KINDS[name]
    if entry is None:
        return "variant"
    return "learned" if entry["learned"] else "rules"


def first(board: Board, order: Sequence[str]) -> Section:
    """All goals of a controller, in a separate row."""
    columns: list[str] = ["controller", "kind"]
    if board.networks is not None:
        columns += [
            "headroom closed, %",
            "SSIM, dB",
            "p95, ms",
            "stalled, %",
            "all links: p95, ms",
            "all links: stalled, %",
        ]
    if board.company is not None:
        columns += ["Jain, 8 alike", "Jain, round trips", "beside gcc", "beside CUBIC"]
    if board.edges is not None:
        columns += ["edge cases met"]
    if board.conformance is not None:
        columns += ["cases passed"]
    rows = []
    shares = standing(board)
    for name in order:
        cells: list[str | Cell] = [name, kind(name)]
        if board.networks is not None:
            alive = live(board.networks)
            cells.append(percent(shares.get(name, NO_FIGURE)))
            cells += [_mean(alive, name, measure) for measure in (PICTURE, P95, STALLED)]
            cells += [_mean(board.networks, name, measure) for measure in (P95, STALLED)]
        if board.company is not None:
            shown = [SHARINGS[at] for at in (2, 3, 4, 5)]
            cells += [_two_digits(board.company.estimate(name, sharing).mean) for sharing in shown]
        if board.edges is not None:
            cells.append(f"{len(board.edges.met(name))}/{len(EDGES)}" if name in board.edges.controllers else "")
        if board.conformance is not None:
            cells += _conformance(board, name)[:1]
        rows.append(tuple(cells))
    note = ""
    if board.networks is not None:
        floor = _mean(board.networks, board.networks.controllers[0], FLOOR)
        late = ", ".join(measure.title.partition(",")[0] for measure in TIMELY)
        note = (
            f"Sorted by the headroom closed: the way from `{BASE}` to `{CEILING}` on live links. Half of it is the "
            f"picture, half is how late it is ({late}); the share of each figure is cut to -100 to 100 %. "
            "Intervals of 95 % are over networks. Figures to its right are means. All links include those with "
            f"outages, which alone stall {floor} % of the time. "
        )
    note += "Fairness: Jain's index is 1 where all have the same; beside another flow 0.5 is half of what arrives."
    return Section("Standing", note, columns, rows)


def _mean(played: Calls, name: str, measure: Shown) -> str:
    found = played.mean(name, measure)
    return "" if found.mean is None else measure.text(found.mean)


def _two_digits(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _conformance(board: Board, name: str) -> list[str]:
    suite = board.conformance
    if suite is None or name not in suite.controllers:
        return ["", ""]
    checks = [check.passed for case in suite.judged for check in suite.verdicts[name, case.key].checks]
    return [f"{suite.passes(name)}/{len(suite.judged)}", f"{100 * sum(checks) / len(checks):.0f}"]


def of_networks(board: Board, order: Sequence[str]) -> Iterator[Section]:
    """The tables of calls that are alone on their links."""
    if board.networks is None:
        return
    every, alive = board.networks, live(board.networks)
    shown = ", ".join(f"{family} {count}" for family, count in alive.networks().items())
    yield Section(
        "Headroom closed on live links, by figure",
        f"In per cent of the way from {BASE} to {CEILING}, with 95 % intervals over {len(alive)} networks ({shown}).",
        ["controller", *(measure.title for measure in HEADROOM)],
        [(name, *(percent(alive.closed(name, BASE, CEILING, [m])) for m in HEADROOM)) for name in order],
    )
    yield means(f"The {len(alive)} live links", alive, order, MEASURES)
    shown = ", ".join(f"{family} {count}" for family, count in every.networks().items())
    yield means(
        f"All {len(every)} links, with outages",
        every,
        order,
        (*MEASURES[:4], FLOOR, *MEASURES[4:]),
        f"{shown}. The stall floor is what the outages of a link alone stall; a playout buffer that late frames "
        "have made long can bridge a part of it.",
    )
    yield by_setting(alive, order)
    for measure in FAMILY_MEASURES:
        yield by_family(alive, measure, order)


def means(title: str, played: Calls, order: Sequence[str], measures: Sequence[Shown], note: str = "") -> Section:
    """Figures of every controller, with intervals."""
    rows: list[Row] = []
    for name in order:
        cells = []
        for measure in measures:
            missing = played.missing(name, measure)
            text = measure.interval(played.mean(name, measure))
            cells.append(text + (f" [{missing} calls without]" if missing else ""))
        rows.append((name, *cells))
    return Section(title, note, ["controller", *(measure.title for measure in measures)], rows)


def differences(played: Calls, order: Sequence[str], base: str = BASE) -> Section:
    """Every controller minus the base, call by call; what excludes zero is marked as better or worse."""
    rows: list[Row] = []
    for name in order:
        if name == base:
            continue
        cells: list[str | Cell] = [name]
        for measure in JUDGED:
            found = played.difference(name, base, measure)
            text = measure.interval(found, sign=True)
            if not found.excludes_zero() or found.mean is None:
                cells.append(text)
            else:
                better = (found.mean > 0) == measure.more_is_better
                cells.append(Cell(text, "met" if better else "not-met"))
        rows.append(tuple(cells))
    note = "**Bold** is better and *slanted* is worse than it, with 95 % confidence."
    return Section(f"Minus `{base}`, call by call", note, ["controller", *(m.title for m in JUDGED)], rows)


def _has(name: str, value: str, call: Call) -> bool:
    return bool(getattr(call, name) == value)


def by_setting(played: Calls, order: Sequence[str]) -> Section:
    """Easy and hard clips, and encoders, on live links."""
    settings = played.settings
    parts = {setting: played.only(partial(_has, "setting", setting)) for setting in settings}
    columns = ["controller"]
    for setting in settings:
        columns += [f"{setting}: headroom, %", "p95, ms", "SSIM, dB"]
    rows: list[Row] = []
    for name in order:
        cells = []
        for part in parts.values():
            cells += [percent(closed(part, name)), _mean(part, name, P95)]
            cells.append(_mean(part, name, PICTURE))
        rows.append((name, *cells))
    return Section("By clip and encoder", "Live links.", columns, rows)


def by_family(played: Calls, measure: Shown, order: Sequence[str]) -> Section:
    """One figure on the links of each family."""
    families = played.networks()
    parts = {family: played.only(partial(_has, "family", family)) for family in families}
    rows = [(name, *(measure.interval(part.mean(name, measure)) for part in parts.values())) for name in order]
    title = f"{measure.title[0].upper()}{measure.title[1:]}, by family"
    columns = ["controller", *(f"{family} ({count})" for family, count in families.items())]
    return Section(title, "Live links.", columns, rows)


def of_company(found: Company, order: Sequence[str]) -> Section:
    """How controllers share."""
    rows: list[Row] = []
    for name in order:
        if (name, SHARINGS[0].key) in found.found:
            cells = []
            for sharing in SHARINGS:
                share = found.estimate(name, sharing)
                text = _two_digits(share.mean)
                cells.append(text if share.low is None else f"{text} ({share.low:.2f} to {share.high:.2f})")
            rows.append((name, *cells))
    note = (
        f"The second minute of two, means over {counted(found.seeds, 'seed')}, with 95 % intervals over them from "
        "five on. Asked: "
        + "; ".join(f"{sharing.title} {sharing.mark}" for sharing in SHARINGS)
        + ". Scenarios: scenarios/fairness."
    )
    return Section("Fairness", note, ["controller", *(sharing.title for sharing in SHARINGS)], rows)


def of_edges(found: Edges, order: Sequence[str]) -> Section:
    """Which edge cases are met, and the remaining rate in each."""
    rows: list[Row] = []
    for name in order:
        if name not in found.controllers:
            continue
        clean = GOODPUT.text(found.mean(name, CLEAN, GOODPUT))
        cells: list[str | Cell] = [name, f"{len(found.met(name))}/{len(EDGES)}", clean]
        for edge in EDGES:
            missed = [ask for ask in found.asks(name, edge) if not ask.met]
            text = _two_digits(found.goodput_ratio(name, edge.key))
            hint = "; ".join(f"{ask.what}: {ask.value:.3g}, asked {ask.mark:.3g}" for ask in missed)
            cells.append(Cell(text, "not-met", hint) if missed else text)
        rows.append(tuple(cells))
    note = (
        "Goodput over that on the clean link; *slanted* where something asked is missed, be it rate, delay or stalls. "
        "The goals are in docs/measured/edges.md; one that sends next to nothing on the clean link has low ones. On a "
        "static scene the rate is the encoder's. Scenarios: scenarios/edges."
    )
    return Section("Edge cases", note, ["controller", "met", "clean, kbit/s", *(edge.key for edge in EDGES)], rows)


def of_conformance(board: Board, order: Sequence[str]) -> Section | None:
    """Cases passed by section of RFC 8867 and 8869."""
    suite = board.conformance
    if suite is None:
        return None
    sections = list(dict.fromkeys(case.section for case in suite.judged))
    rows: list[Row] = []
    for name in order:
        if name not in suite.controllers:
            continue
        passed = []
        for section in sections:
            cases = [case for case in suite.judged if case.section == section]
            passed.append(f"{sum(suite.verdicts[name, case.key].passed for case in cases)}/{len(cases)}")
        rows.append((name, *_conformance(board, name), *passed))
    note = (
        f"{counted(len(suite.judged), 'case')} with a verdict; a mark is one figure of a case. The page "
        "docs/measured/conformance.md explains the marks, and judges the cases that are left out here too."
    )
    return Section("Conformance to RFC 8867 and 8869", note, ["controller", "passed", "marks met, %", *sections], rows)


def of_papers(board: Board, order: Sequence[str]) -> Iterator[Section]:
    """The two papers' settings, as ratios to `gcc`."""
    for setting in papers.SETTINGS:
        played = board.papers.get(setting.key)
        if played is None:
            continue
        columns = ["controller"]
        for measure, asked in setting.claims:
            what = measure.title.partition(",")[0]
            columns += [f"{what}, of {BASE}'s ({asked})", f"{what} on live links"]
        shown = (GOODPUT, P95, P98, STALLED, FLOOR, PICTURE)
        columns += [measure.title for measure in shown]
        alive = live(played)
        rows: list[Row] = []
        for name in order:
            cells = []
            for measure, _ in setting.claims:
                cells += [_ratio(which.over(name, BASE, measure)) for which in (played, alive)]
            rows.append((name, *cells, *(_mean(played, name, measure) for measure in shown)))
        networks = ", ".join(f"{family} {count}" for family, count in played.networks().items())
        yield Section(setting.title, f"{setting.ours} Links: {networks}; {len(alive)} of them are live.", columns, rows)


def _ratio(found: Estimate) -> str:
    text = _two_digits(found.mean)
    return text if found.low is None or found.high is None else f"{text} ({found.low:.2f} to {found.high:.2f})"
