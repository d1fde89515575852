"""The page of ``legato reproduce clcc``: figures by set of networks, and the annotated run, in one file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from .clcc import CLIFF_S, CLIP, NETWORKS, RECOVERY_S, Reproduction
from .clcc_figures import BETTER, CONTROLLERS, Row, table_of

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 190, 44, 22

_GROUPS = {
    "random": "Random networks (Figures 3 and 5)",
    "LTE": "LTE traces as recorded (Figures 4 and 6)",
    "LTE at a fifth": "LTE traces at a fifth of their rate (not in the paper)",
}
TITLES = {
    table_of(group, rival): f"{title}: CLCC against {rival.upper()}"
    for rival in ("gcc", "hrcc")
    for group, title in _GROUPS.items()
}


def write(done: Reproduction, path: Path) -> Path:
    """Write the page; it appears whole or not at all."""
    document = json.loads((done.folder / "reproduction.json").read_text(encoding="utf-8"))
    style = (resources.files(__package__) / "vtfrc.css").read_text(encoding="utf-8")
    tables = dict.fromkeys(row.table for row in done.rows)
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>CLCC, made again</title><style>{style}</style></head><body><h1>CLCC, made again</h1>"
        f"{_introduction(done)}"
        f"{''.join(_table(TITLES[table], done.rows, table) for table in tables)}"
        f"{_annotated(document['figure_7'])}</body></html>\n"
    )
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    return path


def _introduction(done: Reproduction) -> str:
    counts = {
        group: len({(call.network, call.repeat) for call in done.calls if call.networks == group})
        for group in dict.fromkeys(call.networks for call in done.calls)
    }
    told = ", ".join(f"{count} calls on {group}" for group, count in counts.items())
    trained = done.trained
    return (
        "<p>Li, Lu, Xu, Song, Zhang, Li, Yin: Reinforcement Learning Based Cross-Layer Congestion Control for "
        f"Real-Time Communication. A receiver that sees packets and frames, against GCC and HRCC: {told}, of each "
        f"controller, 45 s each, clip {CLIP}, Legato {escape(done.version)}. "
        "Changes from a rival's mean to CLCC's, with 95 % bootstrap intervals over networks (LTE: over files).</p>"
        f"<p>The policy is of seed {trained.get('seed', '?')} of five, {trained.get('steps', '?'):,} decisions "
        f"(<code>{escape(str(trained.get('command', '?')))}</code>). It was trained on other random networks "
        f"(drawn from other seeds than these {NETWORKS} a repeat), on no LTE trace, and with other clips. "
        "HRCC is this repository's, read from its slides and facts of its code (<code>docs/papers/hrcc.md</code>), and "
        "trained on the same networks and clips. VMAF is not computed: SSIM in dB stands beside it. "
        "Readings and shortfalls: "
        "<code>docs/papers/clcc.md</code>.</p>"
    )


def _table(title: str, rows: Sequence[Row], table: str) -> str:
    body = "".join(
        f"<tr><td>{escape(row.name)}</td><td>{_printed(row)}</td><td>{number(row.mean)}</td><td>{interval(row)}</td>"
        f"{''.join(f'<td>{_own(row, name)}</td>' for name in CONTROLLERS)}"
        f"<td class='{row.verdict.replace(' ', '-')}' title='{escape(row.why, quote=True)}'>{row.verdict}</td></tr>"
        for row in rows
        if row.table == table
    )
    columns = ("change", "published", "ours", "interval", *CONTROLLERS, "verdict")
    head = "".join(f"<th>{name}</th>" for name in columns)
    return f"<h2>{escape(title)}</h2><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def number(value: float | None) -> str:
    """A change as a reader sees it."""
    return "–" if value is None else f"{value:+.2f}".replace("-", "−")


def interval(row: Row) -> str:
    """The interval as a reader sees it."""
    return "–" if row.low is None or row.high is None else f"{number(row.low)} … {number(row.high)}"


def _printed(row: Row) -> str:
    return "better" if row.published == BETTER else number(row.published)


_OWN = {
    "packet delay (%)": ("ms", 1.0, 1),
    "packet loss (%)": ("%", 100.0, 2),
    "frame PSNR (dB)": ("dB", 1.0, 2),
    "VMAF; ours SSIM (dB)": ("dB", 1.0, 2),
    "frame delay (%)": ("ms", 1.0, 1),
    "frame drops (%)": ("%", 100.0, 2),
    "receiving rate (%)": ("kbit/s", 1e-3, 0),
}
"""How a controller's own mean is told: unit, scale and digits."""


def _own(row: Row, controller: str) -> str:
    unit, scale, digits = _OWN.get(row.name, ("", 1.0, 2))
    if controller not in row.values:
        return "–"
    return f"{row.values[controller] * scale:.{digits}f} {unit}".strip()


def _annotated(figure: Mapping[str, Any]) -> str:
    told = figure["behaviour"]
    rows = "".join(
        "<tr>"
        + "".join(f"<td>{cell}</td>" for cell in [name, *(_told(told[name][key], by) for key, _, by in _BEHAVIOUR)])
        + "</tr>"
        for name in CONTROLLERS
    )
    head = "".join(f"<th>{title}</th>" for _, title, _ in _BEHAVIOUR)
    series = figure["series"]
    plots = []
    for title, column, scale in (
        ("Target, Mbit/s; grey: capacity", "target_bps", 1e-6),
        ("Packet delay, ms", "one_way_delay_ms", 1.0),
        ("Rows of the picture", "height", 1.0),
    ):
        lines = [(f"c{n}", _points(series[name][column], scale)) for n, name in enumerate(CONTROLLERS)]
        if column == "target_bps":
            lines.insert(0, ("t0", _points(series[CONTROLLERS[0]]["capacity_bps"], 1e-6)))
        plots.append(_plot(title, lines))
    return (
        f"<h2>One run (Figure 7)</h2><p>3 Mbit/s, 0.6 from {CLIFF_S:g} s to {RECOVERY_S:g} s, 50 ms one way, "
        "300 ms of queue. The paper: CLCC climbs faster, cuts deeper at the cliff, and holds where the picture "
        "gains nothing.</p>"
        f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f'<p class="key">{" · ".join(f"""<b class="k{n}">{name}</b>""" for n, name in enumerate(CONTROLLERS))}</p>'
        f'<div class="figures">{"".join(plots)}</div>'
    )


_BEHAVIOUR = (
    ("reaches_1mbps_s", "reaches 1 Mbit/s, s", 1.0),
    ("lowest_after_cliff_bps", "lowest target in 5 s after the cliff, kbit/s", 1e-3),
    ("late_rise_ratio", "rise over the last 5 s before it, %", 100.0),
)


def _told(value: float | None, scale: float) -> str:
    return "never" if value is None else f"{value * scale:.1f}".replace("-", "−")


def _points(series: Sequence[Sequence[Any]], scale: float) -> list[tuple[float, float]]:
    return [(float(at), float(value) * scale) for at, value in series if value is not None]


def _plot(title: str, lines: Sequence[tuple[str, Sequence[tuple[float, float]]]]) -> str:
    everything = [point for _, points in lines for point in points] or [(0.0, 0.0)]
    end = max(x for x, _ in everything) or 1.0
    high = max(y for _, y in everything) * 1.05 or 1.0

    def place(x: float, y: float) -> str:
        left = _LEFT + (_WIDTH - _LEFT - 8) * x / end
        return f"{left:.1f},{6 + (_HEIGHT - _BOTTOM - 6) * (1 - y / high):.1f}"

    rules = ""
    for n in range(5):
        y = place(0.0, high * n / 4).partition(",")[2]
        x = place(end * n / 4, 0.0).partition(",")[0]
        rules += f'<path class="rule" d="M{_LEFT},{y}H{_WIDTH - 8}"/>'
        rules += f'<text x="{_LEFT - 4}" y="{float(y) + 3}" text-anchor="end">{high * n / 4:.3g}</text>'
        rules += f'<text x="{x}" y="{_HEIGHT - 6}" text-anchor="middle">{end * n / 4:.0f}</text>'
    for at in (CLIFF_S, RECOVERY_S):
        x = place(at, 0.0).partition(",")[0]
        rules += f'<path class="rule" d="M{x},6V{_HEIGHT - _BOTTOM}"/>'
    paths = "".join(
        f'<path class="{kind}" d="M{"L".join(place(*point) for point in points)}"/>' for kind, points in lines if points
    )
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title, quote=True)}">{rules}{paths}</svg></figure>'
    )
