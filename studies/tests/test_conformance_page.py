"""The tables of docs/measured/conformance.md are those that are kept; changes are against the verdicts kept before."""

from __future__ import annotations

from typing import Any

from legato_studies.pages import conformance as page

BEFORE = {
    "verdicts": {
        "columns": ["case", "`fbra`", "`gcc`"],
        "rows": [["5.4", "pass", "**1**/2"], ["passes", "1/1", "0/1"]],
    },
    "changes": {"columns": ["case", "verdicts now"], "rows": [["5.8", "`gcc` pass"]]},
}


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


def test_the_changes_are_kept_unless_asked_for() -> None:
    made = page.tables(FOUND, BEFORE, changed=False)
    assert made["verdicts"]["rows"][0] == ["5.4", "**1**/1", "pass", "—", "—"]
    assert made["shapes"]["rows"] == [
        ["webrtc-rs, published", "73 %, 25.3 s"],
        ["`fbra`", "50.0 %, loss 1.0 %, 2.0 s"],
        ["`gcc`", "50.0 %, loss 1.0 %, 2.0 s"],
    ]
    assert made["changes"] == BEFORE["changes"]


def test_changes_are_those_since_the_verdicts_that_were_kept() -> None:
    made = page.tables(FOUND, BEFORE, changed=True)
    assert made["changes"]["rows"] == [["5.4", "`fbra` fail (Jain's index 0.5, mark >= 0.8); `gcc` pass"]]


def test_a_table_stands_between_its_marks() -> None:
    text = "a\n<!-- conformance: changes -->\nold\n<!-- end of table -->\nb\n"
    once = page.written(text, BEFORE)
    assert "| 5.8 | `gcc` pass |" in once and "old" not in once and once.endswith("-->\nb\n")
    assert page.written(once, BEFORE) == once
