"""Lists as people type them: by commas, by repeated options, by name; never empty, nothing twice."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

import pytest

from fixtures import Legato
from legato.errors import ControllerError, DataWarning, Error, ProfileError, TraceError
from legato.plan import clips, controllers, shipped, specs, traces

TRACE = "time_s,rate_bps\n0,1000000\n9,1000000\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(TRACE)
    return tmp_path


def test_commas_and_repeated_options_mean_the_same(here: Path, legato: Legato) -> None:
    common = ("compare", "-o", "duration_s=1", "--no-report", "--log", "summary")
    together = ("--controllers", "gcc,oracle", "--traces", "a.csv,b.csv", "--clips", "foreman,talk", "--seeds", "3,5")
    apart = tuple(
        word
        for option, values in zip(together[::2], together[1::2], strict=True)
        for value in values.split(",")
        for word in (option, value)
    )
    clip = next(path for path in shipped.profiles() if path.stem != "foreman").stem
    plans = []
    for out, given in (("together", together), ("apart", apart)):
        made = legato(*common, "--out", out, *(word.replace("talk", clip) for word in given))
        assert made.returncode == 0, made.stderr
        plans.append(json.loads((here / out / "plan.json").read_text()))
    assert plans[0] == plans[1]
    assert plans[0]["controllers"] == ["gcc", "oracle"]
    assert plans[0]["traces"] == ["a.csv", "b.csv"]
    assert len(plans[0]["clips"]) == 2
    assert plans[0]["seeds"] == [3, 5]


def test_a_seed_may_be_repeated_or_listed_and_one_of_seeds_is_a_count(here: Path, legato: Legato) -> None:
    for number, given in enumerate((("--seed", "4,7"), ("--seed", "4", "--seed", "7"))):
        made = legato("run", "steady", "-o", "duration_s=1", *given, "--log", "summary", "--out", f"run{number}")
        assert made.returncode == 0, made.stderr
        assert json.loads((here / f"run{number}" / "plan.json").read_text())["seeds"] == [4, 7]
    assert specs.seeds(2) == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--controllers", "gcc,gcc"], "controllers: gcc is named twice"),
        (["--controllers", "gcc", "--controllers", "nada,gcc"], "controllers: gcc is named twice"),
        (["--controllers", "gcc@label=a,nada@label=a"], "controllers: label a is named twice"),
        (["--controllers", "gcc", "--traces", "a.csv", "--traces", "*.csv"], "traces: a.csv is named twice"),
        (["--controllers", "gcc", "--traces", "a.csv,./a.csv"], "traces: a.csv is named twice"),
        (["--controllers", "gcc", "--clips", "foreman,foreman"], "is named twice"),
        (["--controllers", "gcc", "--seeds", "3,3"], "seeds: seed 3 is named twice"),
        (["--controllers", ""], "controllers = '': names none"),
        (["--controllers", "gcc", "--controllers", ","], "controllers = ',': names none"),
        (["--controllers", "gcc", "--clips", ""], "clips = '': names none"),
        (["--controllers", "gcc", "--traces", ","], "traces = ',': names none"),
        (["--controllers", "gcc", "--seeds", ""], "--seeds = : names none"),
        (["--controllers", "gcc", "--seeds", "0"], "--seeds = 0: has to be greater than or equal to 1"),
        (["--controllers", "gcc", "--seeds", "1,x"], "--seeds = 1,x: has to be a valid integer"),
        (["--controllers", "gcc", "-o", "duration_s=1", "-o", "duration_s=2"], "duration_s is given twice"),
        (["--controllers", "gcc", "--log", "series", "--log", "summary"], "--log: is given twice"),
    ],
)
def test_what_is_named_twice_or_names_nothing_is_refused(
    here: Path, legato: Legato, arguments: list[str], error: str
) -> None:
    said = legato("compare", *arguments, "--out", "x")
    assert said.returncode == 2
    assert error in said.stderr.splitlines()[0]
    assert not (here / "x").exists()


@pytest.mark.parametrize(
    ("arguments", "twice"),
    [(["steady", "steady"], "scenarios: steady"), (["steady", "--controller", "gcc,gcc"], "controllers: gcc")],
)
def test_a_pair_is_measured_once(here: Path, legato: Legato, arguments: list[str], twice: str) -> None:
    said = legato("gap", *arguments, "--peers", "legato", "--out", "x")
    assert said.returncode == 2 and said.stderr.startswith(f"error: {twice} is named twice")
    assert not (here / "x").exists()


@pytest.mark.parametrize("option", ["--controllers", "--cases"])
def test_an_empty_list_of_cases_or_controllers_does_not_mean_all(legato: Legato, option: str) -> None:
    said = legato("conformance", option, "", "--out", "x")
    assert said.returncode == 2
    assert f"{option.removeprefix('--')} = '': names none" in said.stderr


def test_one_unknown_case_among_known_ones_is_not_passed_over(legato: Legato) -> None:
    assert "cases = 9.9: no case" in legato("conformance", "--cases", "5.1,9.9", "--out", "x").stderr


def test_the_same_trace_played_in_two_ways_is_two_traces(here: Path) -> None:
    assert len(traces.chosen(["a.csv@scale=0.5", "a.csv"])) == 2


def test_a_single_text_is_a_list_of_one() -> None:
    assert controllers.chosen("gcc,nada") == ["gcc", "nada"]


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("scale=nan", "scale has to be a finite number"),
        ("scale=inf", "scale has to be a finite number"),
        ("scale=1e400", "scale has to be a finite number"),
        ("scale=0", "scale has to be above 0"),
        ("start_s=-1", "start_s has to be 0 or more"),
        ("duration_s=0", "duration_s has to be above 0"),
        ("scale=true", "scale has to be a number"),
    ],
)
def test_an_option_of_a_trace_out_of_range_is_named(here: Path, option: str, why: str) -> None:
    with pytest.raises(TraceError) as refused:
        traces.chosen([f"a.csv@{option}"])
    assert str(refused.value).startswith(f"a.csv@{option.partition('=')[0]}=")
    assert why in str(refused.value)


@pytest.mark.parametrize(("option", "value"), [("scale", "1000000"), ("start_s", "1e30")])
def test_a_window_or_scale_beyond_the_trace_is_said_with_the_users_number(
    here: Path, legato: Legato, option: str, value: str
) -> None:
    said = legato("compare", "--controllers", "gcc", "--traces", f"a.csv@{option}={value}", "--out", "x")
    assert said.returncode == 2
    assert said.stderr.startswith("error: a.csv: ") and f"{option} = " in said.stderr
    assert "9223372036" not in said.stderr


def test_one_unreadable_trace_among_many_is_named_and_left_out(here: Path) -> None:
    (here / "broken.csv").write_text("time_s,rate_bps\n0,abc\n")
    with pytest.warns(DataWarning, match=r'broken.csv:2: rate_bps = "abc" is not a number; left out'):
        assert traces.chosen(["*.csv"]) == ["a.csv", "b.csv"]
    with pytest.raises(TraceError, match=r"broken\.csv:2"):
        traces.chosen(["*.csv"], strict=True)
    (here / "a.csv").unlink()
    (here / "b.csv").unlink()
    (here / "worse.csv").write_text("")
    with pytest.raises(TraceError, match=r"broken\.csv:2"):  # none is left
        traces.chosen(["*.csv"])


def test_one_unreadable_clip_among_many_is_named_and_left_out(here: Path) -> None:
    foreman = shipped.profile("foreman")
    (here / "clips").mkdir()
    (here / "clips/good.safetensors").write_bytes(foreman.read_bytes())
    (here / "clips/bad.safetensors").write_bytes(foreman.read_bytes()[:100])
    with pytest.warns(DataWarning, match=r"clips/bad.safetensors: .*; left out"):
        assert clips.profiles(["clips"]) == ["clips/good.safetensors"]
    for given, strict in ((["clips"], True), (["clips/bad.safetensors"], False)):
        with pytest.raises(ProfileError, match=r"bad\.safetensors"):
            clips.profiles(given, strict=strict)


def test_the_command_line_goes_on_without_the_unreadable_one_unless_strict(here: Path, legato: Legato) -> None:
    (here / "broken.csv").write_text("time_s,speed\n0,1\n")
    common = ("compare", "--controllers", "gcc", "--traces", "*.csv", "-o", "duration_s=1", "--no-report")
    made = legato(*common, "--out", "x")
    assert made.returncode == 0
    assert made.stderr.startswith('warning: broken.csv:1: header = "time_s,speed" has no rate')
    alone = tuple(word.replace("*", "broken") for word in common)
    for arguments in ((*common, "--strict"), alone):
        refused = legato(*arguments, "--out", "y")
        assert refused.returncode == 2 and refused.stderr.startswith("error: broken.csv:1")
    assert not (here / "y").exists()


def test_shipped_traces_have_names(here: Path, legato: Legato) -> None:
    """As in a wheel, whose data lie under a path too long to type."""
    fcc = [trace.path for trace in shipped.traces() if trace.family == "fcc"]
    assert traces.chosen(["fcc"]) == [specs.from_here(path) for path in fcc]
    assert traces.chosen(["fcc/12"]) == [specs.from_here(fcc[11])]
    assert traces.chosen(["fcc/12@scale=2"]) == [{"path": specs.from_here(fcc[11]), "scale": 2}]
    shown = legato("traces", "show", "fcc/12")
    assert shown.returncode == 0 and fcc[11].name in shown.stdout
    listed = legato("traces", "list", "fcc")
    assert f"fcc/{len(fcc)} " in listed.stdout
    # Not a name: one file, whatever it is called.
    (here / "fcc").write_text(TRACE)
    assert traces.chosen(["fcc"]) == ["fcc"]


def test_a_name_of_several_traces_is_not_one(legato: Legato) -> None:
    said = legato("traces", "show", "fcc")
    assert said.returncode == 2 and "fcc: names" in said.stderr


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["run", "celular"], "cellular"),
        (["run", "rfc8867/5.4"], "rfc8867/5_4"),
        (["compare", "--controllers", "gc", "--out", "x"], "gcc"),
        (["compare", "--controllers", "gcc", "--clips", "formean", "--out", "x"], "foreman"),
        (["compare", "--controllers", "gcc", "--traces", "fcd", "--out", "x"], "fcc"),
        (["compare", "--controllers", "gcc", "--traces", "fcc@scal=1", "--out", "x"], "scale"),
        (["runn"], "run"),
    ],
)
def test_what_is_nearly_a_name_is_asked_after(legato: Legato, arguments: list[str], meant: str) -> None:
    said = legato(*arguments)
    assert said.returncode == 2
    assert "did you mean" in said.stderr.lower()
    assert meant in said.stderr.lower().partition("did you mean")[2]


def test_the_error_of_a_list_is_of_its_kind() -> None:
    for make, error in (
        (controllers.chosen, ControllerError),
        (traces.chosen, TraceError),
        (clips.profiles, ProfileError),
    ):
        with pytest.raises(error, match="names none"):
            make([" , "])
    with pytest.raises(Error, match="named twice"):
        specs.seeds([1, 1])


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes on POSIX alone")
def test_a_file_of_a_folder_whose_name_is_no_text_is_left_out(here: Path) -> None:
    (here / "traces").mkdir()
    (here / "traces/a.csv").write_text(TRACE)
    Path(os.fsdecode(os.fsencode(here / "traces") + b"/caf\xe9.csv")).write_text(TRACE)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert traces.chosen(["traces"]) == ["traces/a.csv"]
    assert [str(one.message) for one in said] == ["traces/caf\\xe9.csv: the name is not UTF-8; left out"]


def test_a_controller_that_is_nearly_named_is_asked_after() -> None:
    for typed, said, hint in (
        ("GCC", "no controller is called 'GCC'", "did you mean gcc"),
        ("gcc@backoff", "gcc@backoff: 'backoff' is no parameter", "gcc@backoff=VALUE"),
    ):
        with pytest.raises(ControllerError) as refused:
            controllers.chosen([typed])
        assert str(refused.value) == said
        assert hint in str(refused.value.hint)


def test_more_seeds_than_can_be_made_are_refused_at_once() -> None:
    with pytest.raises(Error, match="seeds = 1,000,000,000: more than 1,000,000"):
        specs.seeds(1_000_000_000)


def test_many_files_that_are_no_traces_are_counted_not_listed(here: Path) -> None:
    for number in range(20):
        (here / f"no{number:02}.txt").write_text("x\n")
    (here / "yes.csv").write_text("time_s,rate_bps\n0,1000000\n1,1000000\n")
    with pytest.warns(DataWarning) as said:
        found = traces.chosen([f"{here}/*[0-9s].*"])
    assert len(found) == 1
    assert [str(one.message).endswith("left out") for one in said] == [True] * 6
    assert str(said[-1].message) == "15 more were left out"


def test_an_unknown_trace_names_the_formats_that_are_known(here: Path) -> None:
    (here / "stats.json").write_text('["onsignalingstatechange",1]')
    with pytest.raises(TraceError, match=r"no known trace format: hairpin, ibox, .*rate-over-time"):
        traces.load_trace(here / "stats.json")
