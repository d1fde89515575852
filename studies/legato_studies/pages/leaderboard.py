"""Writes docs/measured/leaderboard.md: every controller on one page, as ``legato leaderboard`` plays it.

python -m legato_studies.pages leaderboard [--out FOLDER]
"""

from __future__ import annotations

from pathlib import Path

from legato_studies.leaderboard import leaderboard
from legato_studies.leaderboard.page import marked, said, sections
from legato_studies.page import Found, Options, Page


def play(options: Options) -> Found:
    """All parts at their size; a run that was stopped goes on."""
    done = leaderboard([], out=options.out, resume=options.out.exists())
    command = "python -m legato_studies.pages leaderboard"
    return Found({"introduction": said(done, command), "sections": marked(sections(done))})


PAGE = Page(
    "leaderboard", play, {"--out": {"default": Path("runs/leaderboard"), "help": "where the runs are", "type": Path}}
)
