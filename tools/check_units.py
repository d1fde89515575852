"""Refuses a number at a border whose name does not say its unit.

    python3 tools/check_units.py [ROOT]

Borders: keys of scenarios and policies (TOML), parameters of what TOML is read into (Rust structs
with `deny_unknown_fields`), columns of docs/reference/run-folder.md, parameters and fields of the public
Python API. Integers may be counts, numbers of things and seeds, so only those named after a
quantity need a unit; other numbers need one unless PURE lists them.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

UNITS = "bps kbps mbps ns us ms s min bytes bits ratio ratios db fps hz ppm pixels packets frames percent".split()
# Units within a name: `gain_per_ms`, `sent_ms_mean`, `bytes_per_s`.
UNIT = re.compile(rf"(?:^|_)(?:{'|'.join(UNITS)})(?:_(?:mean|p\d+|min|max|std|low|high|start|step|total))?$")
QUANTITY = re.compile(
    r"(?:^|_)(?:bandwidth|bitrate|capacity|delay|duration|interval|jitter|latency|offset|period|rate|rtt|"
    r"size|target|throughput|time|timeout|window)$"
)
# Numbers without a unit, by kind.
PURE_BY_KIND = {
    "a codec's own scale": "high_qp level low_qp qp qp_mae qp_mean",
    "a correlation": "overshoot_corr_1s overshoot_corr_200ms",
    "a factor, gain, share or power": "alpha beta bias_smoothing exponent factor gain newton_step q scale slope weight",
    "a weight against other flows": "priority",
    "a place in a drawing": "x x_end x_marks y",
    "a number of standard deviations": "n_std",
    "a score": "base_qoe best_reward evaluation_reward frozen_reward last_reward mmsys21_score qoe_d qoe_p reward "
    "viewed_qoe_d viewed_qoe_p viewed_vmaf viewed_vmaf_mean",
    "a number of a learning algorithm's": "action_std adam_betas adam_epsilon clip clip_value discount distance "
    "gae_lambda initial_action_std initial_output learning_rate max_gradient_norm share_done std target_kl",
    "pairs of s and bit/s": "steps",
    "luma, in steps of 8 bits": "complexity",
    "luma rows or columns": "height height_mean width",
    "of any unit, as what it is taken from": "band high least low mark mean most no_effect printed published range "
    "value values within",
}
PURE = {name for names in PURE_BY_KIND.values() for name in names.split()}


def says_unit(name: str) -> bool:
    return (
        bool(UNIT.search(name))
        or "_per_" in name
        or name in PURE
        or name.endswith(("_bias", "_factor", "_gain", "_weight"))
    )


def main(root: Path) -> int:
    checks = (toml_numbers, rust_parameters, columns, python_numbers)
    bad = [f"{where}: {name} says no unit" for check in checks for where, name in check(root)]
    for line in bad:
        print(f"check_units: {line}", file=sys.stderr)
    return 1 if bad else 0


def toml_numbers(root: Path) -> Iterator[tuple[str, str]]:
    def numbers(value: object, key: str) -> Iterator[tuple[str, object]]:
        if isinstance(value, dict):
            for inner, item in value.items():
                yield from numbers(item, inner)
        elif isinstance(value, list):
            for item in value:
                yield from numbers(item, key)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield key, value

    for folder in ("scenarios", "policies"):
        for path in sorted((root / folder).rglob("*.toml")):
            found = numbers(tomllib.loads(path.read_text(encoding="utf-8")), "")
            for key in dict.fromkeys(
                k for k, v in found if not says_unit(k) and (isinstance(v, float) or QUANTITY.search(k))
            ):
                yield str(path.relative_to(root)), key


def rust_parameters(root: Path) -> Iterator[tuple[str, str]]:
    struct = re.compile(
        r"deny_unknown_fields[^\]]*\)\](?:\s*(?:#\[[^\n]*|///[^\n]*))*\s*pub struct (\w+) \{(.*?)\n\}", re.S
    )
    renaming = r"(?:\s*#\[serde\(rename = \"(\w+)\"\)\]\n)?"
    field = re.compile(rf"^{renaming}\s*pub(?:\([a-z]+\))? (\w+): (?:Option<|Vec<|\[)*(\w+)", re.M)
    for path in sorted((root / "crates").rglob("*.rs")):
        for name, body in struct.findall(path.read_text(encoding="utf-8")):
            for renamed, key, kind in field.findall(body):
                real = kind in ("f32", "f64", "DataRate", "DataSize", "TimeDelta", "Timestamp")
                whole = re.fullmatch(r"[iu](?:8|16|32|64)|[iu]size", kind) and QUANTITY.search(key)
                if (real or whole) and not says_unit(renamed or key):
                    yield f"{path.relative_to(root)}: {name}", renamed or key


def columns(root: Path) -> Iterator[tuple[str, str]]:
    """Columns are set in backticks with their types behind them, alone or as `a`, `b` f64 (several share one)."""
    page = root / "docs" / "reference" / "run-folder.md"
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines() if page.exists() else (), 1):
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 3:
            pairs = [(name, cells[2].split(", ")[0]) for name in re.findall(r"`([^`]+)`", cells[1])]
        else:
            pairs = re.findall(r"`([a-z][a-z0-9_]*)` ([fiu]\d+)", line)
        for group, kind in pairs:
            head, _, rest = group.partition("{")
            inner, _, tail = rest.partition("}")
            for name in [head + part + tail for part in inner.split(",")]:
                if (kind[:1] == "f" or QUANTITY.search(name)) and kind[1:].isdigit() and not says_unit(name):
                    yield f"docs/reference/run-folder.md:{number}", name


def python_numbers(root: Path) -> Iterator[tuple[str, str]]:
    packages = (root / "python" / "legato", root / "studies" / "legato_studies")
    files = sorted(path for package in packages for kind in ("*.py", "*.pyi") for path in package.rglob(kind))
    for path in (path for path in files if path.parent.name != "pages"):  # programs, which nothing imports
        for holder in public_scopes(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(holder, ast.ClassDef):
                named: list[tuple[str, ast.AnnAssign | ast.arg]] = [
                    (n.target.id, n)
                    for n in holder.body
                    if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
                ]
            else:
                spec = holder.args
                named = [(a.arg, a) for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
            for name, node in named:
                words = set(re.findall(r"\w+", ast.unparse(node.annotation))) if node.annotation else set()
                if "Callable" in words:
                    continue
                number = "float" in words or ("int" in words and QUANTITY.search(name))
                if number and not name.startswith("_") and not says_unit(name):
                    yield f"{path.relative_to(root)}:{node.lineno}: {holder.name}", name


def public_scopes(node: ast.AST) -> Iterator[ast.ClassDef | ast.FunctionDef]:
    for child in getattr(node, "body", ()):
        if isinstance(child, ast.ClassDef | ast.FunctionDef) and (child.name == "__init__" or child.name[0] != "_"):
            yield child
            if isinstance(child, ast.ClassDef):
                yield from public_scopes(child)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))
