"""
Files that only this user may read: written whole or not at all, and not believed otherwise.

Modes and owners are Unix's. On Windows a file has the rights of its folder, which is the user's
own. An announcement is such a file: where a process of this user listens, and the secret that it
asks for. A process that was killed leaves its own: who finds no listener there takes it away
(`withdraw`).
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

Restored = TypeVar("Restored")


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
    files = sorted(folder.glob("*.json"))
    ports = (restore(path, functools.partial(_parse, path), None) for path in files)
    return [port for port in ports if port is not None]


def _parse(path: Path, data: bytes) -> Announced | None:
    content = json.loads(data)
    pid = int(path.name.partition("-")[0])
    return Announced(str(content["url"]), str(content["token"]), pid, path)


MOST_BYTES = 65_536  # of a file that is read: a key, an address
OTHERS = stat.S_IRWXG | stat.S_IRWXO

log = logging.getLogger(__name__)


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


def restore(
    path: Path, parse: Callable[[bytes], Restored], default: Restored, most: int = MOST_BYTES
) -> Restored:
    """
    Return what *parse* makes of a file of ours; *default* where there is none, or it holds anything
    else.
    """
    try:
        return parse(read(path, most))
    except FileNotFoundError:
        return default
    except Exception as error:  # noqa: BLE001 (deep, huge, not UTF-8, of another version …)
        log.warning("%s cannot be used: %s", path, type(error).__name__)
        return default


def read(path: Path, most: int = MOST_BYTES) -> bytes:
    """
    Read *path*, *most* bytes of it. Raises NotPrivate, or OSError where there is no such file.
    """
    with os.fdopen(open_private(path), "rb") as file:
        return file.read(most)


def open_private(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a file of ours, no link; it may be a new one. Raises NotPrivate, or OSError."""
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    file = os.open(path, flags, 0o600)
    if problem := find_problem(os.fstat(file)):
        os.close(file)
        raise NotPrivate(f"{path} {problem}")
    return file


def find_problem(status: os.stat_result) -> str:
    """Return why a file is not trusted, "" if it is."""
    if not stat.S_ISREG(status.st_mode):
        return "is no file"
    if sys.platform == "win32":
        return ""
    if status.st_uid != os.geteuid():
        return "belongs to another user"
    return "can be read by other users" if status.st_mode & OTHERS else ""
