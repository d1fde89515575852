"""The data that come with Legato are all there, and all of their licences."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from fixtures import ROOT
from legato.errors import ProfileError, ScenarioError
from legato.plan import shipped


def test_nine_families_of_traces_are_shipped():
    families = {trace.family for trace in shipped.traces()}
    recorded = {"fcc", "mahimahi", "nyc-lte", "nyu-mets", "starlink-mobile", "ucc-5g", "wifi-zhuge"}
    assert families == recorded | {"hairpin", "ibox"}


def test_a_copyleft_trace_lies_under_copyleft_and_nowhere_else():
    """The wheel leaves that folder out; a trace on the wrong side would travel under the wrong licence."""
    for trace in shipped.traces():
        copyleft = any(mark in trace.licence for mark in ("GPL", "ODbL", "-SA"))
        assert ("copyleft" in trace.path.parts) == copyleft, trace.path


def test_every_family_has_its_licence_beside_it():
    for trace in shipped.traces():
        beside = [
            name
            for folder in trace.path.parents
            if folder.is_relative_to(shipped.traces_folder())
            for name in folder.glob("*")
            if name.name.startswith(("LICENSE", "COPYRIGHT"))
        ]
        assert beside, trace.path


@pytest.mark.parametrize(("find", "error"), [(shipped.scenario, ScenarioError), (shipped.profile, ProfileError)])
def test_what_is_not_there_is_refused_with_the_names_there_are(find, error, tmp_path: Path):
    with pytest.raises(error, match="no-such-thing") as caught:
        find("no-such-thing")
    assert "by name: " in caught.value.hint
    with pytest.raises(error, match="is a folder"):
        find(tmp_path)


def test_a_message_names_a_shipped_file_from_its_folder_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shipped, "_ROOT", tmp_path / "venv/lib/site-packages/legato/packed")
    for root in (tmp_path / "venv", Path("venv")):
        said = f"{root}/lib/site-packages/legato/packed/policies/aurora/policy.toml: format: missing"
        assert shipped.without_place(said) == "policies/aurora/policy.toml: format: missing"
    assert shipped.without_place("policies/mine/policy.toml: x") == "policies/mine/policy.toml: x"


def test_a_file_goes_before_a_shipped_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cellular").write_text("")
    assert shipped.scenario("cellular") == Path("cellular")


def test_the_wheel_takes_the_product_alone() -> None:
    """The studies are a separate package; maturin packs this folder."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    source = ROOT / project["tool"]["maturin"]["python-source"]
    assert [path.name for path in source.iterdir() if path.name != "__pycache__"] == ["legato"]
    assert [entry["path"] for entry in project["tool"]["maturin"]["include"]] == ["python/legato/packed/**/*"]
