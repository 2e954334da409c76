"""
The promises of SECURITY.md, and the tests that carry their names: `python -m tests.promises` prints both.

A promise is a line `- **name**: sentence` of SECURITY.md; its tests have the mark `promise("name")`, or stand in a
file whose `pytestmark` has it. `scripts/test-security` runs them.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
FOLDERS = ("tests", "deploy/tests", "scripts/tests", "benchmarks/tests", "training/tests")


class Mark(NamedTuple):
    """A promise's name, and the test or the file of tests that has it, as pytest names it."""

    promise: str
    test: str


def list_promises() -> list[str]:
    """Return the names of the promises, in the order of SECURITY.md."""
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    return re.findall(r"^- \*\*([a-z-]+)\*\*: ", text, re.MULTILINE)


def list_marks() -> list[Mark]:
    """Return the marks of all tests, of whole files and of single functions."""
    paths = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("test_*.py"))
    return [mark for path in paths for mark in _marks_of(path)]


def _marks_of(path: Path) -> list[Mark]:
    """Return the marks in one file; the tests of a class are named by the class."""
    file = path.relative_to(ROOT).as_posix()
    marks = list[Mark]()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            marks += [Mark(name, file) for name in _names(node.value)]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = (name for each in node.decorator_list for name in _names(each))
            marks += [Mark(name, f"{file}::{node.name}") for name in names]
    return marks


def _names(marks: ast.expr) -> list[str]:
    """Return the names of the promises in a mark, or in a list of marks."""
    calls = (node for node in ast.walk(marks) if isinstance(node, ast.Call))
    promises = (call for call in calls if ast.unparse(call.func) == "pytest.mark.promise")
    return [ast.literal_eval(call.args[0]) for call in promises]


def main() -> None:
    """Print each promise with its tests."""
    marks = list_marks()
    for promise in list_promises():
        print(promise)
        for mark in marks:
            if mark.promise == promise:
                print(f"    {mark.test}")


if __name__ == "__main__":
    main()
