"""Every controller on the same page (``legato leaderboard``): recorded links, company, conformance, papers' settings.

:func:`leaderboard` plays the calls; :mod:`legato_studies.leaderboard.page` writes it as HTML and as Markdown.
"""

from legato_studies.leaderboard.board import CLIPS, ENCODERS, PARTS, Board, Size, leaderboard
from legato_studies.leaderboard.calls import Calls
from legato_studies.leaderboard.links import NAMES, held_out, mixed
from legato_studies.leaderboard.page import write_markdown, write_page

__all__ = [
    "CLIPS",
    "ENCODERS",
    "NAMES",
    "PARTS",
    "Board",
    "Calls",
    "Size",
    "held_out",
    "leaderboard",
    "mixed",
    "write_markdown",
    "write_page",
]
