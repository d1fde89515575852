"""Inside `legato` a unit is a type: no name of its code ends in one, but for the keys of its parameters."""

import re
from collections.abc import Mapping
from pathlib import Path

CONTROLLERS = Path(__file__).resolve().parents[2] / "crates" / "controllers" / "src"
NAMED = re.compile(r"\b(?!as_|from_)\w*_(?:bps|kbps|mbps|ns|us|ms|s|s2|bytes|bits)\b", re.IGNORECASE)
NO_CODE = re.compile(r'//[^\n]*|"(?:[^"\\]|\\.)*"')
PARAMETERS = re.compile(r"pub struct Config \{(.*?)\n\}", re.DOTALL)
KEY = re.compile(r"^\s*pub (\w+):", re.MULTILINE)


def bare_units(files: Mapping[str, str]) -> list[str]:
    """File and name, outside of tests, comments, texts and parameters."""
    keys = {key for text in files.values() for body in PARAMETERS.findall(text) for key in KEY.findall(body)}
    found = []
    for name, text in files.items():
        code = NO_CODE.sub("", text.split("#[cfg(test)]")[0])
        found += [f"{name}: {unit}" for unit in dict.fromkeys(NAMED.findall(code)) if unit not in keys]
    return found


def test_no_number_of_legato_has_a_unit_in_its_name():
    for folder in ("legato", "legato_receiver"):
        files = {path.name: path.read_text() for path in sorted((CONTROLLERS / folder).glob("*.rs"))}
        assert len(files) > 3
        assert bare_units({name: text for name, text in files.items() if not name.endswith("_tests.rs")}) == []


def test_fields_parameters_and_constants_are_found():
    rust = """
        pub struct Config {
            pub drain_ms: f64,
        }
        const LONGEST_GAP_S: f64 = 0.5; // not gap_ms
        fn wait(&self, bytes_per_s: f64) -> f64 {
            gauge("wait_ms", span.as_secs_f64() / self.config.drain_ms)
        }
        #[cfg(test)]
        mod tests { const FRAME_S: f64 = 0.04; }
    """
    assert bare_units({"a.rs": rust.replace("\n        }", "\n}")}) == ["a.rs: LONGEST_GAP_S", "a.rs: bytes_per_s"]
