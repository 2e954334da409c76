"""What `scripts/install dev` installs is what pyproject.toml asks for, in versions that are pinned."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.test_tidy import ROOT

PIN = re.compile(r"^([\w.-]+)==([^\s;]+)", re.MULTILINE)


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
GROUPS = {**PROJECT["dependency-groups"], "": PROJECT["project"]["dependencies"]}
# each lock file, and the groups that it has
LOCKS = {
    "requirements.txt": ("",),
    "requirements-build.txt": ("build",),
    "requirements-dev.txt": ("", "dev", "build"),
}


def pins(lock: str) -> dict[str, set[str]]:
    """Return the versions of each package in a lock file."""
    found: dict[str, set[str]] = {}
    for name, version in PIN.findall((ROOT / lock).read_text("utf-8")):
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_file_has_what_is_asked_for(lock: str) -> None:
    """After a change of the dependencies `sh scripts/tools/lock` writes it again."""
    pinned = pins(lock)
    for each in (Requirement(name) for group in LOCKS[lock] for name in GROUPS[group]):
        versions = pinned.get(canonicalize_name(each.name), set())
        assert versions, f"{each.name} is not pinned: sh scripts/tools/lock"
        assert all(map(each.specifier.contains, versions)), f"{each}: sh scripts/tools/lock"


@pytest.mark.parametrize("lock", LOCKS)
def test_everything_pinned_has_a_hash(lock: str) -> None:
    """So that what is installed is what was looked at, and what users have is what was tested."""
    text = (ROOT / lock).read_text("utf-8")
    assert len(PIN.findall(text)) == len(re.findall(r"==\S+.* \\\n    --hash=sha256:", text))
    tested = pins("requirements-dev.txt")
    assert {name: tested.get(name) for name in pins(lock)} == pins(lock)
