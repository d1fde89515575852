"""Plays, renders and checks the pages of docs that studies write.

python -m legato_studies.pages                      their names
python -m legato_studies.pages NAME [OPTION ...]    play, keep what was found in studies/results, write the page
python -m legato_studies.pages NAME --render        write the page of what is kept
python -m legato_studies.pages --check              status 1 if a page is not what its data give
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from legato_studies import command
from legato_studies.page import Page, Tables, stale

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_"))


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    if arguments and arguments[0] in NAMES:
        return one(arguments[0], arguments[1:])
    parser = argparse.ArgumentParser(
        prog="python -m legato_studies.pages", usage="%(prog)s [NAME [OPTION ...] | --check]"
    )
    parser.add_argument("--check", action="store_true", help="status 1 if a page is not what its data give")
    parser.add_argument("name", nargs="?", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    if not parser.parse_args(arguments).check:
        print("\n".join(NAMES))
        return 0
    wrong = [path for name in NAMES for path in stale(page_of(name))]
    for path in wrong:
        print(f"{path}: is not what its data in studies/results give: --render writes it", file=sys.stderr)
    return 1 if wrong else 0


def one(name: str, arguments: Sequence[str]) -> int:
    """Play or render one page."""
    page = page_of(name)
    about = sys.modules[f"legato_studies.pages.{name}"].__doc__ or ""
    render = {"--render": {"action": "store_true", "help": "write the page of what is kept, without playing"}}
    options = command.parser(f"pages {name}", about, {**page.options, **render}).parse_args(arguments)
    if options.render:
        page.write()
    else:
        page.run(options)
    return 0


def page_of(name: str) -> Page | Tables:
    """The page that a module declares."""
    page: Page | Tables = importlib.import_module(f"legato_studies.pages.{name}").PAGE
    return page


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
