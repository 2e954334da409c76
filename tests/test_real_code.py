"""The code that tests read is the same on every machine."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from tests import real_code

ROOT = Path(__file__).parents[1]
TESTS = sorted(
    path for folder in ("tests", "benchmarks", "training", "deploy", "scripts", "fim_lsp", "server_bridge")
    for path in (ROOT / folder).rglob("*.py") if "tests" in path.parts
)  # fmt: skip
LOOKS = re.compile(r"__file__|getsource")  # a text without either is not parsed
DIGEST = "ea0a67fa499aa1287e56d6c6245cea7b855f22953a479fba59f3b2c1200f9b94"


def test_real_code_is_the_same_everywhere() -> None:
    """The files of the packages are those that the rules were counted on."""
    found = real_code.digest()
    assert found == DIGEST, f"the packages of {real_code.__name__} changed: DIGEST = {found!r}"


def read_of_python(source: str) -> list[str]:
    """Return the modules of Python's own library whose files a program looks for."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=of, attr="__file__"):
                pass
            case ast.Call(func=ast.Attribute(attr=called), args=[of, *_]) if "getsource" in called:
                pass
            case _:
                continue
        names = [name.id for name in ast.walk(of) if isinstance(name, ast.Name)]
        found += [name for name in names if name in sys.stdlib_module_names]
    return found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("inspect.getsource(argparse)", ["argparse"]),
        ("inspect.getsource([argparse, enum][n])", ["argparse", "enum"]),
        ("inspect.getsourcefile(json.decoder)", ["json"]),
        ("Path(argparse.__file__).read_text()", ["argparse"]),
        ("Path(__file__).parent; laws.__file__; inspect.getsource(laws)", []),
    ],
)
def test_a_look_at_python_s_own_files_is_found(source: str, found: list[str]) -> None:
    """By the source of a module, or by its file."""
    assert read_of_python(source) == found


def test_no_test_reads_python_s_own_library() -> None:
    """It differs with each patch of Python, and so would what the test says."""
    found = {
        str(path.relative_to(ROOT)): modules
        for path in TESTS
        if LOOKS.search(text := path.read_text("utf-8")) and (modules := read_of_python(text))
    }
    assert not found
