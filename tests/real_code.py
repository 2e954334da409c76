"""
Code that people wrote, the same on every machine.

It is that of packages that requirements-dev.txt pins, and that have the same files for every Python
and system; `digest` shows that it is the same. Python's own library is another one with each patch.
"""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

PACKAGES = (
    "_pytest", "anyio", "attr", "cattrs", "execnet", "gguf", "h11", "hatchling", "httpcore",
    "httpx", "idna", "lsprotocol", "packaging", "pathspec", "platformdirs", "pygls", "pygments",
    "pyte", "requests", "tomlkit", "tqdm", "trustme", "urllib3", "xdist",
)  # fmt: skip
LONG = "_pytest/fixtures.py"  # 2,600 lines
MIDDLING = "httpx/_models.py"  # 1,300
OTHER = "pyte/screens.py"  # 1,300
SHORT = "h11/_connection.py"  # 660
PROSE = "packaging/tags.py"  # 1,000, with long docstrings
SMALL = "packaging/markers.py"  # 580


def read_code(name: str) -> str:
    """Return the text of a file, named by its package and path; `KeyError` where the package is not of `PACKAGES`."""
    package, _, path = name.partition("/")
    return (_folders()[package] / path).read_text("utf-8")


def read_lines(name: str, first: int = 0, end: int | None = None) -> str:
    """Return the lines *first* to *end* of a file, counted from 0, see `read_code`."""
    return "".join(read_code(name).splitlines(keepends=True)[first:end])


def paths() -> list[Path]:
    """Return the Python files of `PACKAGES`, in one order everywhere."""
    return [
        path
        for folder in _folders().values()
        for path in sorted(folder.rglob("*.py"), key=Path.as_posix)
    ]


def digest() -> str:
    """Return the SHA-256 of the files of `PACKAGES`, in hexadecimal."""
    whole = hashlib.sha256()
    for path in paths():
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def _folders() -> dict[str, Path]:
    specs = {package: find_spec(package) for package in PACKAGES}
    return {
        package: Path(folder)
        for package, spec in specs.items()
        if spec
        for folder in spec.submodule_search_locations or ()
    }
