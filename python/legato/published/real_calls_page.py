"""The page of ``legato reproduce NAME --real``: a table a kind of link; one self-contained HTML file."""

from __future__ import annotations

from html import escape
from importlib import resources
from pathlib import Path

from .r3net_page import interval, number, table
from .real_calls import PICTURES, RealReproduction

__all__ = ["interval", "number", "write"]


def write(done: RealReproduction, path: Path) -> Path:
    """Write the page; it appears whole or not at all."""
    style = (resources.files(__package__) / "vtfrc.css").read_text(encoding="utf-8")
    study = done.study
    counted = sum(call.valid for call in done.calls)
    title = f"{study.ours} in real calls"
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body><h1>{escape(title)}</h1>"
        f"<p>{escape(study.ours)} and {escape(', '.join(study.rivals))} over the same windows of recorded links, "
        f"H.264 of {PICTURES.width}x{PICTURES.height} through WebRTC on real sockets, both ends ours; Legato "
        f"{escape(done.version)}. {len(done.calls)} calls were made, {counted} of them count: the emulated link of the "
        "others was more than 2 ms late. Means over calls with 95 % bootstrap intervals over recordings, "
        f"or over windows of the only one. "
        f"{escape(study.note)}</p>"
        + "".join(table(title, [row for row in done.rows if row.table == name]) for name, title in done.titles.items())
        + "</body></html>\n"
    )
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    return path
