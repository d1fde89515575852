"""Builds the crates' documentation and refuses every warning of rustdoc, but for `[key]` of docs/references.bib.

    python3 tools/crate_docs.py [OPTIONS OF CARGO DOC]

To rustdoc a citation looks like a broken link; it is shown unchanged.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def main(options: list[str]) -> int:
    keys = set(re.findall(r"^@\w+\{([^,\s]+),", (ROOT / "docs/references.bib").read_text(encoding="utf-8"), re.M))
    command = ["cargo", "doc", "--quiet", "--no-deps", "--keep-going", "--message-format", "json", *options]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    refused = [text for line in done.stdout.splitlines() for text in refusals(json.loads(line), keys)]
    print("".join(refused), end="", file=sys.stderr)
    return 1 if refused else done.returncode


def refusals(message: dict[str, Any], keys: set[str]) -> list[str]:
    inner = message.get("message") if message.get("reason") == "compiler-message" else None
    if inner is None or not inner["spans"]:
        return []
    link = re.fullmatch(r"unresolved link to `([^`]+)`", inner["message"])
    return [] if link and link[1] in keys else [inner["rendered"]]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
