"""Counts six patterns that make English read translated, and refuses more than tools/check_sentences.toml allows.

    python3 tools/check_sentences.py [ROOT]               the patterns that are over their ceiling
    python3 tools/check_sentences.py [ROOT] --count       a table of every pattern and area, and the mean sentence
    python3 tools/check_sentences.py [ROOT] --list WORDS  every finding with these words in its file, pattern or area

It reads the same prose as check_prose.py: Markdown, and the comments and strings of Rust and Python. A pattern counts
in all of it; a sentence is measured in documents and comments, outside tables. Ceilings only fall.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from check_prose import QUOTED, prose, sources

CONFIG = Path("tools/check_sentences.toml")
# The files that quote the patterns.
LEFT_OUT = ("tools/check_sentences.py", "tools/check_sentences.toml", "tests/tools/test_checks.py", "glossary.md")
LONGEST = 35  # words
# A list item, a heading, a row; in a docstring, an argument.
BEGINS = re.compile(r"[-*|] |\d+\. |#+ |\|")
ARGUMENT = re.compile(r"\w+: ")
LONG = f"a sentence of more than {LONGEST} words"
_WHAT = "is|are|was|were|has|have|had|may|can|must|it|its|they|all|came|comes|arrive[sd]|became|becomes|follows|got"
_WHAT += "|happened|leaves|left|passe[sd]|reache[sd]|remains|stands|waits"
PATTERNS = {
    name: re.compile(pattern.replace(" ", r"\s+"), re.I)
    for name, pattern in {
        "headless relative": rf"\b(?:what (?:{_WHAT})|(?:those|that) which|those that)\b(?![^.!\n]{{0,90}}\?)",
        "of ours, of its own": r"\bof (?:ours|theirs|yours|its own|their own|our own|your own|one's own|his own)\b",
        "beside": r"\bbesides?\b",
        "stands for is": r"\b(?:stands?|stood|standing)\b(?! (?:for|out|alone|up|still)\b|-in)",
        "is known": r"\b(?:is|are|was|were|be|been|being) (?:not |never |yet |then |also |already )?known\b(?! as\b)",
    }.items()
}


class Block(NamedTuple):
    """A paragraph, a list item or a row of a table, with the line that it begins at."""

    line: int
    text: str
    is_prose: bool


def blocks(name: str, lines: list[tuple[int, str]]) -> Iterator[Block]:
    """Lines that follow each other are one block, until one is empty or begins something new."""
    held: list[str] = []
    start = before = 0
    is_code, in_docstring, ended, was_prose = False, False, True, False
    for number, raw in lines:
        line, is_prose = raw.strip(), name.endswith(".md")
        if name.endswith(".rs"):
            is_prose = line.startswith("//")
            line = line.lstrip("/! ")
        elif name.endswith((".py", ".pyi")):
            quotes = line.count('"""') if in_docstring or line.startswith('"""') else 0
            is_prose = in_docstring or quotes > 0 or line.startswith("#")
            in_docstring ^= quotes == 1
            line = line.strip('"# ')
        fence = line.startswith("```")
        is_code ^= fence
        is_new = ended or number > before + 1 or is_prose != was_prose or bool(BEGINS.match(line))
        is_new = is_new or (in_docstring and bool(ARGUMENT.match(line)))
        if held and (is_new or is_code or not line):
            yield Block(start, "\n".join(held), was_prose and held[0][0] not in "|#")
            held = []
        ended = not line or is_code or fence or (not is_prose and line.endswith((".", ":")))
        if line and not is_code and not fence:
            start, was_prose, before = start if held else number, is_prose, number
            held.append(line)
    if held:
        yield Block(start, "\n".join(held), was_prose and held[0][0] not in "|#")


def sentences(block: Block) -> Iterator[tuple[int, int]]:
    """The line and the number of words of each; code in backticks is one word."""
    text = QUOTED.sub(lambda m: "x" + "\n" * m[0].count("\n"), block.text)
    at = 0
    for end in [m.end() for m in re.finditer(r"[.!?][)\"'*]*(?=\s+[A-Z`*(\[\"'x])|\Z", text)]:
        words = sum(1 for word in text[at:end].split() if re.search(r"\w", word))
        if words > 2:
            yield block.line + text.count("\n", 0, at + len(text[at:end]) - len(text[at:end].lstrip())), words
        at = end


def area(name: str) -> str:
    """Where a ceiling holds."""
    if name.endswith(".md"):
        return "documents"
    return "rust" if name.endswith(".rs") else "studies" if name.startswith("studies/") else "python"


def findings(root: Path) -> tuple[list[tuple[str, str, str]], dict[str, list[int]]]:
    """Area, pattern and place of every finding; the lengths of all sentences of an area."""
    found: list[tuple[str, str, str]] = []
    lengths: dict[str, list[int]] = {}
    for path in sources(root):
        name = str(path.relative_to(root))
        if name.endswith(LEFT_OUT):
            continue
        for block in blocks(name, prose(path)):
            text = QUOTED.sub(lambda m: "``" + "\n" * m[0].count("\n"), block.text)
            for pattern, expression in PATTERNS.items():
                lines = [block.line + text.count("\n", 0, m.start()) for m in expression.finditer(text)]
                found += [(area(name), pattern, f"{name}:{line}") for line in lines]
            for line, words in sentences(block) if block.is_prose else ():
                lengths.setdefault(area(name), []).append(words)
                found += [(area(name), LONG, f"{name}:{line}")] if words > LONGEST else []
    return found, lengths


def main(root: Path, mode: str = "", words: str = "") -> int:
    found, lengths = findings(root)
    counts = Counter((where, pattern) for where, pattern, _ in found)
    if mode == "--list":
        lines = [f"{place}: {pattern} in {where}" for where, pattern, place in found]
        print("\n".join(line for line in lines if words in line))
        return 0
    if mode == "--count":
        for (where, pattern), number in sorted(counts.items()):
            print(f"{number:6} {where}: {pattern}")
        for where, each in sorted(lengths.items()):
            print(f"{sum(each) / len(each):6.1f} words in a mean sentence of {where}, {len(each)} sentences")
        return 0
    ceilings = tomllib.loads((root / CONFIG).read_text(encoding="utf-8")) if (root / CONFIG).exists() else {}
    over = [(*key, n, most) for key, n in counts.items() if n > (most := ceilings.get(key[0], {}).get(key[1], 0))]
    for where, pattern, number, most in sorted(over):
        print(f"check_sentences: {where}: {number} times {pattern!r}, {most} allowed: see --list", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    options = [argument for argument in sys.argv[1:] if argument in ("--count", "--list")]
    plain = [argument for argument in sys.argv[1:] if argument not in options]
    searched = plain.pop() if options == ["--list"] else ""
    sys.exit(main(Path(plain[0] if plain else ".").resolve(), (options or [""])[0], searched))
