"""Programs are found where the user has them, never in the project."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from server_bridge.http.api_key import Key
from server_bridge.machine.executables import program_path, read_output
from server_bridge.protocol import BackendUnusable

unix = pytest.mark.skipif(sys.platform == "win32", reason="a script with a mode")


def script(path: Path, says: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\necho {says} "$(pwd)"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a cloned repository that has a program of its own called `pass`, and is the current folder."""
    folder = script(tmp_path / "project" / "pass", "project").parent
    script(tmp_path / "home" / "mine" / "pass", "home")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return folder


@unix
@pytest.mark.parametrize("path", ["", ".", "..", "./", ":", "../project", "{cwd}/none:."])
def test_the_current_folder_is_not_looked_in(path: str, project, monkeypatch) -> None:
    """Whatever relative folders the PATH has."""
    monkeypatch.setenv("PATH", path.format(cwd=project))
    assert program_path("pass") is None


@unix
@pytest.mark.parametrize("name", ["mine/pass", "~/mine/pass", "{home}/mine/pass"])
def test_a_relative_path_begins_at_home(name: str, project: Path) -> None:
    """Not where the editor happens to be."""
    home = project.parent / "home"
    assert program_path(name.format(home=home)) == str(home / "mine/pass")
    assert program_path("./pass") is None


@unix
async def test_a_key_command_is_the_users_and_runs_at_home(project, monkeypatch) -> None:
    """A project's `pass` never runs, and the user's does not run in the project."""
    home = project.parent / "home"
    monkeypatch.setenv("PATH", f".{os.pathsep}/usr/bin{os.pathsep}/bin")
    with pytest.raises(BackendUnusable, match="cannot be run"):
        await Key(command="pass show llm")()
    monkeypatch.setenv("PATH", f".{os.pathsep}{home / 'mine'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    assert await Key(command="pass show llm")() == f"home {home}"


@pytest.mark.parametrize(
    ("name", "found"), [("llama-server", "llama-server.exe"), ("run.bat", "run.bat"), ("a", None)]
)
def test_windows_endings(name: str, found: str | None, tmp_path, monkeypatch) -> None:
    """As its shell has it, but for the current folder."""
    for file in ("llama-server", "llama-server.exe", "run.bat", "run.bat.exe"):
        script(tmp_path / file, "hello")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("PATHEXT", os.pathsep.join((".COM", ".EXE", ".BAT")))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program_path(name) == (str(tmp_path / found) if found else None)


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        ("print('x' * 9, end='')", b"x" * 9),
        ("while True: print('x' * 99, flush=True, end='')", b"x" * 50),
        ("import os; print(*sorted(os.environ.keys() & {'A', 'HOME'}))", b"A\n"),
    ],
)
def test_a_program_that_prints_without_end_is_ended(program: str, printed: bytes) -> None:
    """After so many bytes; it has the environment that it is given, and no other."""
    argv = (sys.executable, "-I", "-c", program)
    environment = {"A": "1", **{k: v for k, v in os.environ.items() if k == "SYSTEMROOT"}}
    assert read_output(argv, Path(sys.executable).parent, environment, 5.0, 50) == printed


@pytest.mark.parametrize(
    "program",
    [
        "print('x', end='', flush=True); import time; time.sleep(1e6)",
        "print('x'); raise SystemExit(1)",
    ],
)
def test_a_program_that_fails_or_takes_too_long_prints_nothing(program: str) -> None:
    """What it printed until then is not used."""
    argv = (sys.executable, "-I", "-c", program)
    with pytest.raises(OSError, match="failed, or took longer than 1 s"):
        read_output(argv, Path(sys.executable).parent, os.environ, 1.0, 50)
