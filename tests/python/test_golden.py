"""Each controller follows its golden tables in short scenarios, to the byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def golden(tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("golden")


def test_every_controller_does_what_its_tables_say(golden: ModuleType) -> None:
    found = golden.differences(golden.playable())
    assert not found, "\n".join(
        [
            *found,
            "",
            "If this is meant, read it and keep it: python3 tools/golden.py --write [NAME], a commit of its own.",
        ]
    )


def test_a_table_is_of_its_scenario_and_nothing_else(golden: ModuleType) -> None:
    (step,) = [scenario for scenario in golden.scenarios() if scenario.stem == "step"]
    alone, together = golden.tables(step, ["fixed"]), golden.tables(step, ["gcc", "fixed"])
    assert alone["fixed"] == together["fixed"]
    lines = alone["fixed"].splitlines()
    assert lines[0] == "fixed in step, seed 1"
    # 24 s in rows of 2 s behind a title, a blank and two lines of headings.
    assert [line.split()[0] for line in lines[4:16]] == [str(at) for at in range(0, 24, 2)]
    assert [line.split()[1] for line in (lines[4], lines[9], lines[15])] == ["2400", "800", "1600"]


def test_a_table_that_is_missing_stale_or_changed_is_told(
    golden: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "tests" / "golden"
    place.mkdir(parents=True)
    scenario = (golden.GOLDEN / "step.toml").read_text().replace("../../profiles", str(ROOT / "profiles"))
    (place / "step.toml").write_text(scenario)
    monkeypatch.setattr(golden, "GOLDEN", place)
    monkeypatch.setattr(golden, "playable", lambda: ["fixed"])
    assert golden.main([]) == 1
    assert "+++ fixed/step.snap now" in capsys.readouterr().out
    assert golden.main(["--write", "fixed"]) == 0
    assert golden.main([]) == 0
    kept = place / "fixed" / "step.snap"
    kept.write_text(kept.read_text().replace("2400", "2401"))
    (place / "gone").mkdir()
    (place / "gone" / "step.snap").touch()
    assert golden.main([]) == 1
    told = capsys.readouterr().out
    assert "2401" in told and "gone/step.snap: of no controller" in told
    assert golden.main(["--write", "absent"]) == 2
