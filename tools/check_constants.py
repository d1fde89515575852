"""Refuses a constant of the controllers that says neither where it comes from nor why it is so.

    python3 tools/check_constants.py [ROOT]

In the sources of crates/control and crates/controllers, outside tests, a `const` that is a number (or numbers, or a
time, rate or size) needs a comment. This is a citation if a paper, RFC or program gives the value, else the reason. The
comment is on its line, directly above it, or above the constants that precede it without an empty line; for a constant
within a function, above that function. A controller's constants may rest on its CITES in the same file. Whether the
comment is right, the check cannot know; nor does it see numbers within expressions.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CONSTANT = re.compile(r"\s*(?:pub(?:\([a-z]+\))? )?const (\w+): (.*?) =(?: (.*))?$")
NUMBER = re.compile(r"\[*(?:[iu](?:8|16|32|64|128|size)|f32|f64|TimeDelta|Timestamp|DataRate|DataSize)\b")
FUNCTION = re.compile(r"\s*(?:pub(?:\([a-z]+\))? )?(?:const )?fn \w")
# Written here, not taken from other constants.
LITERAL = re.compile(r"(?<![\w.])\d")


def main(root: Path) -> int:
    bad = [
        f"{path.relative_to(root)}:{number}: {name} has neither a citation nor a reason"
        for crate in ("control", "controllers")
        for path in sorted((root / "crates" / crate / "src").rglob("*.rs"))
        if not re.search(r"_tests?\.rs$", path.name) and "tests" not in path.parts
        for number, name in unexplained(path.read_text(encoding="utf-8"))
    ]
    for line in bad:
        print(f"check_constants: {line}", file=sys.stderr)
    return 1 if bad else 0


def unexplained(text: str) -> list[tuple[int, str]]:
    """Line and name of every number without a comment; tests are at the end of their file."""
    lines = re.split(r"^#\[cfg\(test\)\]\nmod \w+ \{", text, maxsplit=1, flags=re.M)[0].splitlines()
    found = []
    for at, line in enumerate(lines):
        constant = CONSTANT.match(line)
        if constant and NUMBER.match(constant[2]) and LITERAL.search(constant[3] or lines[at + 1]):
            if not (explained(lines, at) or in_explained_function(lines, at)):
                found.append((at + 1, constant[1]))
    return found


def explained(lines: list[str], at: int) -> bool:
    """Whether a comment is on this line, or above it and the constants, attributes and CITES before it."""
    if "//" in lines[at]:
        return True
    while at > 0 and (CONSTANT.match(lines[at - 1]) or lines[at - 1].lstrip().startswith("#[")):
        at -= 1
        if "const CITES:" in lines[at] and '"' in lines[at]:
            return True
    return at > 0 and lines[at - 1].lstrip().startswith("//")


def in_explained_function(lines: list[str], at: int) -> bool:
    """Whether this line is in the body of a function that has a comment above it."""
    for above in range(at - 1, -1, -1):
        if lines[above].strip() and indent(lines[above]) < indent(lines[at]):
            return bool(FUNCTION.match(lines[above])) and explained(lines, above)
    return False


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
