"""Counts words that a reader stumbles on, and refuses more of them than tools/check_prose.toml allows.

    python3 tools/check_prose.py [ROOT]             what is over its ceiling
    python3 tools/check_prose.py [ROOT] --count     every finding, then the counts of each folder
    python3 tools/check_prose.py [ROOT] --draw N    N sentences of documents and N of comments, to be read

Prose is every Markdown file, and comments and strings of Rust and Python. Code in backticks and fences is not.
A folder's ceiling is only ever lowered; documents have none to spare.
"""

from __future__ import annotations

import io
import random
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

CONFIG = Path("tools/check_prose.toml")
WIDTH = 120
# For one thing: "one row a call" is "one row per call".
PER = "call|controller|core|decision|family|flow|frame|kind|packet|picture|seed|session|slot|stage|step|target"
WORDS = {
    "tell: report, record, return, say": r"\b(?:tell|tells|telling|told)\b(?!(?: \S+){0,3} apart)",
    "each so often: every n ms": r"\b(?:each|every|over|as|for) so (?:often|many|much|long)\b(?! as)",
    "each 50 ms: every 50 ms": r"\beach (?:\d[\d.,]*|half|second|third) ?(?:m?s|frames?|packets?|second|third)\b",
    "is none: invalid, absent, zero": r"(?<!there )\b(?:is|are|was|were) (?-i:none)\b(?! of)",
    "nobody: nothing, no part": r"\b(?:nobody|anybody|whoever|everybody)\b",
    "who: that": r"\bwho\b",
    "less: minus": r"\bless (?=(?:the|its|what|those|that of|this) |[`\d(\[])",
    "least: minimum, smallest, lowest": r"(?<!at )(?<!At )(?<!not )\bleast\b(?![- ](?:squares?|significant|recently))",
    "no number: NaN": r"\b(?:no numbers?|none numbers)\b",
    "a word: verdict, report": r"\b(?:without|no) (?:a )?word\b|\bword (?:of|from) (?:it|the other)\b",
    "road: pipeline": r"\broads?\b",
    "a: per": rf"\b(?:one|once|\d|file|line|row|links?|mean|difference|figures?) an? (?:{PER})\b",
    "how the work was organised": r"\bthe stop before\b|\b(?:this|last|next|earlier) stop\b|\bissue \d+\b",
}
RULES = {name: re.compile(pattern, re.I) for name, pattern in WORDS.items()}
# Persons that "who" may follow.
PERSON = re.compile(
    r"\b(?:anyone|authors?|engineers?|everyone|one|people|person|readers?|researchers?|someone|talkers?|those|users?|"
    r"viewers?)\W*$", re.I
)  # fmt: skip
QUOTED = re.compile(r"`[^`\n]*`|\]\([^)\s]*\)|<!--.*?-->", re.S)


def main(root: Path, mode: str = "", number: int = 10) -> int:
    config = tomllib.loads((root / CONFIG).read_text(encoding="utf-8")) if (root / CONFIG).exists() else {}
    allowed, ceilings = config.get("allowed", {}), config.get("ceilings", {})
    texts = {str(path.relative_to(root)): prose(path) for path in sources(root)}
    if mode == "--draw":
        return draw(texts, number)
    found = [(name, *one) for name, lines in texts.items() for one in findings(name, lines)]
    found = [one for one in found if "*" not in (of := allowed.get(one[0], {})) and one[2] not in of]
    counts = Counter(folder(name) for name, _, _ in found)
    if mode == "--count":
        for name, line, rule in found:
            print(f"{name}:{line}: {rule}")
        for total in (counts, Counter(rule for _, _, rule in found), {"in all": len(found)}):
            print("\n" + "\n".join(f"{n:6} {what}" for what, n in sorted(total.items(), key=lambda i: -i[1])))
        return 0
    over = {where for where, n in counts.items() if n > ceilings.get(where, 0)}
    for name, line, rule in found:
        if folder(name) in over:
            print(f"check_prose: {name}:{line}: {rule}", file=sys.stderr)
    return 1 if over else 0


def sources(root: Path) -> list[Path]:
    """What git has: neither builds nor environments; a tree without git, as it lies there."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True)
    own = listed.returncode == 0 and (root / ".git").exists()
    paths = [root / line for line in listed.stdout.splitlines()] if own else sorted(root.rglob("*"))
    kept = [p for p in paths if p.suffix in (".md", ".rs", ".py", ".pyi", ".toml") and p.is_file()]
    return [p for p in kept if not p.match("references.md") and "upstream" not in p.name and p.name != CONFIG.name]


def folder(name: str) -> str:
    """Where a ceiling holds: all documents together, a crate, a part of the Python package, a top folder."""
    parts = name.split("/")
    if name.endswith(".md"):
        return "documents"
    return "/".join(
        parts[: 2 if parts[0] in ("crates", "tests") else 3 if parts[0] == "python" else 1][: len(parts) - 1]
    )


def prose(path: Path) -> list[tuple[int, str]]:
    """Lines to be read, with their numbers."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        text = re.sub(r"^ *```.*?^ *```", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)
    elif path.suffix == ".rs":
        pattern = r'(?P<comment>//[^\n]*)|"(?P<string>(?:[^"\\]|\\.)*)"|\'(?:[^\'\\]|\\.)\''
        kept = [(m.start(), m["comment"] or m["string"] or "") for m in re.finditer(pattern, text, re.S)]
        return [(text.count("\n", 0, at) + 1 + i, line) for at, t in kept for i, line in enumerate(t.splitlines())]
    elif path.suffix == ".toml":
        text = "\n".join(line.partition("#")[2] for line in text.splitlines())
    else:
        kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)}
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type in kinds]
        return [(t.start[0] + i, line) for t in tokens for i, line in enumerate(t.string.splitlines())]
    return list(enumerate(text.splitlines(), 1))


def findings(name: str, lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    before = ""
    for number, whole in lines:
        # "at" and "not" of the line before excuse a word.
        line = ("at " if re.search(r"\b(?:at|not|There)$", before, re.I) else "") + QUOTED.sub(
            "``", whole.lstrip(" /!*#")
        )
        before = whole
        for rule, pattern in RULES.items():
            for match in pattern.finditer(line):
                if not (rule.startswith("who") and PERSON.search(line[: match.start()])):
                    yield number, rule
        if name.endswith(".md") and len(whole) > WIDTH and not whole.lstrip().startswith("|"):
            yield number, f"more than {WIDTH} columns"


def draw(texts: dict[str, list[tuple[int, str]]], number: int) -> int:
    """The same sentences every time, until the text changes: a reader's test."""
    for kind, chosen in (("documents", True), ("comments", False)):
        pool = []
        for name, lines in texts.items():
            if name.endswith(".md") == chosen:
                text = "\n".join("" if re.match(r"\s*(?:$|\||#+ )", line) else line.strip(" /!*#") for _, line in lines)
                blocks = re.split(r"\n\s*\n|\n(?=[-\d]+\.? )", text)
                sentences = [
                    s for block in blocks for s in re.split(r"(?<=[.!?])\s+(?=[A-Z`*])", " ".join(block.split()))
                ]
                pool += [f"{name}: {s}" for s in sentences if 40 < len(s) < 300 and s[-1] in ".!?"]
        print(f"# {kind}\n" + "\n".join(random.Random(15).sample(sorted(pool), min(number, len(pool)))))
    return 0


if __name__ == "__main__":
    options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    plain = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    numbers = [int(argument) for argument in plain if argument.isdigit()]
    roots = [argument for argument in plain if not argument.isdigit()]
    sys.exit(main(Path(roots[0] if roots else ".").resolve(), (options or [""])[0], (numbers or [10])[0]))
