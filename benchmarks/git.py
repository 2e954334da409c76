"""What git prints of a repository, bare ones too."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(repository: Path, *arguments: str) -> str:
    """Return what a command prints, with line feeds. Raises `CalledProcessError` where it fails."""
    command = ["git", "-C", str(repository), *arguments]
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace").replace("\r\n", "\n")
