"""
Files that only this user may read: written whole or not at all, and not believed otherwise.

Modes and owners are Unix's. On Windows a file has the rights of its folder, which is the user's own.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

MOST_BYTES = 65_536  # of a file that is read: a key, an address
OTHERS = stat.S_IRWXG | stat.S_IRWXO


class NotPrivate(OSError):
    """Another user could have written the file, or can read it."""


def write(path: Path, data: bytes) -> None:
    """Replace *path*, also where it is a link or has other rights; makes its folder. Raises OSError."""
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
