"""What `make lint` refuses of the Rust sources: each ban broken once, in a crate of its own without dependencies."""

import json
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import tomli_w

ROOT = Path(__file__).parents[2]

# Planted lines and the lint that must refuse each.
PLANTED = {
    "clippy::disallowed_methods": [
        "pub fn now() -> std::time::Instant { std::time::Instant::now() }",
        "pub fn since(at: std::time::Instant) -> std::time::Duration { at.elapsed() }",
        "pub fn date() -> std::time::SystemTime { std::time::SystemTime::now() }",
        "pub fn grown(x: f64) -> f64 { x.exp() }",
        "pub fn single(x: f32) -> f32 { x.exp() }",
        "pub fn cubed(x: f64) -> f64 { f64::powi(x, 3) }",
    ],
    "clippy::iter_over_hash_type": ['pub fn all(m: &std::collections::HashSet<u8>) { for k in m { print!("{k}") } }'],
    "unsafe_code": ["pub fn first(v: &[u8]) -> u8 { unsafe { *v.get_unchecked(0) } }"],
    "clippy::unwrap_used": ["pub fn sure(x: Option<u8>) -> u8 { x.unwrap() }"],
    "missing_docs": ["#[derive(Clone)] pub struct Bare { pub field: u8 }"],
}


def refused(folder: Path, lines: list[str]) -> list[tuple[str, str | None]]:
    """Lint and line of every complaint about a crate of these lines, under the workspace's rules."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    package = {"name": "planted", "edition": workspace["package"]["edition"]}
    manifest = {"package": package, "lints": workspace["lints"], "workspace": {}}
    (folder / "src").mkdir()
    (folder / "Cargo.toml").write_text(tomli_w.dumps(manifest), encoding="utf-8")
    shutil.copy(ROOT / "clippy.toml", folder)
    source = "\n".join(["//! Planted.", *(f"/** Planted. */ {line}" for line in lines)])
    (folder / "src" / "lib.rs").write_text(source, encoding="utf-8")
    command = ["cargo", "clippy", "--offline", "--quiet", "--message-format=json", "--target-dir", folder / "target"]
    found = subprocess.run([*command, "--", "-D", "warnings"], cwd=folder, capture_output=True, text=True, timeout=120)
    complaints = []
    for line in found.stdout.splitlines():
        message = json.loads(line).get("message")
        if message and not message["message"].startswith("aborting"):
            text = message["spans"][0]["text"][0]["text"] if message["spans"] else message["message"]
            complaints.append(((message["code"] or {}).get("code"), text.removeprefix("/** Planted. */ ")))
    assert bool(complaints) == bool(found.returncode), found.stderr
    return complaints


@pytest.fixture(scope="module", autouse=True)
def clippy() -> None:
    if subprocess.run(["cargo", "clippy", "--version"], capture_output=True).returncode:
        pytest.skip("clippy is not installed: rustup component add clippy")


def test_plain_code_passes(tmp_path):
    assert refused(tmp_path, ["pub fn root(x: f64) -> f64 { x.sqrt().mul_add(2.0, 1.0).round() }"]) == []


def test_a_planted_fault_is_refused_by_its_lint(tmp_path):
    expected = [(lint, line) for lint, lines in PLANTED.items() for line in lines]
    assert sorted(refused(tmp_path, [line for _, line in expected])) == sorted(expected)


def test_every_ban_names_a_function_that_exists(tmp_path):
    bans = tomllib.loads((ROOT / "clippy.toml").read_text(encoding="utf-8"))["disallowed-methods"]
    lines = [f"pub fn banned{number}() {{ let _ = {ban['path']}; }}" for number, ban in enumerate(bans)]
    assert sorted(refused(tmp_path, lines)) == sorted(("clippy::disallowed_methods", line) for line in lines)
