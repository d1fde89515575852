"""The page of ``legato reproduce nvc-cc``: every claim with its verdict, and how trainings went, one HTML file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from importlib import resources
from pathlib import Path

from .nvc_cc import CLIPS, CONTROLLERS, FAMILIES, POLICIES, Reproduction
from .nvc_cc_claims import Row
from .nvc_cc_sessions import Sessions

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 560, 200, 40, 24
TITLES = {
    "Fig. 10": "Figure 10: how soon and how far trainings come",
    "Fig. 11": "Figure 11: quality, delay and stalls on unseen networks of Table 2",
    "Table 3": "Table 3: at the network",
    "Fig. 12, Ethernet": "Figure 12: recorded fixed links",
    "Fig. 12, cellular": "Figure 12: recorded cellular links",
    "Generalisation": "Beyond the paper: against GCC on links that nothing was trained on",
    "Fig. 4": "Figure 4: OnRL with H.264",
    "Fig. 5": "Figure 5: answers with and without the safeguard",
    "Fig. 6": "Figure 6: how often the safeguard holds",
    "Fig. 7": "Figure 7: what a safeguard gives a training and what it takes",
    "Fig. 8": "Figure 8: more with loss above less without",
    "Fig. 9": "Figure 9: a queue of one packet",
}


def write(done: Reproduction, path: Path) -> Path:
    """Write the page; it appears whole or not at all."""
    style = (resources.files(__package__) / "vtfrc.css").read_text(encoding="utf-8")
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>NVC-CC, made again</title><style>{style}</style></head><body><h1>NVC-CC, made again</h1>"
        f"{_introduction(done)}{_curves(done)}{_sections(done.rows)}{_tradeoff(done)}{_behind(done.sessions)}</body></html>\n"
    )
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    return path


def _introduction(done: Reproduction) -> str:
    size = done.size
    profiles = len(size.clips) * len(size.heights)
    verdicts = {word: sum(row.verdict == word for row in done.rows) for word in ("met", "not met", "not comparable")}
    counts = ", ".join(f"{count} {word}" for word, count in verdicts.items())
    families = "; ".join(f"{name}: {family} × {scale:g}" for name, (family, scale) in FAMILIES.items())
    return (
        f"<p>Xia, Li, Jiang: Loss-tolerant neural video codec aware congestion control. {size.networks} networks × "
        f"{profiles} clip profiles, {done.sessions.count('synthetic')} sessions a controller, Legato "
        f"{escape(done.version)}: {counts}. "
        "Means with 95 % bootstrap intervals over networks, of trainings over seeds. "
        "The codec is a stand-in fitted to GRACE's published figures. What is read how, and what differs: "
        "<code>docs/papers/nvc-cc.md</code>.</p>"
        "<p><b>Training and test are apart.</b> Trainings draw networks from streams of their own; the networks here "
        f"are those of seeds 1 to {size.networks}. Clips here ({', '.join(CLIPS)}) are in no training. Recorded links "
        f"are in no training at all. A clip profile is a clip at a size: {len(size.clips)} clips × "
        f"{len(size.heights)} heights. Families and what their rates are multiplied by: {escape(families)}.</p>"
    )


def _sections(rows: Sequence[Row]) -> str:
    tables = dict.fromkeys(row.table for row in rows)
    return "".join(_table(TITLES.get(table, table), [row for row in rows if row.table == table]) for table in tables)


def _table(title: str, rows: Sequence[Row]) -> str:
    body = "".join(
        f"<tr><td>{escape(row.name)}</td><td>{escape(row.published)}</td><td>{number(row.mean)}</td>"
        f"<td>{_span(row)}</td><td>{row.unit}</td>"
        f"<td class='{row.verdict.replace(' ', '-')}' title='{escape(row.why, quote=True)}'>{row.verdict}</td></tr>"
        for row in rows
    )
    head = "<tr><th>figure</th><th>published</th><th>ours</th><th>interval</th><th>unit</th><th>verdict</th></tr>"
    return f"<h2>{escape(title)}</h2><table><thead>{head}</thead><tbody>{body}</tbody></table>"


def interval(row: Row) -> str:
    """The interval as a reader of a terminal sees it: with the unit."""
    return f"{_span(row)} {row.unit}".rstrip()


def _span(row: Row) -> str:
    return "–" if row.low is None or row.high is None else f"{number(row.low)} … {number(row.high)}"


def number(value: float | str | None) -> str:
    """Three digits that count; a printed figure as it is printed."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return "–"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 0.1 else 3
    return f"{value:.{digits}f}".replace("-", "−")


_BEHIND = {
    "ssim_db_mean": ("SSIM dB", 1.0, 2),
    "viewed_ssim_db_mean": ("viewed SSIM dB", 1.0, 2),
    "frame_delay_p98_ms": ("p98 frame delay ms", 1.0, 0),
    "stalls_per_s": ("stalls a second", 1.0, 3),
    "stall_ratio": ("time stalled %", 100.0, 2),
    "receiver_rate_bps": ("throughput Mbit/s", 1e-6, 2),
    "utilisation_ratio": ("utilisation %", 100.0, 0),
    "loss_ratio": ("loss %", 100.0, 1),
    "qoe_p": ("QoE p", 1.0, 2),
    "qoe_d": ("QoE d", 1.0, 2),
}


def _behind(sessions: Sessions) -> str:
    parts = ["<h2>Behind them</h2>"]
    for setting in ("synthetic", *FAMILIES, "Fig. 4"):
        there = [name for name in CONTROLLERS if name in sessions.controllers(setting)]
        if not there:
            continue
        body = ""
        for controller in there:
            cells = ""
            for figure, (_, scale, digits) in _BEHIND.items():
                mean = sessions.mean(setting, controller, figure).mean
                cells += f"<td>{'–' if mean is None else f'{mean * scale:.{digits}f}'.replace('-', '−')}</td>"
            body += f"<tr><td>{escape(controller)}</td>{cells}</tr>"
        head = "".join(f"<th>{title}</th>" for title, _, _ in _BEHIND.values())
        parts.append(
            f"<h3>{escape(setting)}: {sessions.networks(setting)} networks, {sessions.count(setting)} sessions a "
            f"controller</h3><table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"
        )
    return "".join(parts)


def _tradeoff(done: Reproduction) -> str:
    """Figure 7: a point a training."""
    if not done.convergences:
        return ""
    kinds = list(dict.fromkeys(each.n_std for each in done.convergences))
    end = 1.05 * max(each.steps for each in done.convergences)
    rewards = [each.reward for each in done.convergences]
    margin = 0.1 * (max(rewards) - min(rewards) or 1.0)
    low, high = min(rewards) - margin, max(rewards) + margin

    place = _place(end, low, high)
    points = ""
    for each in done.convergences:
        x, y = place(each.steps, each.reward)
        shade = 0.25 + 0.75 * kinds.index(each.n_std) / max(len(kinds) - 1, 1)
        kind = "no safeguard" if each.n_std is None else f"n_std {each.n_std:g}"
        points += (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="#1f4e79" opacity="{shade:.2f}">'
            f"<title>{kind}, seed {each.seed}: {each.reward:.3f}, {each.steps} decisions</title></circle>"
        )
    named = ", ".join("none" if kind is None else f"{kind:g}" for kind in kinds)
    key = (
        "<p class='key'>Mean reward of eq. (2) a decision until a training has converged against its decisions until "
        f"then; the darker, the more sensitive the safeguard ({named} deviations).</p>"
    )
    return (
        f'<h2>Figure 7</h2>{key}<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="Reward until convergence against decisions">{_rules(end, low, high)}{points}</svg></figure>'
    )


def _curves(done: Reproduction) -> str:
    """Reward on held-out networks against steps, a line a training."""
    lines = [
        (n, [(point[0], point[2]) for point in seed["evaluations"]])
        for n, name in enumerate(POLICIES)
        for seed in done.curves.get(name, [])
    ]
    everything = [point for _, points in lines for point in points]
    if not everything:
        return ""
    end = max(x for x, _ in everything)
    low, high = min(0.0, min(y for _, y in everything)), max(y for _, y in everything) * 1.05

    place = _place(end, low, high)
    kinds = ("c0", "c1", "t1")
    paths = "".join(f'<path class="{kinds[n]}" d="M{_line(place, points)}"/>' for n, points in lines)
    key = (
        f'<p class="key"><b class="k0">{POLICIES[0]}</b> · <b class="k1">{POLICIES[1]}</b> · grey, dashed: '
        f"{POLICIES[2]} under its safeguard. Mean reward of eq. (3) on 50 held-out networks against decisions.</p>"
    )
    return (
        f'<h2>Trainings</h2>{key}<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="Reward against decisions">{_rules(end, low, high)}{paths}</svg></figure>'
    )


Place = Callable[[float, float], tuple[float, float]]


def _place(end: float, low: float, high: float) -> Place:
    """Where decisions, to ``end``, and a reward from ``low`` to ``high`` are in the picture."""

    def place(steps: float, reward: float) -> tuple[float, float]:
        x = _LEFT + (_WIDTH - _LEFT - 8) * steps / end
        return x, 6 + (_HEIGHT - _BOTTOM - 6) * (1 - (reward - low) / (high - low))

    return place


def _line(place: Place, points: Sequence[tuple[float, float]]) -> str:
    return "L".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))


def _rules(end: float, low: float, high: float) -> str:
    """Lines at five rewards, with their figures, and five numbers of decisions."""
    place, rules = _place(end, low, high), ""
    for n in range(5):
        steps, value = end * n / 4, low + (high - low) * n / 4
        x, y = place(steps, value)
        rules += f'<path class="rule" d="M{_LEFT},{y:.1f}H{_WIDTH - 8}"/>'
        rules += f'<text x="{_LEFT - 4}" y="{y + 3:.1f}" text-anchor="end">{value:.2f}</text>'
        rules += f'<text x="{x:.1f}" y="{_HEIGHT - 6}" text-anchor="middle">{steps / 1e3:.0f}k</text>'
    return rules
