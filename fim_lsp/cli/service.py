"""
`fim-lsp serve --install`: the server as a service of the user, started at every login.

The texts that systemd, launchd and Windows read are made by pure functions; `install` and `uninstall`
write them and tell the system. The service runs as the user, with nothing but the command that was
given, in the root folder, and gets no secret: its key is made at every start, in a file as always.
"""

from __future__ import annotations

import os
import plistlib
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import list2cmdline
from typing import NamedTuple
from xml.sax.saxutils import escape

from fim_lsp.cli.terminal import screen_on
from server_bridge.machine.executables import neutral_folder, program_path, python_command, run

NAME = "fim-lsp"
ASK_S = 30.0

UNIT = """\
[Unit]
Description=Model server for code completion (fim-lsp serve)

[Service]
ExecStart={command}
WorkingDirectory=/
Restart=on-failure
RestartSec=10
NoNewPrivileges=yes
UMask=0077

[Install]
WantedBy=default.target
"""

TASK = """\
<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo><Description>Model server for code completion (fim-lsp serve)</Description></RegistrationInfo>
  <Triggers><LogonTrigger><Enabled>true</Enabled><UserId>{user}</UserId></LogonTrigger></Triggers>
  <Principals><Principal id="Author"><UserId>{user}</UserId><LogonType>InteractiveToken</LogonType><RunLevel>LeastPrivilege</RunLevel></Principal></Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>3</Count></RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec><Command>{program}</Command><Arguments>{arguments}</Arguments><WorkingDirectory>{folder}</WorkingDirectory></Exec>
  </Actions>
</Task>
"""


class Service(NamedTuple):
    """A file that describes a service, and the commands that begin and end it."""

    path: Path
    content: bytes
    begin: tuple[tuple[str, ...], ...]
    end: tuple[tuple[str, ...], ...]


def unit(command: Sequence[str]) -> str:
    """Return a systemd user unit; systemd.service(5), "Command lines"."""
    return UNIT.format(command=" ".join(map(_systemd_word, command)))


def agent(command: Sequence[str], log: Path) -> bytes:
    """Return a launchd agent; launchd.plist(5)."""
    return plistlib.dumps(
        {
            "Label": NAME,
            "ProgramArguments": list(command),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "WorkingDirectory": "/",
            "Umask": 0o077,
            "StandardOutPath": str(log),
            "StandardErrorPath": str(log),
        }
    )


def task(command: Sequence[str], user: str) -> bytes:
    """Return a scheduled task, at the user's logon; Windows reads UTF-16."""
    program, *arguments = command
    text = TASK.format(
        user=escape(user),
        program=escape(program),
        arguments=escape(list2cmdline(arguments)),
        folder=escape(str(Path(program).anchor)),
    )
    return text.encode("utf-16")


def service(system: str, command: Sequence[str], cache: Path) -> Service:
    """Return the service on *system* (`sys.platform`), with files of ours in *cache*."""
    home = Path("~").expanduser()
    if system == "win32":
        path = cache / "serve-task.xml"
        user = f"{os.environ.get('USERDOMAIN', '')}\\{os.environ.get('USERNAME', '')}".lstrip("\\")
        return Service(
            path,
            task(command, user),
            (
                ("schtasks", "/Create", "/F", "/TN", NAME, "/XML", str(path)),
                ("schtasks", "/Run", "/TN", NAME),
            ),
            (("schtasks", "/End", "/TN", NAME), ("schtasks", "/Delete", "/F", "/TN", NAME)),
        )
    if system == "darwin":
        path = home / "Library/LaunchAgents" / f"{NAME}.plist"
        domain = f"gui/{os.getuid()}"
        return Service(
            path,
            agent(command, cache / "service.log"),
            (("launchctl", "bootstrap", domain, str(path)),),
            (("launchctl", "bootout", f"{domain}/{NAME}"),),
        )
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    systemctl = ("systemctl", "--user")
    return Service(
        folder / "systemd/user" / f"{NAME}.service",
        unit(command).encode(),
        ((*systemctl, "daemon-reload"), (*systemctl, "enable", "--now", f"{NAME}.service")),
        ((*systemctl, "disable", "--now", f"{NAME}.service"),),
    )


def command_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the command line of `fim-lsp serve` with these *words*, as a system finds it at login."""
    return python_command("fim_lsp", "serve", *words)


def install(made: Service) -> int:
    """Write the service's file and begin it, in place of one that is there; returns the exit code."""
    screen = screen_on(sys.stdout)
    if made.path.exists():
        for command in made.end:
            _run(command)
    try:
        made.path.parent.mkdir(parents=True, exist_ok=True)
        made.path.write_bytes(made.content)
    except OSError as error:
        screen.line(f"fim-lsp: {made.path} cannot be written: {error.strerror}")
        return 1
    screen.line(f"Written: {made.path}")
    return _run_all(
        made.begin,
        "The server is running, and starts at every login. To remove it: fim-lsp serve --uninstall",
    )


def uninstall(made: Service) -> int:
    """End the service and delete its file; returns the exit code."""
    if not made.path.exists():
        screen_on(sys.stdout).line(f"fim-lsp: no service is installed ({made.path})")
        return 1
    code = _run_all(made.end, f"The service has ended; {made.path} was deleted.")
    made.path.unlink()
    return code


def _run_all(commands: Sequence[Sequence[str]], done: str) -> int:
    """Run the commands of the system; where one fails, print what to run by hand."""
    screen = screen_on(sys.stdout)
    for idx, command in enumerate(commands):
        if problem := _run(command):
            screen.line(f"fim-lsp: {command[0]}: {problem}. Where it can be reached, run:")
            for each in commands[idx:]:
                screen.line("    " + list2cmdline(each))
            return 1
    screen.line(done)
    return 0


def _run(command: Sequence[str]) -> str:
    """Run a command of the system; what went wrong, "" if nothing did."""
    name, *arguments = command
    if (program := program_path(name)) is None:
        return "it is not installed"
    try:
        ran = run((program, *arguments), neutral_folder(), ASK_S)
    except OSError as error:
        return str(error)
    said = (ran.stderr or ran.stdout).strip().splitlines()
    return "" if ran.returncode == 0 else (said[0] if said else f"exit code {ran.returncode}")


def _systemd_word(word: str) -> str:
    r"""Return a word of a command line: specifiers and variables are doubled, quotes and \ escaped."""
    doubled = word.replace("%", "%%").replace("$", "$$")
    plain = all(char.isalnum() or char in "-_./:=,+@" for char in doubled)
    return (
        doubled
        if plain and doubled
        else '"' + doubled.replace("\\", "\\\\").replace('"', '\\"') + '"'
    )
