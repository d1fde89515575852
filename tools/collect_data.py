"""Copy what travels in the wheel to python/legato/data/: scenarios, clip profiles, trained policies, traces.

The folders of the checkout stay the only place these files are edited; `make dist` calls this before
maturin and removes the copy afterwards. Traces under a copyleft licence (data/traces/copyleft/) are left
out: the wheel is under MIT OR Apache-2.0. Every licence file next to a copied file goes along.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "python" / "legato" / "packed"
FOLDERS = ("scenarios", "profiles", "policies", "data/traces")
NOT_IN_A_WHEEL = {"copyleft", "test-only"}


def main() -> int:
    shutil.rmtree(TARGET, ignore_errors=True)
    total_bytes = 0
    for name in FOLDERS:
        folder = ROOT / name
        if not folder.is_dir():
            print(f"error: {name}: no such folder", file=sys.stderr)
            return 1
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            if not path.is_file() or NOT_IN_A_WHEEL.intersection(inside.parts):
                continue
            copy = TARGET / name / inside
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            total_bytes += path.stat().st_size
    print(f"data of the wheel: {total_bytes / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
