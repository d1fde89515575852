"""From what people type to the lists of a plan."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from legato.errors import ControllerError, Error, ScenarioError, TraceError
from legato.plan import Choice, Plan, controllers, overrides, scenarios, spec_text, specs, traces


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.txt", "a.txt", "deep/c.txt", "deep/.hidden"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("0 1\n")
    return tmp_path


def test_a_glob_gives_its_files_sorted(folder: Path):
    assert traces.chosen([f"{folder}/*.txt"]) == [f"{folder}/a.txt", f"{folder}/b.txt"]


def test_a_folder_gives_all_below_it_but_hidden_files(folder: Path):
    assert traces.chosen([folder]) == [f"{folder}/a.txt", f"{folder}/b.txt", f"{folder}/deep/c.txt"]


def test_a_glob_goes_into_the_folders_it_hits_and_passes_licences_over(folder: Path):
    (folder / "LICENSE").write_text("")
    (folder / "deep/README.md").write_text("")
    assert traces.chosen([f"{folder}/*"]) == [f"{folder}/a.txt", f"{folder}/b.txt", f"{folder}/deep/c.txt"]
    assert traces.chosen([f"{folder}/LICENSE"]) == [f"{folder}/LICENSE"]


def test_options_follow_the_pattern_they_belong_to(folder: Path):
    assert traces.chosen([f"{folder}/a.txt@scale=0.25,start_s=30,{folder}/b.txt"]) == [
        {"path": f"{folder}/a.txt", "scale": 0.25, "start_s": 30},
        f"{folder}/b.txt",
    ]


def test_a_file_whose_name_has_an_at_and_an_equals_is_found_by_its_name(folder: Path):
    odd = folder / "x@y=1.txt"
    odd.write_text("0 1\n")
    assert traces.chosen([odd]) == [str(odd)]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("{}/*.csv", "matches no file"),
        ("{}/none.txt", "no such trace file"),
        ("{}/a.txt@speed=2", "no option 'speed'"),
    ],
)
def test_a_trace_that_is_not_there_is_refused_by_name(folder: Path, spec: str, says: str):
    spec = spec.format(folder)
    with pytest.raises(TraceError, match=says) as error:
        traces.chosen([spec])
    assert spec.partition("@")[0] in str(error.value)


def test_a_dotted_parameter_reaches_into_a_table_and_back_into_the_command():
    spec = "gcc@aimd.backoff_ratio=0.7,aimd.hold_in_alr=true,label=gentle"
    (chosen,) = controllers.chosen([spec])
    config = {"aimd": {"backoff_ratio": 0.7, "hold_in_alr": True}}
    assert chosen == {"name": "gcc", "config": config, "label": "gentle"}
    assert spec_text.written("gcc", {**config, "label": "gentle"}) == spec


def test_quotes_keep_commas_and_ats_together():
    chosen = controllers.chosen(['gcc@label="slow, at @ ease",aimd.backoff_ratio=0.7,fixed@target_bitrate_bps=5'])
    assert chosen == [
        {"name": "gcc", "config": {"aimd": {"backoff_ratio": 0.7}}, "label": "slow, at @ ease"},
        {"name": "fixed", "config": {"target_bitrate_bps": 5}},
    ]


# Short enough that a file could be called so: beyond a file system's limit `exists` raises.
_NAMES = st.text(min_size=1, max_size=40).filter(lambda name: not Path(name.replace("\0", "")).exists())
_VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1), inner, min_size=1, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.tuples(_NAMES, st.dictionaries(st.from_regex(r"[a-z_]{1,5}", fullmatch=True), _VALUES)), min_size=1))
def test_specs_are_read_as_they_were_written(parts: list):
    flat = [(name, {key: value for key, value in options.items() if value != {}}) for name, options in parts]
    spec = ",".join(spec_text.written(name, options) for name, options in flat)
    found = [(name, overrides.nested(options)) for name, options in spec_text.read(spec)]
    assert found == flat


@given(_VALUES)
def test_a_change_is_read_as_it_was_written(value: object):
    found = overrides.parse([f"a.b={overrides.written(value)}"])
    assert found == {"a.b": value}
    assert type(found["a.b"]) is type(value)


def test_controllers_take_parameters_and_keep_their_order():
    assert controllers.chosen(["oracle,fixed@target_bitrate_bps=800000", "fixed"]) == [
        "oracle",
        {"name": "fixed", "config": {"target_bitrate_bps": 800000}},
        "fixed",
    ]


def test_an_unknown_controller_is_refused_with_the_names_there_are():
    with pytest.raises(ControllerError, match="'bbr'") as error:
        controllers.chosen(["bbr"])
    assert error.value.hint is not None
    assert "fixed" in error.value.hint


def test_seeds_are_a_count_or_a_list():
    assert specs.seeds(3) == [1, 2, 3]
    assert specs.seeds([7, 9]) == [7, 9]
    for wrong in (0, [], [-1], [2**64]):
        with pytest.raises(Error, match="seed"):
            specs.seeds(wrong)


def test_a_scenario_that_is_no_text_is_refused(tmp_path: Path):
    path = tmp_path / "binary.toml"
    path.write_bytes(b"a = \xff\xfe")
    with pytest.raises(ScenarioError, match=r"binary.toml: not UTF-8 text \(byte 4\)"):
        scenarios.read(path)


def test_a_change_of_the_controller_that_another_replaces_is_refused_not_lost():
    with pytest.raises(Error, match=r"controller\.config\.target_bitrate_bps = 5: .* 'fixed' is put") as refused:
        Choice("steady", options={"controller.config.target_bitrate_bps": 5}, controllers=["fixed"]).plan()
    assert "fixed@target_bitrate_bps=VALUE" in refused.value.hint
    kept = Choice("steady", options={"controller.config.target_bitrate_bps": 5, "controller.name": "fixed"}).plan()
    assert "target_bitrate_bps = 5" in kept.scenario


def test_the_places_of_a_session_count_seeds_first_and_controllers_last():
    made = Plan("x.toml", "", controllers=["a", "b"], traces=["t", "u", "v"], seeds=[7, 8])
    assert made.sessions == 12
    assert [made.places(session) for session in (0, 1, 2, 6, 11)] == [
        (0, 0, 0, 0), (0, 0, 0, 1), (0, 1, 0, 0), (1, 0, 0, 0), (1, 2, 0, 1)
    ]  # fmt: skip


def test_a_choice_is_given_whole_or_by_its_parts():
    whole = Choice("steady", controllers=["gcc"], duration_s=3.0)
    assert Choice.of(whole, None, (), ()) is whole
    assert tomllib.loads(whole.plan().scenario)["duration_s"] == 3.0
    with pytest.raises(Error, match="steady: all that is chosen goes into the Choice"):
        Choice.of(whole, {"duration_s": 5})


def test_a_choice_can_be_planned_twice():
    choice = Choice("steady", controllers=(name for name in ("gcc", "nada")))
    assert choice.plan().controllers == choice.plan().controllers == ["gcc", "nada"]
