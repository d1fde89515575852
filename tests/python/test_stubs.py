"""python/legato/_core.pyi says what the native module has, no more and no less."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import legato
from legato import _core

STUB = ast.parse((Path(legato.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))


def written(body: list[ast.stmt]) -> dict[str, ast.AST]:
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name: node for node in body if isinstance(node, kinds)}


def arguments(function: ast.FunctionDef) -> list[str]:
    spec = function.args
    names = [argument.arg for argument in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def public(thing: object) -> set[str]:
    return {name for name in vars(thing) if not name.startswith("_")}


# A build without a C++ compiler has no encoders to measure with and makes no calls.
OPTIONAL = {
    *("EncoderModel", "LiveEncoder", "OpenH264Stream", "picture_quality", "profile_mean_size"),
    *("CallCodec", "RealCall", "TunPair", "codecs", "open_call_folder", "vmaf", "write_scene"),
    *("HybridDecoder", "HybridEncoder", "HybridModel", "HybridResilience", "hybrid_cut"),
}
# A name with an underscore is the stub's own: a type that an argument has, and no class of the module.
BUILT = {
    name: node
    for name, node in written(STUB.body).items()
    if not name.startswith("_") and (hasattr(_core, name) or name not in OPTIONAL)
}


def test_the_stub_names_what_the_module_has():
    assert set(BUILT) == public(_core)


def test_functions_take_the_arguments_the_stub_says():
    for name, node in BUILT.items():
        if isinstance(node, ast.FunctionDef):
            assert list(inspect.signature(getattr(_core, name)).parameters) == arguments(node), name


def test_classes_have_the_members_the_stub_says():
    for name, node in BUILT.items():
        if not isinstance(node, ast.ClassDef):
            continue
        native = getattr(_core, name)
        members = written(node.body)
        assert {member for member in members if not member.startswith("_")} == public(native), name
        for member, function in members.items():
            takes = native if member == "__new__" else getattr(native, member)
            if callable(takes):
                parameters = [name for name in inspect.signature(takes).parameters if name != "self"]
                assert parameters == arguments(function), f"{name}.{member}"


def test_everything_native_is_documented():
    for name in public(_core):
        assert getattr(_core, name).__doc__, name


def test_modules_are_reached_from_the_package():
    program = "import legato; print(legato.gap.measure.__name__, legato.conformance.conformance.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "measure conformance\n"


def test_every_public_name_is_where_the_package_says():
    for name in legato.__all__:
        assert getattr(legato, name).__name__ == name
    types = next(node for node in ast.parse(Path(legato.__file__).read_text()).body if isinstance(node, ast.If))
    typed = {alias.name: node.module for node in types.body for alias in node.names}
    assert typed == {name: f"legato.{home}" for name, home in legato._HOMES.items()}


def test_the_command_line_begins_without_what_only_some_verbs_need():
    program = "import sys, legato.cli; print(*({'av', 'duckdb', 'jinja2', 'numpy', 'torch'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
