"""``-o key=value`` on a scenario's text."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from legato.errors import ScenarioError
from legato.plan import overrides

HERE = Path("a.toml")


def changed(text: str, *options: str) -> dict[str, object]:
    return tomllib.loads(overrides.apply(text, HERE, overrides.parse(options)))


def test_a_value_is_put_where_its_dotted_key_says():
    assert changed("[path]\nrtt_ms = 40\n", "path.rtt_ms=80") == {"path": {"rtt_ms": 80}}


def test_tables_on_the_way_are_made():
    assert changed("", "a.b.c=true") == {"a": {"b": {"c": True}}}


def test_a_number_in_a_key_picks_from_a_list():
    assert changed("[[stages]]\nx = 1\n[[stages]]\nx = 2\n", "stages.1.x=7") == {"stages": [{"x": 1}, {"x": 7}]}


@pytest.mark.parametrize(
    ("written", "read"),
    [("1", 1), ("1.5", 1.5), ("true", True), ('"1"', "1"), ("plain text", "plain text"), ("[1, 2]", [1, 2]), ("", "")],
)
def test_a_value_is_toml_or_else_a_text(written: str, read: object):
    assert overrides.parse([f"key={written}"]) == {"key": read}


def test_without_changes_the_text_stays_byte_for_byte():
    text = "# a comment\na =   1\n"
    assert overrides.apply(text, HERE, {}) == text


@pytest.mark.parametrize(
    ("text", "option", "names"),
    [
        ("a = 1", "a.b=2", "'a' is a value"),
        ("a = [1]", "a.5=2", "'5' picks nothing from a list of 1"),
        ("a = [1]", "a.x=2", "'x' picks nothing"),
        ("a = ", "b=1", "a.toml: not TOML"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(text: str, option: str, names: str):
    with pytest.raises(ScenarioError, match=names):
        changed(text, option)


def test_an_option_without_equals_is_refused():
    with pytest.raises(ScenarioError, match="-o nonsense: not of the form key=value"):
        overrides.parse(["nonsense"])


@given(st.text(max_size=30))
def test_any_text_parses_to_something(text: str):
    overrides.parse_value(text)


def test_a_value_cannot_smuggle_in_another_key():
    assert overrides.parse(["a=1\nb = 2"]) == {"a": "1\nb = 2"}
