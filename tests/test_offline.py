"""docs/offline.md: the service files that it has to copy, read back by who knows the format."""

from __future__ import annotations

import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fim_lsp.cli import options

PAGE = (Path(__file__).resolve().parents[1] / "docs/offline.md").read_text("utf-8")


def block(language: str) -> str:
    """Return the page's only block of *language*."""
    [text] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """Its own check finds nothing to complain of; the program is one that is here."""
    path = tmp_path / "fim-lsp.service"
    path.write_text(block("ini").replace("%h/.fim-lsp/bin/fim-lsp", f"{sys.executable} -m fim_lsp"))
    command = ["systemd-analyze", "--user", "verify", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "fim-lsp.service" not in done.stderr, done.stderr


def test_launchd_can_read_the_agent() -> None:
    """It starts at login, and again when it fails; what it writes, other users may not read."""
    agent = plistlib.loads(block("xml").encode())
    assert (agent["RunAtLoad"], agent["KeepAlive"]) == (True, {"SuccessfulExit": False})
    assert agent["Umask"] == 0o077


def test_both_run_a_command_that_there_is() -> None:
    """With the same words, which the command line takes."""
    unit = re.search(r"^ExecStart=(.*)$", block("ini"), re.MULTILINE)
    agent = plistlib.loads(block("xml").encode())["ProgramArguments"]
    assert unit is not None
    for _program, *words in (unit[1].split(), agent):
        assert options.parser().parse_args(words).command == "serve"
