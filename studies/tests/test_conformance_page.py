"""The tables of docs/conformance.md are rewritten in place; the changes only against a commit that is named."""

from __future__ import annotations

from typing import Any

from legato_studies.pages import conformance as table

PAGE = """# Conformance

The verdicts:

| case | `fbra` | `gcc` |
|---|---|---|
| 5.4 | pass | **1**/2 |
| passes | 1/1 | 0/1 |

And the five published shapes:

| controller | steady |
|---|---|
| webrtc-rs, published | 73 %, 25.3 s |
| `fbra` | 1.0 %, loss 0.0 %, never |

## What changed

Since an older table:

| case | verdicts now |
|---|---|
| 5.8 | `gcc` pass |

## More

The end.
"""


def verdict(controller: str, value: float) -> dict[str, Any]:
    check = {"name": "Jain's index", "value": value, "mark": ">= 0.8", "passed": value >= 0.8}
    return {"case": "5.4", "controller": controller, "reference": False, "passed": value >= 0.8, "checks": [check]}


FOUND = {
    "verdicts": [verdict("fbra", 0.5), verdict("gcc", 0.9)],
    "shapes": [
        {"controller": name, "shape": "steady", "utilisation_ratio": 0.5, "loss_ratio": 0.01, "converged_s": 2.0}
        for name in ("fbra", "gcc")
    ],
}


def test_tables_are_replaced_and_the_changes_kept() -> None:
    once = table.rewritten(PAGE, FOUND)
    assert "| 5.4 | **1**/1 | pass |" in once
    assert "| `gcc` | 50.0 %, loss 1.0 %, 2.0 s |" in once
    assert "| 5.8 | `gcc` pass |" in once, "the changes were not asked for"
    assert once.endswith("The end.\n")
    assert table.rewritten(once, FOUND) == once


def test_changes_are_those_since_the_page_that_is_named() -> None:
    once = table.rewritten(PAGE, FOUND, before=PAGE)
    assert "| 5.4 | `fbra` fail (Jain's index 0.5, mark >= 0.8); `gcc` pass |" in once
    assert "5.8" not in once
    assert table.rewritten(once, FOUND, before=PAGE) == once
