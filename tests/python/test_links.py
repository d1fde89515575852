"""Recorded links: whose files are whose, and that nothing which learns can come by a file that judges it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from legato import links
from legato.errors import TraceError
from legato.links import (
    HELD_OUT,
    LEGATO,
    PARTS,
    PATHS,
    TUNED,
    VALIDATION,
    WINDOWS,
    Family,
    Split,
    access_networks,
    middles,
    replayed,
    spread,
)
from legato.plan import shipped

ROOT = Path(__file__).parents[2]
FOLDERS = sorted({trace.family for trace in shipped.traces()})
LEARNS = ("python/legato/train/**/*.py", "studies/legato_studies/recipes/*.py")
"""Code that trains; what tunes by hand is `legato_choices`."""


def parts(split: Split, folder: str) -> dict[str, set[Path]]:
    return {part: set(split.of(links.files(folder), part)) for part in split.parts(links.files(folder))}


@pytest.mark.parametrize("split", [LEGATO, WINDOWS, PATHS], ids=lambda split: split.name)
def test_no_file_is_held_out_and_learned_from(split: Split) -> None:
    split_any = False
    for folder in FOLDERS:
        if split is PATHS and len(links.files(folder)) < 10:
            continue
        found = parts(split, folder)
        held_out = found.pop(HELD_OUT)
        learned = set().union(*found.values())
        assert not held_out & learned, folder
        assert held_out | learned == set(links.files(folder)), folder
        split_any |= len(held_out) > 5
    assert split_any


@pytest.mark.parametrize("family", [*replayed.FAMILIES, replayed.CONDITIONS])
def test_paths_have_a_fifth_held_out_and_a_tenth_for_validation(family: str) -> None:
    found = parts(PATHS, family)
    count = len(links.files(family))
    assert [len(found[part]) for part in (HELD_OUT, VALIDATION)] == [round(0.2 * count), round(0.1 * count)]
    assert not found[TUNED] & found[VALIDATION]


def test_a_part_that_is_not_there_is_named() -> None:
    with pytest.raises(TraceError, match="part = holdout: the split of paths has no such part"):
        PATHS.of(links.files("fcc"), "holdout")  # type: ignore[arg-type]


def test_windows_of_validation_are_other_windows_of_files_that_are_trained_on() -> None:
    for access in access_networks.ACCESSES:
        tuned, validation, held_out = (set(access_networks.windows(access, part)) for part in PARTS)
        assert tuned and validation and held_out
        assert not tuned & validation
        assert not {spec.split("@")[0] for spec in tuned | validation} & {spec.split("@")[0] for spec in held_out}


def test_what_learns_names_no_held_out_part_and_no_file_of_its_own() -> None:
    sources = [path for pattern in LEARNS for path in sorted(ROOT.glob(pattern))]
    sources.append(ROOT / "studies/legato_studies/pages/legato_choices.py")
    assert len(sources) > 20
    for source in sources:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
            assert name not in ("HELD_OUT", "traces_folder", "trace_names"), f"{source}:{node.lineno}"
            assert not (isinstance(node, ast.Constant) and node.value == HELD_OUT), f"{source}:{node.lineno}"


def test_recorded_files_are_listed_through_links_alone() -> None:
    """Another list of files is not split, and would leak what judges into what learns."""
    may = ("legato/links/__init__.py", "legato/links/access_networks.py", "cli/traces.py", "plan/repeat.py")
    for source in [*ROOT.glob("python/legato/**/*.py"), *ROOT.glob("studies/legato_studies/**/*.py")]:
        listing = re.search(r"\bshipped\.traces\(", source.read_text(encoding="utf-8"))
        assert listing is None or source.as_posix().endswith(may), f"{source}: {listing[0]}"


def test_what_trains_draws_files_that_judge_nothing() -> None:
    held_out = {path for family in (*replayed.FAMILIES,) for path in PATHS.of(links.files(family), HELD_OUT)}
    for part in (TUNED, VALIDATION):
        drawn = {spec.split("@")[0] for network in replayed.draw(part, 5, 12, 4) for spec in network.traces}
        assert drawn and not drawn & {str(path) for path in held_out}


def test_samples_are_spread_over_the_whole_list() -> None:
    every = list(range(10))
    assert middles(every, 2) == [2, 7]
    assert middles(every, 3) == [1, 5, 8]
    assert spread(every, 3) == [0, 3, 6]
    assert middles(every, 99) == spread(every, 99) == every
    assert middles([], 3) == spread([], 3) == []
    assert links.by_turns([[1, 2, 3], [4], [5, 6]]) == [1, 4, 5, 2, 6, 3]


def test_a_family_gives_its_links_with_its_scale() -> None:
    for link in Family("mine", "fcc", 0.5).links(3, LEGATO):
        assert (link.family, link.scale, link.spec) == ("mine", 0.5, f"{link.path}@scale=0.5")
        assert link.path in LEGATO.of(links.files("fcc"), HELD_OUT)


def test_windows_cover_a_trace_and_its_end_is_one_where_that_may_be_short(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time_s,rate_bps\n" + "".join(f"{second},{1e6 + second}\n" for second in range(150)))
    cut = list(links.windows(path, 60.0))
    assert [(window.start_s, window.length_s) for window in cut] == [(0.0, 60.0), (60.0, 60.0)]
    assert np.array_equal(cut[1].rates_bps, 1e6 + np.arange(60, 120))
    assert [window.length_s for window in links.windows(path, 60.0, 30.0)] == [60.0, 60.0, 30.0]
    assert links.live_windows(path)[-1] == f"{path}@scale=1,start_s=120,duration_s=30"
