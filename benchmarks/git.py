"""What git prints of a repository, bare ones too, and where its objects are."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(repository: Path, *arguments: str) -> str:
    """Return what a command prints, with line feeds. Raises `CalledProcessError` where it fails."""
    command = ["git", "-C", str(repository), *arguments]
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace").replace("\r\n", "\n")


def objects(repository: Path) -> Path:
    """Return the folder of its objects."""
    found = (repository / "objects", repository / ".git/objects")
    return next(each for each in found if each.is_dir()).resolve()
