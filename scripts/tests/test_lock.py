"""What `scripts/install dev` installs is what pyproject.toml asks for, in versions that are pinned."""

from __future__ import annotations

import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.test_tidy import ROOT

PIN = re.compile(r"^([\w.-]+)==([^\s;]+)", re.MULTILINE)


def test_the_lock_file_has_what_is_asked_for() -> None:
    """After a change of the dependencies `sh scripts/lock` writes it again."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    names = (*asked["project"]["dependencies"], *asked["dependency-groups"]["dev"])
    lock = (ROOT / "requirements-dev.txt").read_text("utf-8")
    pinned: dict[str, list[str]] = {}
    for name, version in PIN.findall(lock):
        pinned.setdefault(canonicalize_name(name), []).append(version)
    for each in map(Requirement, names):
        versions = pinned.get(canonicalize_name(each.name), [])
        assert versions, f"{each.name} is not pinned: sh scripts/lock"
        assert all(map(each.specifier.contains, versions)), f"{each}: sh scripts/lock"


def test_everything_pinned_has_a_hash() -> None:
    """So that what is installed is what was looked at."""
    lock = (ROOT / "requirements-dev.txt").read_text("utf-8")
    assert len(PIN.findall(lock)) == len(re.findall(r"==\S+.* \\\n    --hash=sha256:", lock))
