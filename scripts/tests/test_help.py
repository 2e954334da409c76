"""Every script says what it does, and does nothing, when it is asked with `--help`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_tidy import ROOT

FOLDER = ROOT / "scripts"
SCRIPTS = [path for path in (*FOLDER.glob("*"), *FOLDER.glob("tools/*")) if path.is_file()]


def test_the_scripts_are_listed() -> None:
    """Each in one line, with the beginning of what it says of itself."""
    listed = subprocess.run(
        ["sh", str(ROOT / "scripts/help")], capture_output=True, text=True, check=True, cwd="/"
    ).stdout.splitlines()
    assert [line.split()[0] for line in listed] == [
        *sorted(path.name for path in SCRIPTS if path.parent == FOLDER),
        *sorted(f"tools/{path.name}" for path in SCRIPTS if path.parent != FOLDER),
    ]
    assert [line for line in listed if len(line.split()) < 3 or len(line) > 140] == []


@pytest.mark.parametrize(
    "script", [*SCRIPTS, ROOT / ".ci/run", ROOT / "training/check"], ids=lambda path: path.name
)
def test_a_script_explains_itself(script: Path) -> None:
    """With the text at its top, at once, and with no other program than `sed`: nothing is installed."""
    lines = script.read_text("utf-8").splitlines()
    is_python = "python" in lines[0]
    first = next(line for line in lines[1:] if line.strip('"# ')).strip('"# ')
    program = [sys.executable] if is_python else ["sh"]
    env = {"PATH": os.defpath, "HOME": "/nowhere"}
    done = subprocess.run(
        [*program, script, "--help"], cwd="/", env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.lstrip().startswith(first)
    assert "set -" not in done.stdout
