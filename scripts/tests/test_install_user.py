"""What `scripts/install` does and says; a Python that installs nothing takes part, and notes what it was asked."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.test_tidy import ROOT

PYTHON = """\
#!/bin/sh
echo "$@" >>"$HOME/asked"
case "$*" in
*"-m venv"*)
    for folder in "$@"; do :; done
    mkdir -p "$folder/bin"
    cp "$0" "$folder/bin/python"
    ;;
*sys.version\\)*) echo "$VERSION (main)" ;;
esac
"""


def fake_python(folder: Path, version: str = "3.12.1") -> Path:
    """Write a Python of that *version* into *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    python = folder / "python"
    python.write_text(PYTHON.replace("$VERSION", version))
    python.chmod(0o755)
    return python


@pytest.mark.parametrize("is_on_path", [True, False])
def test_the_next_step_is_named(tmp_path: Path, *, is_on_path: bool) -> None:
    """Also where the program is not on the PATH, behind what to do about that."""
    python = fake_python(tmp_path)
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


def test_what_builds_it_does_not_stay(tmp_path: Path) -> None:
    """But what the program needs, too, does."""
    env = {"HOME": str(tmp_path), "PATH": os.defpath, "PYTHON": str(fake_python(tmp_path))}
    install = ["sh", str(ROOT / "scripts/install"), "user"]
    subprocess.run(install, env=env, capture_output=True, check=True)
    [removed] = [
        line.split()
        for line in (tmp_path / "asked").read_text().splitlines()
        if "uninstall" in line
    ]
    assert {"hatchling", "trove-classifiers", "build"} <= {*removed}
    assert "tomlkit" not in removed


def test_another_python_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    """PYTHON does not change an environment that is there; the message names the way out."""
    other = fake_python(tmp_path)
    venv = tmp_path / "venv"
    fake_python(venv / "bin", "3.11.2")
    env = {"HOME": str(tmp_path), "PATH": os.defpath, "PYTHON": str(other), "FIM_VENV": str(venv)}
    install = ["sh", str(ROOT / "scripts/install"), "dev"]
    done = subprocess.run(install, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{venv} has Python 3.11.2, and PYTHON is 3.12.1" in done.stderr
    assert "FIM_VENV" in done.stderr
    assert "pip" not in (tmp_path / "asked").read_text()
