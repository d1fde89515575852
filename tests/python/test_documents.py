"""What the documents say works as printed: README's commands, the controller of the howto, links between files."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import printed_tables
from fixtures import ROOT, Legato
from legato.plan import shipped

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(path for top in ("docs", "studies") for path in (ROOT / top).rglob("*.md"))])


def fenced(document: Path, language: str) -> list[str]:
    """The blocks of code of one language, by their fence."""
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(document: Path):
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if "://" not in target:
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_the_readme_counts_the_traces_that_are_here():
    traces = shipped.traces()
    assert len({trace.family for trace in traces}) == 9
    assert f"| {len(traces)} recorded traces of nine public families included;" in (ROOT / "README.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.slow
def test_the_commands_of_the_readme_run_one_after_the_other(legato: Legato, tmp_path: Path):
    (tmp_path / "data").symlink_to(ROOT / "data")
    commands = [line for block in fenced(ROOT / "README.md", "sh") for line in block.splitlines()]
    assert len(commands) >= 5
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "legato"
        done = legato(*arguments)
        assert done.returncode == 0, f"{command}\n{done.stderr}"


@pytest.mark.slow
def test_the_python_of_the_readme_runs(tmp_path: Path):
    (tmp_path / "data").symlink_to(ROOT / "data")
    for block in fenced(ROOT / "README.md", "python"):
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr


def test_the_list_of_parameters_is_the_codes(tool: Callable[[str], ModuleType]):
    assert tool("parameters").main(["--check"]) == 0, "python tools/parameters.py writes it"


@pytest.mark.slow
@pytest.mark.parametrize(("page", "tables"), [("first-comparison", 1), ("why-the-rate-fell", 2)])
def test_the_tutorial_runs_and_prints_what_it_says(page: str, tables: int, tmp_path: Path):
    document = ROOT / f"docs/tutorial/{page}.md"
    found = list(printed_tables.run(document, tmp_path))
    assert len(found) == tables
    for one in found:
        assert one.now == one.fresh, f"python tests/python/printed_tables.py {document.relative_to(ROOT)} writes it"


def test_figures_of_a_table_are_written_with_the_digits_that_it_has():
    printed = "┌──┐\n│ s │ rate │\n│ double │ double │\n├──┤\n│ 21.4 │ 1680.0 │\n│ 21.6 │ 1920.4 │\n└──┘\n"
    table = "| s | rate |\n|---|---|\n| 21.4 | 1 |\n"
    assert printed_tables._with_figures(table, printed).splitlines()[2:] == ["| 21.4 | 1680 |", "| 21.6 | 1920 |"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_controller_of_the_howto_compiles_and_has_the_properties_of_all(tmp_path: Path):
    source, module_line, registry_line = fenced(ROOT / "docs/howto/add-a-controller.md", "rust")
    crates = ("crates/units", "crates/control", "crates/controllers")
    for part in (*crates, "Cargo.lock", "clippy.toml"):
        copy = tmp_path / part
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(ROOT / part, copy) if (ROOT / part).is_dir() else shutil.copyfile(ROOT / part, copy)
    workspace = (ROOT / "Cargo.toml").read_text().replace('"crates/*"', ", ".join(f'"{crate}"' for crate in crates))
    (tmp_path / "Cargo.toml").write_text(workspace)
    controllers = tmp_path / "crates/controllers/src"
    (controllers / "brake.rs").write_text(source)
    modules = controllers / "lib.rs"
    modules.write_text(modules.read_text() + module_line)
    registry = controllers / "registry.rs"
    text = registry.read_text()
    text = text.replace("use crate::{", "use crate::{brake, ", 1)
    registry.write_text(re.sub(r"(REGISTRY: &\[Entry\] =\s*&\[)", rf"\1{registry_line.strip()} ", text, count=1))
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(ROOT / "target" / "howto"),
        "CARGO_PROFILE_TEST_OPT_LEVEL": "0",  # compiling is most of it
        "PROPTEST_CASES": "8",
    }
    done = subprocess.run(
        "cargo test -q --offline -p legato-controllers --test all -- properties parameters".split(),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=840,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
