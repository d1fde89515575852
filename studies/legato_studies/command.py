"""The command lines of studies: options as ``argparse`` takes them, work, and an error as one line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from legato.errors import Error

Given = argparse.Namespace
Options = Mapping[str, Mapping[str, Any]]
"""By name; the type is the default's."""
CLIPS: Options = {"--clips": {"type": Path, "nargs": "+", "required": True, "help": "video files"}}


def parser(program: str, about: str, options: Options) -> argparse.ArgumentParser:
    """``python -m legato_studies.PROGRAM``."""
    made = argparse.ArgumentParser(
        prog=f"python -m legato_studies.{program}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for option, how in options.items():
        kind = {} if "action" in how or how.get("default") is None else {"type": type(how["default"])}
        made.add_argument(option, **{**kind, **how})
    return made


def run(
    program: str,
    about: str,
    options: Options,
    work: Callable[[Given], str],
    arguments: Sequence[str] | None = None,
) -> int:
    """Do the work and print its output; an error of Legato's is a line, and status 2."""
    given = parser(program, about, options).parse_args(arguments)
    try:
        print(work(given))
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        return 2
    return 0
