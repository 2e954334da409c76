"""
Programs that we run: where they are, never in the current folder, and how they end with all they started.

An editor starts us in the user's project, and a cloned repository is not trusted: Windows would run
its `pass.exe` when `pass` is asked for, and every system its `./pass` where the PATH has a `.` in it.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows knows one end only


def program_path(name: str) -> str | None:
    """
    The absolute path of the program *name*, None where there is none.

    A name without a folder is looked for on the PATH, in its absolute folders only; a relative path
    starts in the user's home folder.
    """
    if Path(name).name != name:
        return _runnable(neutral_folder() / _expanded(name))
    folders = (Path(each) for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if each)
    found = (_runnable(folder / name) for folder in folders if folder.is_absolute())
    return next((path for path in found if path), None)


def neutral_folder() -> Path:
    """Where programs are run that have no business in the user's project: the home folder, or the root."""
    home = _expanded("~")
    return home if home.is_dir() else Path(Path.cwd().anchor)


def signal_group(pid: int, number: int) -> None:
    """Send a signal to the process *pid* and all it started, if it was started with a session of its own."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            os.kill(pid, signal.SIGTERM)  # which ends it at once there
        else:
            os.killpg(pid, number)


def _expanded(path: str) -> Path:
    """*path* with the user's home folder for `~`; as it is for a user without one, as in containers."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 (Path's own raises there)


def _runnable(path: Path) -> str | None:
    for suffix in _suffixes(path):
        file = path.with_name(path.name + suffix)
        if file.is_file() and os.access(file, os.X_OK):
            return str(file)
    return None


def _suffixes(path: Path) -> list[str]:
    """What may follow the name: on Windows one of PATHEXT, unless the name ends with one already."""
    if sys.platform != "win32":
        return [""]
    known = os.environ.get("PATHEXT", ".COM;.EXE;.BAT;.CMD").lower().split(os.pathsep)
    return [""] if path.suffix.lower() in known else known
