"""The repository's own rules, each broken once in a small tree."""

import importlib.util
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., list[str]]:
    """Runs a check over a tree of these files; the violations, without their prefix."""
    monkeypatch.syspath_prepend(str(TOOLS))

    def run(check: str, files: dict[str, str], **options: bool) -> list[str]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        monkeypatch.syspath_prepend(TOOLS)  # check_sentences reads what check_prose reads
        spec = importlib.util.spec_from_file_location(check, TOOLS / f"{check}.py")
        module = importlib.util.module_from_spec(spec)
        # Dataclasses look their module up.
        sys.modules[check] = module
        spec.loader.exec_module(module)
        status = module.main(tmp_path, **options)
        lines = [line.removeprefix(f"{check}: ") for line in capsys.readouterr().err.splitlines()]
        assert status == (1 if lines else 0)
        return lines

    return run


def manifest(name: str, dependencies: str = "", more: str = "") -> dict[str, str]:
    text = f'[package]\nname = "legato-{name}"\n[dependencies]\n{dependencies}\n{more}\n'
    return {f"crates/{name}/Cargo.toml": text}


class TestLayers:
    def test_what_the_right_side_reaches_may_be_named(self, run):
        assert (
            run("check_layers", manifest("call", "legato-units.workspace = true\nlegato-media.workspace = true")) == []
        )

    def test_a_crate_may_not_name_one_above_or_beside_it(self, run):
        assert run("check_layers", manifest("control", 'legato-media = { path = "../media" }')) == [
            "crates/control/Cargo.toml: control depends on media; it may name units"
        ]

    def test_neither_another_name_nor_a_target_hides_a_dependency(self, run):
        hidden = manifest("path", 'm = { package = "legato-media", path = "../media" }')
        assert len(run("check_layers", hidden)) == 1
        for_one_target = manifest("path", more='[target."cfg(unix)".dependencies]\nlegato-wire.workspace = true')
        assert len(run("check_layers", for_one_target)) == 1

    def test_tests_may_look_up(self, run):
        assert run("check_layers", manifest("wire", more="[dev-dependencies]\nlegato-sim.workspace = true")) == []

    def test_a_crate_without_a_line_in_the_table_is_refused(self, run):
        assert "has no line in the layer table" in run("check_layers", manifest("helpers"))[0]

    def test_the_product_names_no_study(self, run):
        files = {
            "python/legato/runs/a.py": "def f():\n    from legato_studies.papers import verdict\n",
            "studies/legato_studies/a.py": "import legato_studies.papers\n",
        }
        assert run("check_layers", files) == ["python/legato/runs/a.py:2: the product imports legato_studies"]

    def test_a_report_reads_run_folders_only(self, run):
        files = {
            "python/legato/_core.pyi": "",
            "python/legato/atomic.py": "",
            "python/legato/errors.py": "",
            "python/legato/policy.py": "from legato import atomic\n",
            "python/legato/report/a.py": "from legato.runs import sweep\nfrom legato.errors import Error\n",
            "python/legato/report/b.py": "from .. import policy\nfrom legato.results import stats\n",
            "python/legato/results/stats.py": "from legato import _core\n",
            "python/legato/plan.py": "",
            "python/legato/runs/__init__.py": "",
            "python/legato/runs/sweep.py": "from legato import plan, _core\n",
        }
        assert run("check_layers", files) == [
            "python/legato/report/a.py:1: legato.report imports legato.runs",
            "python/legato/report/b.py:1: legato.report imports legato.policy",
            "python/legato/results/stats.py:1: legato.results.stats imports legato._core",
        ]

    def test_a_part_without_a_line_in_the_table_is_refused(self, run):
        assert run("check_layers", {"python/legato/helpers.py": "", "python/legato/plan/a.py": ""}) == [
            "python/legato: helpers has no line in the layer table of tools/check_layers.py"
        ]


class TestCircles:
    FILES: ClassVar[dict[str, str]] = {
        "crates/media/src/lib.rs": "mod link;\nmod queue;\nmod stage;\npub use queue::{Limit, Queue};\n",
        "crates/media/src/queue.rs": "use std::fmt;\npub struct Queue;\npub struct Limit;\n",
        "crates/media/src/link.rs": "use crate::{Limit, stage::{self, Stage}};\n",
        "crates/media/src/stage/mod.rs": "mod loss;\npub use loss::Loss;\npub trait Stage {}\n",
        "crates/media/src/stage/loss.rs": "use super::Stage;\n",
    }

    def test_a_parent_that_passes_a_name_on_is_in_no_circle(self, run):
        assert run("check_circles", self.FILES) == []

    @pytest.mark.parametrize(
        "line", ["use super::link::Link;", "use crate::{link::{self as l}};", "fn f() { crate::link::g() }"]
    )
    def test_files_that_import_each_other_are_refused(self, run, line):
        queue = self.FILES["crates/media/src/queue.rs"] + line + "\n"
        assert run("check_circles", self.FILES | {"crates/media/src/queue.rs": queue}) == [
            "crates/media/src: link.rs, queue.rs import each other"
        ]

    def test_a_file_that_takes_what_a_parent_passes_on_does_not_import_the_parent(self, run):
        files = {
            "crates/media/src/stage/mod.rs": "mod loss;\npub use loss::{Gain, Loss};\nuse crate::link::Link;\n",
            "crates/media/src/stage/loss.rs": "pub struct Loss;\npub struct Gain;\n",
            "crates/media/src/link.rs": "use crate::stage::{Gain, Loss};\npub struct Link;\n",
        }
        assert run("check_circles", self.FILES | files) == []

    def test_files_of_python_that_import_each_other_are_refused(self, run):
        files = {
            "python/legato/__init__.py": "def f():\n    from legato.a import A\n",
            "python/legato/a.py": "from legato import b\n",
            "python/legato/b.py": "from legato.c import d\n",
            "python/legato/c/__init__.py": "from legato.c.d import D\n",
            "python/legato/c/d.py": "import os\n",
        }
        assert run("check_circles", files) == []
        d = "def f():\n    from ..a import A\n"
        assert run("check_circles", files | {"python/legato/c/d.py": d}) == [
            "python/legato: a.py, b.py, c/d.py import each other"
        ]
        assert run("check_circles", files | {"python/legato/c/d.py": "import legato\n"}) == [
            "python/legato: __init__.py, a.py, b.py, c/d.py import each other"
        ]

    def test_tests_may_look_anywhere(self, run):
        tests = "#[cfg(test)]\nmod tests {\n    use crate::link::Link;\n}\n"
        queue = self.FILES["crates/media/src/queue.rs"] + tests
        assert run("check_circles", self.FILES | {"crates/media/src/queue.rs": queue}) == []


class TestDependencies:
    def test_a_crate_that_no_source_names_is_refused(self, run):
        files = manifest("a", "toml = '1'\nrand_core = '1'", "[dev-dependencies]\nproptest = '1'\nserde = '1'")
        files |= {
            "crates/a/src/lib.rs": "use toml::Table; // not rand_core\n",
            "crates/a/benches/b.rs": "use proptest::prelude::*;\n",
            "Cargo.toml": "[workspace.dependencies]\ntoml = '1'\ninsta = '1'\n",
        }
        assert run("check_dependencies", files) == [
            "crates/a/Cargo.toml: dependencies: src never names rand_core",
            "crates/a/Cargo.toml: dev-dependencies: src, tests, benches, examples never names serde",
            "Cargo.toml: no crate takes insta",
        ]

    def test_a_package_that_no_source_imports_is_refused(self, run):
        project = '[project]\ndependencies = ["numpy>=2", "tomli-w"]\n'
        project += '[project.optional-dependencies]\ncall = ["playwright"]\n'
        files = {"pyproject.toml": project, "python/legato/a.py": "import numpy as np\nfrom tomli_w import dumps\n"}
        assert run("check_dependencies", files) == ["pyproject.toml: no source imports playwright"]


class TestUnits:
    def test_numbers_of_a_scenario_say_their_unit(self, run):
        toml = (
            "delay = 20\nbase_rtt_ms = 40\nseed = 1\nfraction = 0.5\n[[stage]]\nsteps = [{ at_s = 1, capacity = 5 }]\n"
        )
        assert run("check_units", {"scenarios/a.toml": toml}) == [
            f"scenarios/a.toml: {key} says no unit" for key in ("delay", "fraction", "capacity")
        ]

    def test_parameters_read_from_toml_say_their_unit(self, run):
        rust = """
            #[serde(default, deny_unknown_fields)]
            pub struct Config {
                /// How far.
                pub horizon: f64,
                pub horizon_ms: f64,
                pub pause: Option<TimeDelta>,
                pub packets: u32,
                pub interval: u32,
                #[serde(rename = "rate_bps")]
                pub rate: DataRate,
                #[serde(rename = "share")]
                pub share_ratio: f64,
                pub enabled: bool,
            }
            pub struct Inner { pub anything: f64 }
        """
        assert run("check_units", {"crates/x/src/a.rs": rust}) == [
            f"crates/x/src/a.rs: Config: {key} says no unit" for key in ("horizon", "pause", "interval", "share")
        ]

    def test_columns_say_their_unit(self, run):
        page = """
            | column | type | definition |
            |---|---|---|
            | `call` | u64 | number |
            | `rtt_{mean,p95}_ms`, `goodput` | f64 | two good, one not |
            `time_ms` u32, `queue` f32, `size` u16, `name` text
        """
        assert run("check_units", {"docs/reference/run-folder.md": page}) == [
            f"docs/reference/run-folder.md:{line}: {name} says no unit"
            for line, name in ((5, "goodput"), (6, "queue"), (6, "size"))
        ]

    def test_public_python_numbers_say_their_unit(self, run):
        python = """
            def play(start: float, end_s: float, count: int, timeout: int, *, _inner: float = 0) -> float: ...
            def _private(start: float): ...
            class Span:
                length: float | None
                def __init__(self, at: float): ...
                def _hidden(self, at: float): ...
        """
        assert run("check_units", {"python/legato/a.py": python}) == [
            f"python/legato/a.py:{where} says no unit"
            for where in ("2: play: start", "2: play: timeout", "5: Span: length", "6: __init__: at")
        ]


class TestConstants:
    def test_a_number_needs_a_citation_or_a_reason(self, run):
        rust = """
            const GAIN: f64 = 0.85;

            const RATE: DataRate = DataRate::from_kbps(30);
            const TWICE: f64 = 2.0 * GAIN;

            fn halved(x: f64) -> f64 {
                const HALF: f64 = 0.5;
                x * HALF
            }
        """
        assert run("check_constants", {"crates/controllers/src/a.rs": rust}) == [
            f"crates/controllers/src/a.rs:{line}: {name} has neither a citation nor a reason"
            for line, name in ((2, "GAIN"), (4, "RATE"), (5, "TWICE"), (8, "HALF"))
        ]

    def test_a_comment_speaks_for_the_constants_that_follow_it_and_for_those_of_its_function(self, run):
        rust = """
            // [rfc9999] §5.2: one value, and its half.
            const GAIN: f64 = 0.85;
            #[rustfmt::skip]
            pub(super) const SMALL: [f64; 2] = [0.4, 0.45];
            const SUM: f64 = GAIN + GAIN;

            const SLOTS: usize = 50; // of 10 ms

            impl Scheme for A {
                const CITES: &'static [&'static str] = &["rfc9999"];
                const INTERVAL: TimeDelta = TimeDelta::from_millis(50);
            }

            // [rfc9999] eq. (1): x / 2
            fn halved(x: f64) -> f64 {
                const HALF: f64 = 0.5;
                x * HALF
            }

            #[cfg(test)]
            mod tests {
                const LIMIT: u64 = 7;
            }
        """
        assert run("check_constants", {"crates/control/src/a.rs": rust}) == []


BIB = "@techreport{rfc9999,\n  title = {{A {Good} Text}},\n}\n"


class TestCitations:
    def test_an_unknown_key_is_refused_and_a_type_is_no_key(self, run):
        comment = "// [nobody2017] says so; [f32] and [`Ok`] say nothing.\n"
        rust = comment + 'let x = y[z10];\nconst CITES: &[&str] = &["gone"];\n'
        assert run("check_citations", {"docs/references.bib": BIB, "crates/a/src/lib.rs": rust}, write=True) == [
            "crates/a/src/lib.rs:3: [gone] is not in docs/references.bib",
            "crates/a/src/lib.rs:1: [nobody2017] is not in docs/references.bib",
        ]

    def test_a_cited_equation_needs_a_test_that_names_it(self, run):
        code = "//! [rfc9999] §1 in words.\n// [rfc9999] eq. (5): x = y\n// [rfc9999] §5.2 and §6: why\n"
        tests = "#[cfg(test)]\nmod tests {\n    /// [rfc9999] eq. (5), worked by hand.\n    /// [rfc9999] §5.\n}\n"
        files = {"docs/references.bib": BIB, "crates/a/src/lib.rs": code}
        assert len(run("check_citations", files, write=True)) == 3
        assert run("check_citations", files | {"crates/a/src/lib.rs": code + tests}, write=True) == [
            "crates/a/src/lib.rs:3: no test names [rfc9999] §6"
        ]

    def test_the_page_lists_place_code_and_test(self, run, tmp_path):
        code = "// [rfc9999] eq. (5): x = y\n"
        test = "// [rfc9999] eq. (5), worked by hand.\n"
        files = {"docs/references.bib": BIB, "crates/a/src/lib.rs": code, "crates/a/src/lib_tests.rs": test}
        assert run("check_citations", files, write=True) == []
        page = (tmp_path / "docs/references.md").read_text()
        assert "A Good Text." in page
        assert "| eq. (5) | `crates/a/src/lib.rs` | `crates/a/src/lib_tests.rs` |" in page

    def test_a_page_that_is_not_up_to_date_is_refused_and_left_alone(self, run, tmp_path):
        stale = ["docs/references.md is out of date: `make format` writes it"]
        assert run("check_citations", {"docs/references.bib": BIB}) == stale
        assert run("check_citations", {}, write=True) == []
        assert run("check_citations", {}) == []
        cited = {"crates/a/src/lib.rs": "//! [rfc9999] in words.\n"}
        before = (tmp_path / "docs/references.md").read_text()
        assert run("check_citations", cited) == stale
        assert (tmp_path / "docs/references.md").read_text() == before


class TestProse:
    def test_words_of_the_list_are_found_in_documents_comments_and_strings(self, run):
        files = {
            "docs/a.md": "It tells the rate.\n\n```text\nit tells\n```\n`tells` and [a](who.md) pass.\n" + "x" * 121,
            "crates/a/src/lib.rs": '/// Asks each 50 ms.\nfn who() { panic!("the least, at least"); }'
            " // tells a from b apart\n",
            "python/legato/a.py": '"""Less the mean."""\nwho = 1  # people who read, a peer who sends\n',
        }
        assert run("check_prose", files) == [
            "crates/a/src/lib.rs:1: each 50 ms: every 50 ms",
            "crates/a/src/lib.rs:2: least: minimum, smallest, lowest",
            "docs/a.md:1: tell: report, record, return, say",
            "docs/a.md:7: more than 120 columns",
            "python/legato/a.py:1: less: minus",
            "python/legato/a.py:2: who: that",
        ]

    def test_a_folder_may_have_what_its_ceiling_says_and_a_file_what_it_has_a_reason_for(self, run):
        config = '[ceilings]\n"crates/a" = 1\n[allowed."docs/a.md"]\n"road: pipeline" = "cars drive on it"\n'
        files = {"tools/check_prose.toml": config, "docs/a.md": "A road.\n", "crates/a/src/lib.rs": "// It tells.\n"}
        assert run("check_prose", files) == []
        assert len(run("check_prose", {"crates/a/src/b.rs": "// It told.\n"})) == 2


class TestSentences:
    @pytest.mark.parametrize(
        "text",
        [
            "The page shows what came of it.",
            "A frame of its own.",
            "It is sent beside the video.",
            "The reason stands in the log.",
            "The rate is\nknown here.",
            "A sentence" + " that goes on" * 12 + ".",
        ],
    )
    @pytest.mark.parametrize("name", ["docs/a.md", "crates/a/src/lib.rs", "python/legato/a.py", "studies/a.py"])
    def test_each_pattern_is_refused_in_every_area(self, run, name, text):
        mark = {"md": "", "rs": "/// ", "py": "# "}[name.rpartition(".")[2]]
        found = run("check_sentences", {name: "".join(f"{mark}{line}\n" for line in text.splitlines())})
        assert len(found) == 1 and ": 1 times " in found[0]

    def test_code_questions_tables_and_two_short_sentences_are_not(self, run):
        long = "A word" + " and another" * 12
        files = {
            "docs/a.md": f"`what is` What is this?\n\n| {long} and more |\n\n{long}. {long}.\n\n- {long}\n- {long}\n",
            "crates/a/src/lib.rs": f"/// {long}\nfn a() {{}}\n/// ```text\n/// what is\n/// ```\n/// {long}\n",
        }
        assert run("check_sentences", files) == []

    def test_an_area_may_have_what_its_ceiling_says(self, run):
        ceiling = "[documents]\nbeside = 1\n"
        assert run("check_sentences", {"tools/check_sentences.toml": ceiling, "docs/a.md": "Beside.\n"}) == []
        assert run("check_sentences", {"docs/b.md": "Besides.\n"}) == [
            "documents: 2 times 'beside', 1 allowed: see --list"
        ]


class TestSize:
    CEILINGS = "[ceilings]\nproduct = 3\nstudies = 1\n"

    def test_tests_do_not_count_and_each_side_has_its_ceiling(self, run):
        files = {
            "tools/check_size.toml": self.CEILINGS,
            "crates/a/src/lib.rs": "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n",
            "crates/a/src/a_tests.rs": "fn c() {}\n" * 9,
            "crates/a/tests/all.rs": "fn d() {}\n" * 9,
            "python/legato/a.py": "a = 1\nb = 2\n",
            "studies/tests/test_a.py": "a = 1\n" * 9,
            "studies/a.py": "a = 1\n",
        }
        assert run("check_size", files) == []
        assert run("check_size", {"python/legato/b.py": "a = 1\n", "studies/b.py": "a = 1\n"}) == [
            "product 4 lines of 3 allowed: too many",
            "studies 2 lines of 1 allowed: too many",
        ]


@pytest.mark.parametrize("tests", sorted(TOOLS.parent.glob("crates/*/tests")), ids=lambda path: path.parent.name)
def test_every_file_of_integration_tests_is_run(tests):
    """With ``autotests = false`` a file that ``all.rs`` does not name would never be compiled."""
    crate = tomllib.loads((tests.parent / "Cargo.toml").read_text(encoding="utf-8"))
    if crate["package"].get("autotests", True):
        return
    named = {test["name"] for test in crate["test"]}
    named |= set(re.findall(r"^mod (\w+);", (tests / "all.rs").read_text(encoding="utf-8"), re.MULTILINE))
    assert {path.stem for path in tests.glob("*.rs")} <= named


CHECKS = sorted(path.stem for path in TOOLS.glob("check_*.py"))


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_stays_short_enough_to_read(check):
    assert len((TOOLS / f"{check}.py").read_text().splitlines()) < 150


@pytest.mark.parametrize("check", CHECKS)
def test_this_tree_keeps_its_rules_and_lint_asks_for_it(check):
    status = subprocess.run([sys.executable, TOOLS / f"{check}.py", TOOLS.parent], capture_output=True, text=True)
    assert status.returncode == 0, status.stderr
    assert f"tools/{check}.py" in (TOOLS.parent / "Makefile").read_text()


def test_ci_lints():
    assert "make lint" in (TOOLS.parent / ".ci" / "run").read_text().splitlines()
