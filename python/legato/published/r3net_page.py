"""The page of ``legato reproduce r3net``: Table 1, R3Net beside its rivals, Figure 2; one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path

from .r3net import OURS, RIVALS, Reproduction, Row

TITLES = {"1": "Table 1: in simulation"} | {f"against {rival}": f"{OURS}, less {rival}" for rival in RIVALS}
"""Tables by their names in rows."""
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 220, 44, 24


def write(done: Reproduction, path: Path) -> Path:
    """Write the page; it appears whole or not at all."""
    style = (resources.files(__package__) / "vtfrc.css").read_text(encoding="utf-8")
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>R3Net, made again</title><style>{style}</style></head><body><h1>R3Net, made again</h1>"
        f"<p>Fang et al. 2019: a recurrent network at the receiver decides every 50 ms, against an unscented Kalman "
        f"filter with rules. {done.networks} networks of 30 s, {done.seeds} seed{'s' * (done.seeds > 1)}, Legato "
        f"{escape(done.version)}. Means over calls with 95 % bootstrap intervals over recordings. The paper's traces "
        "are private: ours are windows of recorded broadband and LTE capacity, a fifth of the files, none of which any "
        "training or choice of settings saw. <code>ukf</code> is ours too. What differs from the paper: "
        "<code>docs/papers/r3net.md</code>.</p>"
        + "".join(table(title, [row for row in done.rows if row.table == name]) for name, title in TITLES.items())
        + _figure(done)
        + "</body></html>\n"
    )
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    return path


def interval(row: Row) -> str:
    """The interval as a reader sees it."""
    return "–" if row.low is None or row.high is None else f"{number(row.low)} … {number(row.high)}"


def number(value: float | None) -> str:
    """Three digits, and a minus that is one."""
    if value is None or value != value:
        return "–"
    return (f"{value:.0f}" if abs(value) >= 1_000 else f"{value:.3g}").replace("-", "−")


def table(title: str, rows: Sequence[Row]) -> str:
    """Rows under a title."""
    body = "".join(
        f"<tr><td>{escape(row.name)}</td><td>{number(row.published)}</td><td>{number(row.mean)}</td>"
        f"<td>{interval(row)}</td>"
        f"<td class='{row.verdict.replace(' ', '-')}' title='{escape(row.why, quote=True)}'>{row.verdict}</td></tr>"
        for row in rows
    )
    head = "<tr><th>figure</th><th>published</th><th>ours</th><th>interval</th><th>verdict</th></tr>"
    return f"<h2>{escape(title)}</h2><table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _figure(done: Reproduction) -> str:
    """Figure 2: what arrived of one call, under what the link could carry."""
    curves = done.curves
    lines = [(kind, curves[name]) for kind, name in (("t0", "capacity"), ("c1", "ukf"), ("c0", OURS)) if name in curves]
    points = [point for _, line in lines for point in line] or [[0.0, 1.0]]
    end, high = max(x for x, _ in points) or 1.0, 1.03 * max(y for _, y in points) or 1.0

    def place(x: float, y: float) -> str:
        return (
            f"{_LEFT + (_WIDTH - _LEFT - 8) * x / end:.1f},{6 + (_HEIGHT - _BOTTOM - 6) * (1 - min(y / high, 1.0)):.1f}"
        )

    rules = ""
    for n in range(5):
        y = place(0.0, high * n / 4).partition(",")[2]
        rules += f'<path class="rule" d="M{_LEFT},{y}H{_WIDTH - 8}"/>'
        rules += f'<text x="{_LEFT - 4}" y="{float(y) + 3}" text-anchor="end">{high * n / 4:.0f}</text>'
        x = place(end * n / 4, 0.0).partition(",")[0]
        rules += f'<text x="{x}" y="{_HEIGHT - 6}" text-anchor="middle">{end * n / 4:.0f}</text>'
    paths = "".join(f'<path class="{kind}" d="M{"L".join(place(x, y) for x, y in line)}"/>' for kind, line in lines)
    title = f"Receive rate over time, kbit/s by seconds, {curves['recording']} (as Figure 2; means of 0.5 s)"
    return (
        f'<h2>One run</h2><p class="key"><b class="k0">{OURS}</b> · <b class="k1">ukf</b> · grey: capacity</p>'
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title, quote=True)}">{rules}{paths}</svg></figure>'
    )
