"""Refuses a citation that leads nowhere, and a docs/references.md (equation, code, test) that is not up to date.

    python3 tools/check_citations.py [--write] [ROOT]

`--write` writes that page instead of comparing it.

A citation is `[key]` in a comment or document, or a key in a controller's CITES; the key must be in
docs/references.bib. `[key] eq. (5)` or `[key] §5.2` in the comment of code claims that the code does this: some test
must name the same place (or one within it, or around it).
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

BIB = Path("docs/references.bib")
PAGE = Path("docs/references.md")
# Looks like a key: lower case with a number of two digits, unlike `[f32]`; not a link `[text](target)`.
KEY = re.compile(r"\[([a-z][a-z0-9]*(?:-[a-z0-9]+)*)\](?![(\[])")
TYPE = re.compile(r"[iuf]\d+")
PLACE = re.compile(
    r"\s*(?:(?P<eq>(?:eqs?\.|equations?)\s*\(?(?P<n>\d+[a-z]?)\)?)|(?:§|sec(?:tion|\.)\s*)(?P<section>[A-Z0-9]+(?:\.\d+)*))"
)
COMMENT = {".rs": re.compile(r"//[/!]?(.*)"), ".py": re.compile(r"#(.*)"), ".md": re.compile(r"(.*)")}
CITES = re.compile(r"const CITES:[^=]*=\s*&\[(.*?)\]", re.S)


@dataclass(frozen=True, order=True)
class Citation:
    key: str
    place: str  # "eq. (5)", "§5.2", or "" for the work as a whole
    file: str
    line: int
    in_test: bool


def main(root: Path, write: bool = False) -> int:
    bib = (root / BIB).read_text(encoding="utf-8") if (root / BIB).exists() else ""
    titles = dict(re.findall(r"^@\w+\{([^,\s]+),.*?^\s*title\s*=\s*(.*?),?$", bib, re.S | re.M))
    citations = sorted(citation for path in sources(root) for citation in citations_of(path, root, titles))
    tests = {(c.key, c.place) for c in citations if c.in_test}
    bad = []
    for c in citations:
        if c.key not in titles:
            bad.append(f"{c.file}:{c.line}: [{c.key}] is not in {BIB}")
        elif c.place and not c.in_test and not any(k == c.key and covers(p, c.place) for k, p in tests):
            bad.append(f"{c.file}:{c.line}: no test names [{c.key}] {c.place}")
    current = page(titles, citations)
    if write:
        (root / PAGE).write_text(current, encoding="utf-8")
    elif not (root / PAGE).exists() or (root / PAGE).read_text(encoding="utf-8") != current:
        bad.append(f"{PAGE} is out of date: `make format` writes it")
    for line in dict.fromkeys(bad):
        print(f"check_citations: {line}", file=sys.stderr)
    return 1 if bad else 0


def sources(root: Path) -> list[Path]:
    folders = ("crates", "python/legato", "studies", "tests", "docs")
    found = [p for folder in folders for p in (root / folder).rglob("*") if p.suffix in COMMENT]
    return sorted(p for p in found if p != root / PAGE and "assets" not in p.parts and "tools" not in p.parts)


def citations_of(path: Path, root: Path, titles: dict[str, str]) -> list[Citation]:
    text = path.read_text(encoding="utf-8")
    name = str(path.relative_to(root))
    test_file = "tests" in path.parts or re.search(r"_tests?\.rs$", path.name)
    # Tests are at the end of their file; a `mod tests;` there has none of its lines.
    tests_from = re.search(r"^#\[cfg\(test\)\]\nmod \w+ \{", text, re.M)
    first_test_line = 1 if test_file else text.count("\n", 0, tests_from.start()) + 1 if tests_from else sys.maxsize
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        comment = COMMENT[path.suffix].search(line)
        said = comment[1] if comment else ""
        for match in KEY.finditer(said):
            key = match[1]
            is_key = key in titles or (re.search(r"\d\d", key) and not TYPE.fullmatch(key))
            if is_key:
                # Documents and the heads of files describe; the comment at the code claims.
                claims = path.suffix != ".md" and not line.lstrip().startswith("//!")
                places = places_after(said[match.end() :]) if claims else [""]
                found += [Citation(key, place, name, number, number >= first_test_line) for place in places]
    for match in CITES.finditer(text):
        at = text.count("\n", 0, match.start()) + 1
        found += [Citation(key, "", name, at, False) for key in re.findall(r'"([^"]+)"', match[1])]
    return found


def places_after(text: str) -> list[str]:
    """The places named right behind a key: `eq. (5)`, `§4.1 and §5.4`, `section 4.2, eq. (3)`."""
    places = []
    while match := PLACE.match(text):
        places.append(f"eq. ({match['n']})" if match["eq"] else f"§{match['section']}")
        text = re.sub(r"^(?:,| and| to)(?=\s)", "", text[match.end() :])
    return places or [""]


def covers(tested: str, cited: str) -> bool:
    """Whether a test of `tested` is one of `cited`: the same place, one within it or around it."""
    if not tested:
        return False
    return f"{tested}.".startswith(f"{cited}.") or f"{cited}.".startswith(f"{tested}.")


def page(titles: dict[str, str], citations: list[Citation]) -> str:
    """One table a work: every place that code claims, where, and the tests that name it."""
    lines = [
        "# What the code cites",
        "",
        f"Written by tools/check_citations.py from comments and {BIB}; do not edit.",
        "",
    ]
    by_key: dict[str, list[Citation]] = defaultdict(list)
    for citation in citations:
        by_key[citation.key].append(citation)
    for key in sorted(set(by_key) & set(titles)):
        lines += [f"## {key}", re.sub(r"[{}]", "", titles[key]) + ".", "", "| place | code | test |", "|---|---|---|"]
        for place in sorted({c.place for c in by_key[key]}, key=natural):
            code, test = (
                ", ".join(sorted({f"`{c.file}`" for c in by_key[key] if c.place == place and c.in_test == in_test}))
                for in_test in (False, True)
            )
            lines.append(f"| {place or 'as a whole'} | {code} | {test} |")
        lines.append("")
    return "\n".join(lines)


def natural(place: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.findall(r"\d+|\D+", place)]


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
    sys.exit(main(Path(arguments[0] if arguments else ".").resolve(), write="--write" in sys.argv))
