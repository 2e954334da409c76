"""The service of `fim-lsp serve --install`: its texts, read back by who knows the format."""

from __future__ import annotations

import plistlib
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from fim_lsp import model_server
from fim_lsp.cli import options, service

WORDS = ["--model", '/my models/a "b" 100%$HOME\\c.gguf', "--port", "8012"]
COMMAND = ("/usr/bin/python3", "-m", "fim_lsp", "serve", *WORDS)
SCHEMA = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"


def test_a_systemd_unit_names_the_command_as_it_is() -> None:
    """Whatever is in it: spaces, quotes, specifiers and variables."""
    line = next(line for line in service.unit(COMMAND).splitlines() if "ExecStart" in line)
    words = shlex.split(line.partition("=")[2])
    assert [word.replace("%%", "%").replace("$$", "$") for word in words] == [*COMMAND]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """Its own check finds nothing to complain of."""
    path = tmp_path / "fim-lsp.service"
    path.write_text(service.unit((sys.executable, *COMMAND[1:])))
    command = ["systemd-analyze", "--user", "verify", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "fim-lsp.service" not in done.stderr, done.stderr


def test_a_launchd_agent_names_the_command_as_it_is() -> None:
    """It starts at login, and again when it fails."""
    found = plistlib.loads(service.agent(COMMAND, Path("/logs/service.log")))
    assert found["ProgramArguments"] == [*COMMAND]
    assert (found["RunAtLoad"], found["KeepAlive"]) == (True, {"SuccessfulExit": False})


def test_a_windows_task_names_the_command_as_it_is() -> None:
    """For the user who made it, without a time limit."""
    root = ET.fromstring(service.task(COMMAND, "PC\\Ann & Bob"))  # UTF-16, as it says
    action = root.find(f"{SCHEMA}Actions/{SCHEMA}Exec")
    assert action.findtext(f"{SCHEMA}Command") == COMMAND[0]
    assert action.findtext(f"{SCHEMA}Arguments") == subprocess.list2cmdline(COMMAND[1:])
    assert root.findtext(f"{SCHEMA}Triggers/{SCHEMA}LogonTrigger/{SCHEMA}UserId") == "PC\\Ann & Bob"
    assert root.findtext(f"{SCHEMA}Settings/{SCHEMA}ExecutionTimeLimit") == "PT0S"


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
def test_a_service_comes_and_goes(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its file is written and deleted; the system is told; a second time nothing is there."""
    ran: list[str] = []

    def told(command: tuple[str, ...]) -> str:
        ran.append(command[0])
        return ""

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(service, "_run", told)
    made = service.service(system, COMMAND, tmp_path / "cache")
    assert service.install(made) == 0
    assert made.path.is_relative_to(tmp_path)
    assert made.path.read_bytes() == made.content
    assert service.uninstall(made) == 0
    assert not made.path.exists()
    assert service.uninstall(made) == 1
    tool = {"linux": "systemctl", "darwin": "launchctl", "win32": "schtasks"}[system]
    assert {*ran} == {tool}
    assert "--uninstall" in capsys.readouterr().out


def test_where_the_system_cannot_be_told_the_user_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a container there is no systemd: the file is written, and the commands are shown."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert service.install(service.service("linux", COMMAND, tmp_path)) == 1
    out = capsys.readouterr().out
    assert "systemctl --user enable --now fim-lsp.service" in out
    assert (tmp_path / "systemd/user/fim-lsp.service").exists()


def test_the_service_runs_what_was_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model, the port and the program by their whole names, so that nothing is asked or looked for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    given = options.parser().parse_args(
        ["serve", "--install", "--model", "a.gguf", "--port", "9000"]
    )
    made = model_server._service(given, model_server._program(given))
    words = "-m fim_lsp serve --port 9000 --model " + str(tmp_path / "a.gguf")
    assert words in made.content.decode()
