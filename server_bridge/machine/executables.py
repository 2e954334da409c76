"""
Programs that we run: where they are, how they start, and how they end with all they started.

An editor starts us in the user's project, and a cloned repository is not trusted: Windows would run
its `pass.exe` when `pass` is asked for, every system its `./pass` where the PATH has a `.` in it,
and Python its `json.py`. So a program has an absolute path, its folder is one of ours or the user's
home, and our own modules run with `-P`. All processes of both packages start here
(`tests/test_starts.py`).
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from server_bridge.machine.disks import in_disk_thread

Child: TypeAlias = "subprocess.Popen[str]"

PACKAGES = Path(__file__).resolve().parent.parent.parent
"""Where both packages are, and our own modules run."""

MOST_PRINTED = 1 << 20  # bytes; a --help of llama-server has 50,000
END_S = 1.0  # for a program that was killed
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows knows one end only


def program_path(name: str) -> str | None:
    """
    Return the absolute path of the program *name*, None where there is none.

    A name without a folder is looked for on the PATH, in its absolute folders only; a relative path
    starts in the user's home folder.
    """
    if Path(name).name != name:
        return _runnable(neutral_folder() / _expand_home(name))
    folders = (
        Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder
    )
    programs = (_runnable(folder / name) for folder in folders if folder.is_absolute())
    return next((path for path in programs if path), None)


def neutral_folder() -> Path:
    """
    Return the folder for programs that need nothing of the user's project: the home folder, or the
    root.
    """
    home = _expand_home("~")
    return home if home.is_dir() else Path(Path.cwd().anchor)


def python_command(module: str, *arguments: str) -> tuple[str, ...]:
    """
    Return the command that runs *module* with this Python, and takes no module from the current
    folder.
    """
    return (sys.executable, "-P", "-m", module, *arguments)


def start(argv: Sequence[str], cwd: Path) -> Child:
    """Start a program that reads and answers lines. Raises OSError."""
    _refuse_relative(argv, cwd)
    pipe = subprocess.PIPE
    quiet = subprocess.DEVNULL
    return subprocess.Popen(  # noqa: S603 (the path is absolute)
        argv,
        stdin=pipe,
        stdout=pipe,
        stderr=quiet,
        cwd=cwd,
        encoding="utf-8",
        start_new_session=True,
    )


async def start_async(argv: Sequence[str], cwd: Path, **options: Any) -> asyncio.subprocess.Process:
    """
    Start a program in a session of its own, so that `signal_group` reaches all it starts. Raises
    OSError.
    """
    _refuse_relative(argv, cwd)
    return await asyncio.create_subprocess_exec(*argv, cwd=cwd, start_new_session=True, **options)


async def read_output(argv: Sequence[str], limit_s: float) -> tuple[int | None, bytes]:
    """
    Return the exit code of a program that needs nothing of the user's project, and what it prints.
    A program that prints more than `MOST_PRINTED`, or outlives *limit_s* or the caller, is ended
    with all that it started. Raises OSError.
    """
    quiet = subprocess.DEVNULL
    pipe = subprocess.PIPE
    folder = await in_disk_thread(neutral_folder)
    child = await start_async(argv, folder, stdin=quiet, stdout=pipe, stderr=quiet)
    assert child.stdout
    printed = b""
    try:
        async with asyncio.timeout(limit_s):
            while len(printed) < MOST_PRINTED and (piece := await child.stdout.read(MOST_PRINTED)):
                printed += piece
            if len(printed) < MOST_PRINTED:
                await child.wait()
    finally:
        if child.returncode is None:
            signal_group(child.pid, KILL)
            await _see_end(child)
    return child.returncode, printed


async def _see_end(child: asyncio.subprocess.Process) -> None:
    """
    Wait until *child* has ended. asyncio's `wait` waits for the end of its output as well, which
    has to be read for that, and which a program of another session may hold open: for `END_S`.
    """
    assert child.stdout
    try:
        async with asyncio.timeout(END_S):
            while await child.stdout.read(MOST_PRINTED):
                pass
            await child.wait()
    except TimeoutError:
        child._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 (no public way)


def become(argv: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> NoReturn:
    """Have another program take the place of this process. Raises OSError."""
    _refuse_relative(argv, cwd)
    os.chdir(cwd)
    os.umask(0o077)  # what it saves of prompts, other users may not read
    if sys.platform == "win32":  # there the shell would not wait for it
        sys.exit(subprocess.call(argv, env=environment))  # noqa: S603 (the path is absolute)
    os.execve(argv[0], [*argv], environment)  # noqa: S606


def detach() -> None:
    """Go on in a process apart from our parent, which sees us end."""
    if sys.platform != "win32" and os.fork():
        os._exit(0)


def signal_group(pid: int, number: int) -> None:
    """
    Send a signal to the process *pid* and all it started, if it was started with a session of its
    own.
    """
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            os.kill(pid, signal.SIGTERM)  # which ends it at once there
        else:
            os.killpg(pid, number)


def _refuse_relative(argv: Sequence[str], cwd: Path) -> None:
    for path in (argv[0], cwd):
        if not Path(path).is_absolute():
            raise FileNotFoundError(f"{path} is not an absolute path")


def _expand_home(path: str) -> Path:
    """
    Return *path* with the user's home folder for `~`; as it is for a user without one, as in
    containers.
    """
    return Path(os.path.expanduser(path))  # noqa: PTH111 (Path's own raises there)


def _runnable(path: Path) -> str | None:
    for suffix in _suffixes(path):
        file = path.with_name(path.name + suffix)
        if file.is_file() and os.access(file, os.X_OK):
            return str(file)
    return None


def _suffixes(path: Path) -> list[str]:
    """
    Return the suffixes that may follow the name: on Windows one of PATHEXT, unless the name ends
    with one already.
    """
    if sys.platform != "win32":
        return [""]
    endings = os.environ.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").lower().split(os.pathsep)
    return [""] if path.suffix.lower() in endings else endings
