"""The page of ``legato reproduce vtfrc``: both tables and the four figures, one self-contained HTML file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from .vtfrc import BIN_S, CONTROLLERS, TCP_START_S, Reproduction, Row

TITLES = {"II": "Table II: friendliness F", "III": "Table III: gain over jm-tfrc"}
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 560, 180, 40, 22


def write(done: Reproduction, path: Path) -> Path:
    """Write the page; it appears whole or not at all."""
    curves = json.loads((done.folder / "reproduction.json").read_text(encoding="utf-8"))["figures"]
    style = (resources.files(__package__) / "vtfrc.css").read_text(encoding="utf-8")
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Video TFRC, made again</title><style>{style}</style></head><body><h1>Video TFRC, made again</h1>"
        f"<p>Tan, Chen, Ardon, Lochin, ICC 2008: 1.5 Mbit/s, 160 ms, 100 packets of queue, "
        f"three TCP Reno flows from {TCP_START_S:g} s on, "
        f"small pictures at 20 a second. {len(done.clips)} clips, {done.seeds} seeds, Legato {escape(done.version)}. "
        "Means with 95 % bootstrap intervals: over seeds for a clip, over clips for a mean. "
        "What differs from the paper: "
        "<code>docs/papers/vtfrc.md</code>.</p>"
        f"{_table('Table II: TCP-friendliness F, in packets a second', done.rows, 'II')}"
        f"{_table('Table III: gain in luma PSNR over jm-tfrc', done.rows, 'III')}"
        f"{_loads(done)}{_figures(curves)}</body></html>\n"
    )
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    return path


def _table(title: str, rows: Sequence[Row], table: str) -> str:
    body = "".join(
        f"<tr><td>{escape(row.name)}</td><td>{number(row.published)}</td><td>{number(row.mean)}</td>"
        f"<td>{interval(row)}</td>"
        f"<td class='{row.verdict.replace(' ', '-')}' title='{escape(row.why, quote=True)}'>{row.verdict}</td></tr>"
        for row in rows
        if row.table == table
    )
    head = "<tr><th>figure</th><th>published</th><th>ours</th><th>interval</th><th>verdict</th></tr>"
    return f"<h2>{escape(title)}</h2><table><thead>{head}</thead><tbody>{body}</tbody></table>"


def interval(row: Row) -> str:
    """The interval as a reader sees it."""
    return "–" if row.low is None or row.high is None else f"{number(row.low)} … {number(row.high)}"


def number(value: float | None) -> str:
    """A figure as a reader sees it."""
    return "–" if value is None or value != value else f"{value:.2f}".replace("-", "−")


def _loads(done: Reproduction) -> str:
    """What stands behind F: rates, packets and loss, by controller and clip."""
    body = ""
    for clip in done.clips:
        for controller in CONTROLLERS:
            own = [call for call in done.calls if (call.clip, call.controller) == (clip, controller)]
            mean = {name: sum(getattr(c, name) for c in own) / len(own) for name in _LOADS}
            cells = "".join(f"<td>{mean[name] * scale:.{digits}f}</td>" for name, (_, scale, digits) in _LOADS.items())
            body += f"<tr><td>{escape(clip)}, {controller}</td>{cells}</tr>"
    head = "".join(f"<th>{title}</th>" for title, _, _ in _LOADS.values())
    return (
        "<h2>Behind them</h2><p>F in bits is what packet sizes do to F: video packets are smaller than TCP's.</p>"
        f"<table><thead><tr><th>clip</th>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


_LOADS = {
    "sending_bps": ("video kbit/s", 1e-3, 0),
    "tcp_sending_bps": ("a TCP kbit/s", 1e-3, 0),
    "packets_per_s": ("video packets/s", 1.0, 1),
    "tcp_packets_per_s": ("a TCP packets/s", 1.0, 1),
    "friendliness_bytes": ("F in bits", 1.0, 2),
    "loss_ratio": ("video loss %", 100.0, 2),
    "coded_psnr_db": ("PSNR coded dB", 1.0, 2),
    "viewed_psnr_db": ("PSNR viewed dB", 1.0, 2),
}


def _figures(curves: dict[str, Any]) -> str:
    parts = []
    for clip, of_clip in curves.items():
        rates = [(f"c{n}", of_clip["sending"][name]["video_bps"]) for n, name in enumerate(CONTROLLERS)]
        rates += [(f"t{n}", of_clip["sending"][name]["tcp_mean_bps"]) for n, name in enumerate(CONTROLLERS)]
        lines = [(kind, [(x, y / 1e3) for x, y in points]) for kind, points in rates]
        parts.append(_figure(f"Sending rate, kbit/s, {clip} (as Figures 5 and 6; means of {BIN_S:g} s)", lines, 0.0))
        quality = [
            (f"c{n}", [(float(at), y) for at, y in enumerate(of_clip["coded_psnr_db"][name]) if y is not None])
            for n, name in enumerate(CONTROLLERS)
        ]
        least = min((y for _, points in quality for _, y in points), default=0.0)
        parts.append(_figure(f"Luma PSNR of each frame at the sender, dB, {clip} (as Figures 7 and 8)", quality, least))
    key = (
        f'<p class="key"><b class="k0">{CONTROLLERS[0]}</b> · <b class="k1">{CONTROLLERS[1]}</b> · '
        "grey: the mean of the TCP flows beside them, dashed beside the second. The first seed of each.</p>"
    )
    return f'<h2>Over time</h2>{key}<div class="figures">{"".join(parts)}</div>'


def _figure(title: str, lines: Sequence[tuple[str, Sequence[tuple[float, float]]]], least: float) -> str:
    everything = [point for _, points in lines for point in points] or [(0.0, 0.0)]
    end = max(x for x, _ in everything) or 1.0
    low, high = 10 * (least // 10), max(y for _, y in everything) * 1.03
    high = max(high, low + 1.0)

    def place(point: tuple[float, float]) -> str:
        x = _LEFT + (_WIDTH - _LEFT - 8) * point[0] / end
        y = 6 + (_HEIGHT - _BOTTOM - 6) * (1 - (point[1] - low) / (high - low))
        return f"{x:.1f},{y:.1f}"

    rules = ""
    for n in range(5):
        value = low + (high - low) * n / 4
        y = place((0.0, value)).partition(",")[2]
        rules += f'<path class="rule" d="M{_LEFT},{y}H{_WIDTH - 8}"/>'
        rules += f'<text x="{_LEFT - 4}" y="{float(y) + 3}" text-anchor="end">{value:.0f}</text>'
        x = place((end * n / 4, low)).partition(",")[0]
        rules += f'<text x="{x}" y="{_HEIGHT - 6}" text-anchor="middle">{end * n / 4:.0f}</text>'
    paths = "".join(f'<path class="{kind}" d="M{"L".join(map(place, points))}"/>' for kind, points in lines if points)
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title, quote=True)}">{rules}{paths}</svg></figure>'
    )
