"""Programs are found where the user has them, never in the project."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import pytest

from server_bridge.http.api_key import Key
from server_bridge.machine import executables
from server_bridge.machine.executables import program_path, read_output, start_async
from server_bridge.protocol import BackendUnusable

pytestmark = pytest.mark.promise("no-code-of-a-repository-runs")

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


@pytest.mark.promise("keys-stay")
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
        ("print('x' * 9, end='')", (0, b"x" * 9)),
        ("print('x', end=''); raise SystemExit(1)", (1, b"x")),
    ],
)
async def test_the_output_of_a_program(program: str, printed: tuple[int, bytes]) -> None:
    """With its exit code, by which it failed."""
    assert await read_output((sys.executable, "-I", "-c", program), 60.0) == printed


@pytest.mark.parametrize(
    "program",
    [
        "while True: print('x' * 99, flush=True, end='')",
        "print('x' * 2000, flush=True); import time; time.sleep(1e6)",
    ],
)
async def test_a_program_that_prints_without_end_is_ended(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After so many bytes, whatever else it does, and however many are there unread; so it has failed."""
    monkeypatch.setattr(executables, "MOST_PRINTED", 1000)
    monkeypatch.setattr(
        executables, "start_async", partial(start_async, limit=100)
    )  # asyncio reads twice that
    code, printed = await read_output((sys.executable, "-I", "-c", program), 60.0)
    assert code
    assert printed.startswith(b"x" * 1000)


@unix
async def test_output_that_another_session_holds_open_is_not_waited_for(tmp_path: Path) -> None:
    """A program that was ended may have started one that lives on, with its output."""
    ended = tmp_path / "ended"
    later = f"import pathlib, time; time.sleep(20); pathlib.Path({str(ended)!r}).touch()"
    program = (
        "import subprocess, sys, time; "
        f"subprocess.Popen([sys.executable, '-I', '-c', {later!r}], start_new_session=True); "
        "print('x', end='', flush=True); time.sleep(1e6)"
    )
    with pytest.raises(TimeoutError):
        await read_output((sys.executable, "-I", "-c", program), 1.0)
    assert not ended.exists()


async def test_a_program_that_takes_too_long_is_ended() -> None:
    """What it printed until then is not used."""
    program = "print('x', end='', flush=True); import time; time.sleep(1e6)"
    with pytest.raises(TimeoutError):
        await read_output((sys.executable, "-I", "-c", program), 1.0)
