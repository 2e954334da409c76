"""`scripts/install user` says what comes next, wherever the program is found; a Python that installs nothing takes part."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.test_tidy import ROOT

PYTHON = """\
#!/bin/sh
case "$*" in *"-m venv"*)
    for folder in "$@"; do :; done
    mkdir -p "$folder/bin"
    cp "$0" "$folder/bin/python"
esac
"""


@pytest.mark.parametrize("is_on_path", [True, False])
def test_the_next_step_is_named(tmp_path: Path, *, is_on_path: bool) -> None:
    """Also where the program is not on the PATH, behind what to do about that."""
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    path = f"{tmp_path}/.local/bin:{os.defpath}" if is_on_path else os.defpath
    done = subprocess.run(
        ["sh", str(ROOT / "scripts/install"), "user"],
        env={"HOME": str(tmp_path), "PATH": path, "PYTHON": str(python)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.endswith("Next: fim-lsp setup\n")
    assert ("not on your PATH" in done.stderr) is not is_on_path
    assert (tmp_path / ".local/bin/fim-lsp").is_symlink()
