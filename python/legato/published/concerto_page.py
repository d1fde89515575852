"""The page of ``legato reproduce concerto``: its figures and tables as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path

from .. import access_networks
from .concerto import SCHEMES, Call, Reproduction, Row, mean

TITLES = {
    "Fig. 19": "Fig. 19: the two scores",
    "Fig. 20": "Fig. 20: throughput, Concerto's over",
    "Fig. 21": "Fig. 21: frame delay, Concerto's over",
    "5.3": "Section 5.3: smoothness",
    "Table 3": "Table 3: inputs and losses, QoE_p without its constant, over the whole's",
    "Table 4": "Table 4: trained on one kind of access, tested on another",
}
_BEHIND = (
    ("qoe_p", "QoE_p", 1.0, 3),
    ("qoe_d", "QoE_d", 1.0, 3),
    ("ssim_db", "SSIM dB", 1.0, 2),
    ("throughput_bps", "throughput kbit/s", 1e-3, 0),
    ("frame_delay_ms", "frame delay ms", 1.0, 0),
    ("stall_ratio", "stalled %", 100.0, 1),
    ("smoothness_mbps", "step Mbit/s", 1.0, 3),
)


def write(done: Reproduction, path: Path) -> Path:
    """Write the page; it appears whole or not at all."""
    style = (resources.files(__package__) / "vtfrc.css").read_text(encoding="utf-8")
    conditions = len({(call.access, *call.condition) for call in done.calls})
    tables = "".join(_table(title, [row for row in done.rows if row.table == table]) for table, title in TITLES.items())
    trained = (
        "Tables 3 and 4 were left out."
        if done.trainings_s is None
        else f"The trainings of Tables 3 and 4 took {done.trainings_s / 60:.0f} min."
    )
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Concerto, made again</title><style>{style}</style></head><body><h1>Concerto, made again</h1>"
        "<p>Zhou et al., MobiCom 2019, in calls of a minute over recorded 3G, 4G and Wi-Fi links slowed into the range "
        f"of its bitrates. {conditions} networks and clips, {done.seeds} seeds, Legato {escape(done.version)}. Means "
        "with 95 % bootstrap intervals over networks and clips. Training and tests share no trace file and no clip: "
        f"tests have every fifth file ({escape(_files())}) and the clips {', '.join(access_networks.TEST_CLIPS)}. "
        f"{trained} What differs from the paper, and what its normalised scores may be: "
        "<code>docs/papers/concerto.md</code>.</p>"
        f"{tables}{_behind(done.calls)}</body></html>\n"
    )
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    return path


def _files() -> str:
    named = ((access, access_networks.files(access, "test")) for access in access_networks.ACCESSES)
    return "; ".join(f"{access}: {', '.join(path.name for path in paths)}" for access, paths in named)


def _table(title: str, rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    body = "".join(
        f"<tr><td>{escape(row.name)}</td><td>{number(row.published)}</td><td>{number(row.mean)}</td>"
        f"<td>{interval(row)}</td><td class='{row.verdict.replace(' ', '-')}' "
        f"title='{escape(row.why, quote=True)}'>{row.verdict}</td></tr>"
        for row in rows
    )
    head = "<tr><th>figure</th><th>published</th><th>ours</th><th>interval</th><th>verdict</th></tr>"
    return f"<h2>{escape(title)}</h2><table><thead>{head}</thead><tbody>{body}</tbody></table>"


def interval(row: Row) -> str:
    """The interval as a reader sees it."""
    return "–" if row.low is None or row.high is None else f"{number(row.low)} … {number(row.high)}"


def number(value: float | None) -> str:
    """A figure as a reader sees it."""
    return "–" if value is None or value != value else f"{value:.3f}".replace("-", "−")


def _behind(calls: Sequence[Call]) -> str:
    """What stands behind the scores, by access and scheme."""
    body = ""
    for access in access_networks.ACCESSES:
        here = [call for call in calls if call.access == access]
        for scheme in SCHEMES:
            means = [(mean(here, figure, scheme).mean, scale, digits) for figure, _, scale, digits in _BEHIND]
            cells = "".join(f"<td>{'–' if m is None else f'{m * scale:.{digits}f}'}</td>" for m, scale, digits in means)
            body += f"<tr><td>{access}, {escape(scheme)}</td>{cells}</tr>"
    head = "".join(f"<th>{title}</th>" for _, title, _, _ in _BEHIND)
    return f"<h2>Behind them</h2><table><thead><tr><th>scheme</th>{head}</tr></thead><tbody>{body}</tbody></table>"
