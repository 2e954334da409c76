"""
Files that only this user may read: written whole or not at all, and not believed otherwise.

Modes and owners are Unix's. On Windows a file has the rights of its folder, which is the user's
own. An announcement is such a file: where a process of this user listens, and the secret that it
asks for. A process that was killed leaves its own: who finds no listener there takes it away
(`withdraw`).
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import NamedTuple


class Announced(NamedTuple):
    """
    An address of the process *pid*; *token* is the secret that clients must send. *file* says so.
    """

    url: str
    token: str
    pid: int
    file: Path


def announce(folder: Path, url: str, token: str) -> Path | None:
    """Say in *folder* where this process listens; None where that cannot be written."""
    path = folder / f"{os.getpid()}-{url.rpartition(':')[2]}.json"
    with contextlib.suppress(OSError):
        write(path, json.dumps({"url": url, "token": token}).encode())
        return path
    return None


def withdraw(path: Path) -> None:
    """Withdraw the announcement: the port is closed."""
    with contextlib.suppress(OSError):
        path.unlink()


def find_announced(folder: Path) -> list[Announced]:
    """Return all announcements, also of processes that ended without withdrawing them."""
    ports = []
    for path in sorted(folder.glob("*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            content = json.loads(read(path))
            pid = int(path.name.partition("-")[0])
            ports.append(Announced(str(content["url"]), str(content["token"]), pid, path))
    return ports


MOST_BYTES = 65_536  # of a file that is read: a key, an address
OTHERS = stat.S_IRWXG | stat.S_IRWXO


class NotPrivate(OSError):
    """Another user could have written the file, or can read it."""


def write(path: Path, data: bytes) -> None:
    """
    Replace *path*, also where it is a link or has other rights; makes its folder. Raises OSError.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A name of its own: two threads may write the same file at once.
    descriptor, fresh = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(fresh).replace(path)
    except BaseException:
        Path(fresh).unlink(missing_ok=True)
        raise


def read(path: Path) -> bytes:
    """Read *path*. Raises NotPrivate, or OSError where there is no such file."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        if problem := _problem(os.fstat(file.fileno())):
            raise NotPrivate(f"{path} {problem}")
        return file.read(MOST_BYTES)


def _problem(found: os.stat_result) -> str:
    """Return why a file is not trusted, "" if it is."""
    if not stat.S_ISREG(found.st_mode):
        return "is no file"
    if os.name != "posix":
        return ""
    if found.st_uid != os.geteuid():
        return "belongs to another user"
    return "can be read by other users" if found.st_mode & OTHERS else ""
