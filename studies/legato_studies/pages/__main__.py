"""``python -m legato_studies.pages NAME [OPTION ...]``: writes one page of docs; without a name lists them."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("__"))

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in NAMES:
        sys.exit(f"usage: python -m legato_studies.pages NAME\n{chr(10).join(NAMES)}")
    sys.argv[:] = [f"python -m legato_studies.pages {sys.argv[1]}", *sys.argv[2:]]
    runpy.run_module(f"legato_studies.pages.{sys.argv[0].split()[-1]}", run_name="__main__")
