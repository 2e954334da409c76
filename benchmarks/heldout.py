"""
Places in code the bundled model never saw: httpx, attrs, starlette and tornado, fetched from PyPI.

A position is a line of code (no comment, no docstring, eight characters or more) with the cursor
after 40 % of it; the rest of the line is removed and is what a suggestion should be. 85 are
drawn from each package, by the seed with which the model was evaluated, so that figures compare.
"""

from __future__ import annotations

import ast
import keyword
import random
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

PACKAGES = ("attrs==26.1.0", "httpx==0.28.1", "starlette==1.10.0", "tornado==6.6.1")
PER_PACKAGE = 85
TYPED = 0.4
SEED = 1234
SHORTEST_FILE, SHORTEST_LINE = 300, 8  # characters
WINDOW, STRIDE, N_NAMES, N_RANDOM = (
    32,
    16,
    5,
    3,
)  # of the chunk pool that the seed was also spent on

TESTS = re.compile(r"(^|/)(tests?|testing)(/|$)|(^|/)test_[^/]*$|_test\.py$")
NAMES = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
NO_NAMES = {*keyword.kwlist, "self"}

Files = dict[str, str]


class Hole(NamedTuple):
    """A position: *line* of *path* in *package*, of which *typed* is there and *rest* is missing."""

    package: str
    path: str
    line: int
    typed: str
    rest: str


def fetched(folder: Path) -> dict[str, Files]:
    """Return the packages' Python files by package and path; downloads what *folder* lacks."""
    missing = [
        each for each in PACKAGES if not list(folder.glob(each.replace("==", "-") + "*.whl"))
    ]
    if missing:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, "--quiet", "--dest", str(folder), *missing], check=True)
    return {
        each.partition("==")[0]: _files(next(folder.glob(each.replace("==", "-") + "*.whl")))
        for each in PACKAGES
    }


def holes(packages: dict[str, Files], typed: float = TYPED) -> list[Hole]:
    """Return the positions, in the order of the packages' names."""
    rng = random.Random(SEED)
    found = []
    for package, files in sorted(packages.items()):
        lines = {path: text.splitlines(keepends=True) for path, text in files.items()}
        places = [(path, line) for path in files for line in _code(files[path], lines[path])]
        n_windows = sum(map(_n_windows, lines.values()))
        for path, line in rng.sample(places, PER_PACKAGE):
            found.append(_hole(package, path, line, lines[path][line], typed))
            rng.sample(range(n_windows), N_RANDOM)  # the evaluation drew chunks here
    return found


def _files(wheel: Path) -> Files:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in sorted(archive.namelist()) if name.endswith(".py")]
        texts = {name: archive.read(name).decode().replace("\r\n", "\n") for name in names}
    return {
        name: text
        for name, text in texts.items()
        if len(text) > SHORTEST_FILE and not TESTS.search(name)
    }


def _code(text: str, lines: list[str]) -> list[int]:
    """Return the lines with code on them that are worth completing."""
    strings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node.value.value, str):
            strings.update(range(node.lineno - 1, node.end_lineno or 0))
    return [
        idx
        for idx, line in enumerate(lines)
        if idx not in strings
        and len(line.strip()) >= SHORTEST_LINE
        and not line.strip().startswith("#")
    ]


def _n_windows(lines: list[str]) -> int:
    starts = range(0, len(lines), STRIDE)
    texts = ("".join(lines[start : start + WINDOW]) for start in starts)
    return sum(len(set(NAMES.findall(text)) - NO_NAMES) > N_NAMES for text in texts)


def _hole(package: str, path: str, line: int, text: str, typed: float) -> Hole:
    text = text.rstrip("\n")
    column = len(text) - len(text.lstrip()) + round(typed * len(text.strip()))
    return Hole(package, path, line, text[:column], text[column:].rstrip())
